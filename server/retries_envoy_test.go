package server_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/translate/cases"
)

// Gateway API, HTTPRouteRetry: "Implementations SHOULD retry on connection errors". One of two endpoints refuses
// connections: with retries no request fails, however many clients there are at a time. Envoy's own limit, 3 retries of a
// backend at a time, would fail most of them here.
func TestRetriesOfManyClients(t *testing.T) {
	run := startCase(t, &cases.Case{Name: "retries"})
	run.apply(cases.Step{Files: map[string]string{"all.yaml": fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  listeners: [{name: http, port: 8080, protocol: HTTP}]
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: half}
spec: {static: {hosts: [{host: 127.0.0.1, port: %d}, {host: 127.0.0.1, port: %d}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r}
spec:
  parentRefs: [{name: eg}]
  rules: [{retry: {attempts: 1, backoff: 100ms}, backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: half}]}]
`, envoytest.Echo(t, "alive", "").Port(), envoytest.FreePort(t))}})
	run.envoy.WaitListener(run.address + ":8080")
	var clients sync.WaitGroup
	var retried, failed atomic.Int64
	for range 32 {
		clients.Go(func() {
			client := envoytest.NewClient()
			defer client.Close()
			for range 20 {
				response, err := client.Do(envoytest.Request{Address: run.address + ":8080", Method: http.MethodPost})
				if err != nil || response.Status != http.StatusOK {
					failed.Add(1)
				}
				retried.Add(1)
			}
		})
	}
	clients.Wait()
	if failed.Load() > 0 {
		t.Errorf("%d of %d requests failed", failed.Load(), retried.Load())
	}
}
