package connect

import (
	"context"
	"time"

	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

// Health is the gRPC health service. It answers questions with what is true when they are asked.
type Health struct {
	*health.Server
	ready func() bool
}

// NewHealth returns the service of a server that is ready when ready says so.
func NewHealth(ready func() bool) *Health {
	h := &Health{health.NewServer(), ready}
	h.SetServingStatus("", healthv1.HealthCheckResponse_NOT_SERVING)
	return h
}

// healthLook is the time between two looks at whether the server is ready, for those who watch
// the service: time alone can end that.
const healthLook = time.Second

// Follow tells those who watch the service what changes, until ctx ends.
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

// look brings the service up to date.
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

// Watch implements healthv1.HealthServer. Follow sends later changes.
func (h *Health) Watch(request *healthv1.HealthCheckRequest, stream healthv1.Health_WatchServer) error {
	h.look()
	return h.Server.Watch(request, stream)
}
