package connect

import (
	"context"
	"time"

	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

// Health is the gRPC health service. It determines the status anew for each request, and regularly for clients that
// watch the status (Follow).
type Health struct {
	*health.Server
	ready func() bool
}

// NewHealth returns the health service of a server. The function ready reports whether the server is ready.
func NewHealth(ready func() bool) *Health {
	h := &Health{health.NewServer(), ready}
	h.SetServingStatus("", healthv1.HealthCheckResponse_NOT_SERVING)
	return h
}

// healthLook is the time between two calls of the function ready (see NewHealth), for clients that watch the
// service. A server can stop being ready without an event: for example, because a change takes too long. So ready
// must be called regularly.
const healthLook = time.Second

// Follow updates the status every healthLook until ctx ends, so that clients that watch the service get each
// change.
func (h *Health) Follow(ctx context.Context) {
	ticker := time.NewTicker(healthLook)
	defer ticker.Stop()
	for {
		h.look()
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// look sets the status to SERVING if h.ready returns true, and to NOT_SERVING if it returns false.
func (h *Health) look() {
	status := healthv1.HealthCheckResponse_SERVING
	if !h.ready() {
		status = healthv1.HealthCheckResponse_NOT_SERVING
	}
	h.SetServingStatus("", status)
}

// Check implements healthv1.HealthServer.
func (h *Health) Check(ctx context.Context, request *healthv1.HealthCheckRequest) (*healthv1.HealthCheckResponse, error) {
	h.look()
	return h.Server.Check(ctx, request)
}

// List implements healthv1.HealthServer.
func (h *Health) List(ctx context.Context, request *healthv1.HealthListRequest) (*healthv1.HealthListResponse, error) {
	h.look()
	return h.Server.List(ctx, request)
}

// Watch implements healthv1.HealthServer. Follow sends the later changes.
func (h *Health) Watch(request *healthv1.HealthCheckRequest, stream healthv1.Health_WatchServer) error {
	h.look()
	return h.Server.Watch(request, stream)
}
