package server

import (
	"context"

	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

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
