package expect_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/expect"
	"github.com/gatefold/gatefold/translate/explain"
)

// manyRoutes returns a folder of n HTTPRoutes of one host, each with a path of its own, and a line
// for each.
func manyRoutes(n int) (folder, lines string) {
	var yaml, requests strings.Builder
	yaml.WriteString(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  listeners:
  - {name: http, protocol: HTTP, port: 8080}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: shop}
spec:
  type: Static
  static:
    hosts: [{host: 127.9.0.1, port: 9001}]
`)
	for i := range n {
		fmt.Fprintf(&yaml, `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r%[1]d}
spec:
  parentRefs: [{name: eg}]
  hostnames: [shop.example.com]
  rules:
  - matches: [{path: {value: /area%[2]d/service%[1]d}}]
    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: shop}]
`, i, i%100)
		fmt.Fprintf(&requests, "GET http://shop.example.com:8080/area%d/service%d/x x-user:ada -> default/shop | path /area%d/service%d/x | request x-user: ada\n", i%100, i, i%100, i)
	}
	return yaml.String(), requests.String()
}

// BenchmarkRun judges 10,000 lines over 10,000 routes of one host; reading the folder is not in it.
func BenchmarkRun(b *testing.B) {
	folder, lines := manyRoutes(10_000)
	s, err := store.New(store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	result := translate.New(translate.Options{}).Apply(s.Apply(cases.Tree(map[string][]byte{"a.yaml": []byte(folder)})))
	facts := explain.Facts{View: result.View(), Places: s.Places}
	for b.Loop() {
		requests, problems := expect.Parse("requests", []byte(lines))
		report := expect.Run(facts, requests, netip.Addr{})
		if len(problems) > 0 || report.Passed != 10_000 || report.Coverage.Percent != 100 {
			b.Fatalf("%d passed, %d failed, %d unknown; coverage %+v", report.Passed, report.Failed, report.Unknown, report.Coverage)
		}
	}
}
