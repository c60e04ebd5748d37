package expect_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/expect"
	"github.com/gatefold/gatefold/translate/ir"
)

const judged = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  listeners:
  - {name: http, protocol: HTTP, port: 8080, allowedRoutes: {namespaces: {from: All}}}
  - {name: tcp, protocol: TCP, port: 5432}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: shop}
spec: {type: Static, static: {hosts: [{host: 127.9.0.1, port: 9001}]}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: shop, namespace: other}
spec: {type: Static, static: {hosts: [{host: 127.9.0.2, port: 9001}]}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: asked}
spec: {type: Static, static: {appProtocol: kubernetes.io/h2c, hosts: [{host: 127.9.0.3, port: 9001}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop}
spec:
  parentRefs: [{name: eg}]
  hostnames: [shop.example.com]
  rules:
  - name: plain
    matches: [{path: {value: /plain}}]
    filters:
    - {type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: x-set, value: a}], add: [{name: x-add, value: b}], remove: [x-gone]}}
    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: asked}]
  - name: shared
    matches: [{path: {value: /shared}}]
    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: shop}]
  - name: mirrored
    matches: [{path: {value: /mirrored}}]
    filters:
    - {type: RequestMirror, requestMirror: {backendRef: {group: gateway.kgateway.dev, kind: Backend, name: shop}, fraction: {numerator: 50000000, denominator: 100000000}}}
    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: asked}]
  - name: limited
    matches: [{path: {value: /limited}}]
    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: asked}]
  - name: office
    matches: [{path: {value: /office}}]
    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: asked}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: other, namespace: other}
spec:
  parentRefs: [{name: eg, namespace: default}]
  hostnames: [other.example.com]
  rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: shop}]}]
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: limit}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: shop, sectionName: limited}]
  rateLimit: {local: {tokenBucket: {maxTokens: 1, tokensPerFill: 1, fillInterval: 60s}}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: office}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: shop, sectionName: office}]
  acl: {defaultAction: deny, rules: [{cidrs: [192.0.2.0/24], action: allow}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: db}
spec:
  parentRefs: [{name: eg, sectionName: tcp}]
  rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: asked}]}]
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: dba}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: TCPRoute, name: db}]
  acl: {defaultAction: deny, rules: [{cidrs: [192.0.2.0/24], action: allow}]}
`

func judgedView(t *testing.T) *ir.View {
	t.Helper()
	s, err := store.New(store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	result := translate.New(translate.Options{}).Apply(s.Apply(cases.Tree(map[string][]byte{"a.yaml": []byte(judged)})))
	if len(result.Problems) > 0 {
		t.Fatalf("%+v", result.Problems)
	}
	return result.View()
}

// What is not known is unknown, and never a pass; what cannot be right whatever is not known fails.
func TestVerdicts(t *testing.T) {
	judge := expect.NewJudge(judgedView(t), netip.Addr{})
	for _, test := range []struct {
		line, want string // the verdict, and words of a difference or doubt
	}{
		{"GET http://shop.example.com:8080/plain -> asked", "pass"},
		{"GET http://shop.example.com:8080/plain -> default/asked", "pass"},
		{"GET http://shop.example.com:8080/plain -> other/asked", "fail outcome other/asked default/asked"},
		{"GET http://shop.example.com:8080/plain -> asked=3 shop=1", "fail outcome"},
		{"GET http://shop.example.com:8080/plain -> 200", "fail outcome 200 default/asked"},

		// Headers of the answer, as far as the rule decides them.
		{"GET http://shop.example.com:8080/plain -> asked | response X-Set: a | response x-gone: -", "pass"},
		{"GET http://shop.example.com:8080/plain -> asked | response x-set: b", "fail response x-set b a"},
		{"GET http://shop.example.com:8080/plain -> asked | response x-gone: b", "fail response x-gone b -"},
		{"GET http://shop.example.com:8080/plain -> asked | response x-add: b", "unknown response x-add"},
		{"GET http://shop.example.com:8080/plain -> asked | response content-type: text/html", "unknown response content-type"},

		// Copies, by a fraction of large numbers.
		{"GET http://shop.example.com:8080/mirrored -> asked | mirror default/shop=50", "pass"},
		{"GET http://shop.example.com:8080/mirrored -> asked | mirror default/shop=7", "fail mirror default/shop=7 default/shop=50"},

		// What only an Envoy shows.
		{"GET http://shop.example.com:8080/plain -> asked | status 404", "unknown status"},
		{"GET http://shop.example.com:8080/plain -> asked | protocol HTTP/2.0", "unknown protocol"},
		{"GET http://shop.example.com:8080/plain -> asked | request x-request-id: 1", "unknown request x-request-id"},
		{"GET http://shop.example.com:8080/plain -> 404 | only Envoy", "skipped"},

		// A name of several namespaces.
		{"GET http://shop.example.com:8080/shared -> shop", "unknown several backends have the name shop"},
		{"GET http://shop.example.com:8080/shared -> default/shop", "pass"},
		{"GET http://shop.example.com:8080/shared -> other/shop", "fail"},
		{"GET http://other.example.com:8080/ -> other/shop", "pass"},

		// Limits that count earlier requests.
		{"GET http://shop.example.com:8080/limited -> asked", "unknown rateLimit.local"},
		{"GET http://shop.example.com:8080/limited -> asked | when allowed", "pass"},
		{"GET http://shop.example.com:8080/limited -> 429", "unknown rateLimit.local"},
		{"GET http://shop.example.com:8080/limited -> 429 | when allowed", "fail outcome"},
		{"GET http://shop.example.com:8080/limited -> default/shop", "fail outcome"},

		// The client's address.
		{"GET http://shop.example.com:8080/office -> asked", "unknown add FROM:IP to the line"},
		{"GET http://shop.example.com:8080/office -> asked | when allowed", "unknown add FROM:IP to the line"},
		{"GET http://shop.example.com:8080/office -> 403", "unknown add FROM:IP to the line"},
		{"GET http://shop.example.com:8080/office FROM:192.0.2.1 -> asked", "pass"},
		{"GET http://shop.example.com:8080/office PROXY:192.0.2.1 -> asked", "pass"},
		{"GET http://shop.example.com:8080/office FROM:198.51.100.1 -> 403 | by TrafficPolicy default/office", "pass"},
		{"GET http://shop.example.com:8080/office FROM:198.51.100.1 -> 403 | by TrafficPolicy default/limit", "fail by TrafficPolicy default/limit TrafficPolicy default/office"},
		{"GET http://shop.example.com:8080/office FROM:198.51.100.1 -> asked", "fail outcome asked 403"},
		{"GET http://none.example.com:8080/ -> 404 | by TrafficPolicy default/office", "fail by TrafficPolicy default/office no policy"},

		// Connections.
		{"tcp://db.example.com:5432 -> asked", "unknown add FROM:IP to the line"},
		{"tcp://db.example.com:5432 FROM:192.0.2.1 -> asked", "pass"},
		{"tcp://db.example.com:5432 FROM:192.0.2.1 -> closed", "fail outcome closed asked"},
		{"tcp://db.example.com:5432 FROM:198.51.100.1 -> closed | by TrafficPolicy default/dba", "pass"},
		{"tcp://db.example.com:5432 FROM:198.51.100.1 -> closed | by TrafficPolicy default/office", "fail by"},
		{"tcp://db.example.com:5433 -> closed", "pass"},
		{"udp://db.example.com:5432 -> asked", "fail outcome asked closed"},
		{"GET http://shop.example.com:9090/ -> closed", "pass"},
		{"GET http://shop.example.com:8080/plain -> closed", "fail outcome closed default/asked"},
	} {
		requests, problems := expect.Parse("requests", []byte(test.line))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		result := judge.Judge(requests[0])
		words := []string{string(result.Verdict)}
		for _, d := range result.Differences {
			words = append(words, d.Of, d.Want, d.Got)
		}
		for _, d := range result.Doubts {
			words = append(words, d.Of, d.Why)
		}
		text := strings.Join(words, " ")
		verdict, rest, _ := strings.Cut(test.want, " ")
		if string(result.Verdict) != verdict || !strings.Contains(text, rest) {
			t.Errorf("%s\n\t%s\n\twant %s", test.line, text, test.want)
		}
	}
}
