package translate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate"
)

// TestAnEditSendsOneShard edits one of many hosts, then a wildcard: what is sent is the
// shard that the host stands in, and every shard for the wildcard. Each shard is there
// from the start, with hosts or without.
func TestAnEditSendsOneShard(t *testing.T) {
	const hosts, shards = 400, 16
	w := newWorldWith(t, translate.Options{Shards: shards})
	files := map[string]string{"gateway.yaml": `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  listeners: [{name: http, port: 80, protocol: HTTP}]
`}
	put := func(host, path string) {
		name := strings.NewReplacer("*", "any", ".", "-").Replace(host)
		files[name+".yaml"] = fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s}
spec:
  parentRefs: [{name: eg}]
  hostnames: ["%s"]
  rules:
  - matches: [{path: {value: %s}}]
    filters: [{type: RequestRedirect, requestRedirect: {hostname: x.com}}]
`, name, host, path)
	}
	count := func(kind string) (n, bytes int) {
		for _, u := range w.last.Delta {
			if strings.HasSuffix(u.Type, kind) {
				n, bytes = n+1, bytes+len(u.Resource.Body)
			}
		}
		return n, bytes
	}
	w.apply(tree(files))
	if n, _ := count(".RouteConfiguration"); n != shards {
		t.Errorf("%d tables without hosts, want %d", n, shards)
	}
	for i := range hosts {
		put(fmt.Sprintf("t%03d.example.com", i), "/a")
	}
	put("*.example.com", "/a")
	w.apply(tree(files))
	_, all := count(".RouteConfiguration")
	put("t007.example.com", "/b")
	w.apply(tree(files))
	if n, bytes := count(".RouteConfiguration"); n != 1 || bytes*shards > 4*all || len(w.last.Delta) != 1 {
		t.Errorf("the edit of a host sends %d tables, %d of %d bytes, %d resources", n, bytes, all, len(w.last.Delta))
	}
	put("*.example.com", "/b")
	w.apply(tree(files))
	if n, _ := count(".RouteConfiguration"); n != shards || len(w.last.Delta) != shards {
		t.Errorf("the edit of a wildcard sends %d tables, %d resources", n, len(w.last.Delta))
	}
}
