package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/ir"
)

// The pinned Envoys of these tests: one that lacks filters, and one that has all.
const olderEnvoy, newestEnvoy = "1.38.3", "1.40.0"

// protectedFolder has two routes: /asked, whose policy asks a service that is away and answers 503 for
// it, and /lower, whose policy needs a function.
const protectedFolder = `apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: down}
spec: {type: Static, static: {appProtocol: grpc, hosts: [{host: 127.0.0.1, port: 1}]}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: GatewayExtension
metadata: {name: guard}
spec:
  extAuth:
    grpcService: {backendRef: {group: gateway.kgateway.dev, kind: Backend, name: down}}
    statusOnError: 503
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: asked}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: %s, name: %s}]
  extAuth: {extensionRef: {name: guard}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: lower}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: lower}]
  transformation: {response: {set: [{name: x-lower, value: '{{ lower(request_header("x-name")) }}'}]}}
`

// protect adds protectedFolder, with the policy that asks for a target.
func (f *folded) protect(kind, name string) {
	f.t.Helper()
	f.mu.Lock()
	f.files["protected.yaml"] = fmt.Appendf(nil, protectedFolder, kind, name)
	f.Publish(f.translator.Apply(f.store.Apply(cases.Tree(f.files))))
	f.mu.Unlock()
	f.route("asked", "asked.example", "")
	f.route("lower", "lower.example", "")
	f.route("plain", "plain.example", "")
}

// run starts an Envoy of a version. All of them serve the same address: which one a connection gets to
// is up to the kernel.
func (f *folded) run(version, node string) *envoytest.Envoy {
	f.t.Helper()
	return envoytest.Start(f.t, envoytest.Options{Config: f.bootstrap(node), Version: version})
}

// answers waits until a path is answered with each of these, on one connection or another, and wants nothing else
// from then on. An answer is a status, with the header X-Lower where it is there.
func (f *folded) answers(path string, want ...string) {
	f.t.Helper()
	seen := func(times int) (all map[string]bool, err error) {
		all = map[string]bool{}
		for range times {
			response, err := envoytest.Try(envoytest.Request{Address: f.address, Path: path, Headers: map[string][]string{"X-Name": {"ABC"}}})
			if err != nil {
				return nil, err
			}
			all[strings.TrimSpace(fmt.Sprint(response.Status, " ", response.Headers.Get("X-Lower")))] = true
		}
		return all, nil
	}
	envoytest.Wait(f.t, fmt.Sprintf("%s to be answered with %q", path, want), func() error {
		all, err := seen(50)
		if err != nil {
			return err
		}
		for _, answer := range want {
			if !all[answer] {
				return fmt.Errorf("answers: %v", all)
			}
			delete(all, answer)
		}
		if len(all) > 0 {
			return fmt.Errorf("also: %v", all)
		}
		return nil
	})
}

// waitProblem waits until the page of problems has all of these words, or none of those behind "-".
func (f *folded) waitProblem(t *testing.T, words ...string) {
	t.Helper()
	envoytest.Wait(t, fmt.Sprintf("problems with %q", words), func() error {
		page := f.get(t, "/api/v1/problems")
		for _, word := range words {
			absent, without := strings.CutPrefix(word, "-")
			if strings.Contains(page, absent) == without {
				return fmt.Errorf("%s", page)
			}
		}
		return nil
	})
}

// What an Envoy is too old for is closed there, and each object says so. A newer one that joins serves
// all of it without an edit or a reload; when the old one leaves, nothing is told any more.
func TestEnvoysOfTwoReleasesServeOneGateway(t *testing.T) {
	f := startFolded(t, server.Options{Folder: askedFolder{}})
	f.protect("HTTPRoute", "asked")
	old := f.run(olderEnvoy, "edge-old")
	f.answers("/plain", "302")
	f.answers("/asked", "500")
	f.answers("/lower", "500")
	const asked, lower = `extAuth needs Envoy 1.39; \"edge-old\" is 1.38.3`, `lower() or upper() in a transformation needs Envoy 1.40; \"edge-old\" is 1.38.3`
	f.waitProblem(t, "EnvoyTooOld", asked, lower, "every connected Envoy")
	f.waitFor(ir.GatewayKey("default/eg"), `"type":"Programmed","status":"True"`, "2 routes or hosts answer 500")

	f.run(newestEnvoy, "edge-new")
	f.answers("/plain", "302")
	f.answers("/asked", "500", "503")
	f.answers("/lower", "500", "302 abc")
	f.waitProblem(t, asked, lower, "a connected Envoy is too old", "-every connected Envoy")
	if said := f.says(httpRoute("asked")); strings.Contains(said, "too old") || !strings.Contains(said, `"type":"Accepted","status":"True"`) {
		t.Errorf("the route is served by one of them, and says %s", said)
	}

	old.Stop()
	f.answers("/asked", "503")
	f.answers("/lower", "302 abc")
	f.waitProblem(t, "-EnvoyTooOld")
}

// An Envoy that is replaced by an older one does not open what it served.
func TestAnOlderEnvoyComesBehindANewOne(t *testing.T) {
	f := startFolded(t, server.Options{Folder: askedFolder{}})
	f.protect("Gateway", "eg")
	young := f.run(newestEnvoy, "edge")
	f.answers("/asked", "503")
	f.answers("/plain", "503")
	young.Stop()
	f.run(olderEnvoy, "edge")
	f.answers("/asked", "500")
	f.answers("/plain", "500")
	f.waitProblem(t, "EnvoyTooOld", "TrafficPolicy", `extAuth needs Envoy 1.39; \"edge\" is 1.38.3`)

	f.mu.Lock()
	delete(f.files, "protected.yaml")
	f.Publish(f.translator.Apply(f.store.Apply(cases.Tree(f.files))))
	f.mu.Unlock()
	f.answers("/asked", "302")
	f.waitProblem(t, "-EnvoyTooOld")
}
