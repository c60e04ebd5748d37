package server

import (
	"context"
	"time"

	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

// healthLook is the time between two looks at whether the server is ready, for those who watch
// the gRPC health service: time alone can end that.
const healthLook = time.Second

// setHealth has the gRPC health service say what the page /readyz says.
func (s *Server) setHealth() {
	status := healthv1.HealthCheckResponse_SERVING
	if s.loaded.Unready() != "" {
		status = healthv1.HealthCheckResponse_NOT_SERVING
	}
	s.health.SetServingStatus("", status)
}

// watchHealth keeps the gRPC health service up to date until ctx ends.
func (s *Server) watchHealth(ctx context.Context) {
	ticker := time.NewTicker(healthLook)
	defer ticker.Stop()
	for {
		s.setHealth()
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// healthService answers questions with what is true when they are asked.
type healthService struct {
	*health.Server
	now func() // brings Server up to date
}

// Check implements healthv1.HealthServer.
func (h healthService) Check(ctx context.Context, request *healthv1.HealthCheckRequest) (*healthv1.HealthCheckResponse, error) {
	h.now()
	return h.Server.Check(ctx, request)
}

// List implements healthv1.HealthServer.
func (h healthService) List(ctx context.Context, request *healthv1.HealthListRequest) (*healthv1.HealthListResponse, error) {
	h.now()
	return h.Server.List(ctx, request)
}

// Watch implements healthv1.HealthServer. watchHealth sends later changes.
func (h healthService) Watch(request *healthv1.HealthCheckRequest, stream healthv1.Health_WatchServer) error {
	h.now()
	return h.Server.Watch(request, stream)
}
