package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/delta/deltatest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// largeTable is 300 routes, /g0/r0 to /g9/r29, behind one for everything that has the
// header x, which stands in every list of the tree. All answer with status.
func largeTable(status uint32) (routes []*routev3.Route, keys []string) {
	routes = []*routev3.Route{exactly("header", status)}
	routes[0].Match.PathSpecifier = &routev3.RouteMatch_Prefix{Prefix: "/"}
	routes[0].Match.Headers = []*routev3.HeaderMatcher{{Name: "x", HeaderMatchSpecifier: &routev3.HeaderMatcher_PresentMatch{PresentMatch: true}}}
	for group := range 10 {
		keys = append(keys, fmt.Sprintf("/g%d/", group))
		for i := range 30 {
			routes = append(routes, exactly(fmt.Sprintf("g%d/r%d", group, i), status))
		}
	}
	return routes, keys
}

// compiledOf is tableOf, compiled.
func (p *shopPort) compiledOf(keys []string, routes ...*routev3.Route) xds.Update {
	return updateOf(*deltatest.Compiled(p.tableOf(routes...).Resource, keys...))
}

// answersTo is answers for a request with the header x.
func (p *shopPort) answersTo(path string, status int) {
	p.t.Helper()
	envoytest.Wait(p.t, fmt.Sprintf("%d for %s with the header", status, path), func() error {
		response, err := envoytest.Try(envoytest.Request{Address: p.address, Path: path, Headers: http.Header{"X": {"1"}}})
		if err == nil && response.Status != status {
			err = fmt.Errorf("status %d", response.Status)
		}
		return err
	})
}

// holdsTree waits until the Envoy holds all, and reports whether its table is compiled.
func (p *shopPort) holdsTree(edge *envoytest.Envoy, rejections int) (tree bool) {
	p.t.Helper()
	p.until("it holds all", func() bool { return p.rejects("shop/a", rejections) })
	return strings.Contains(edge.ConfigDump(), "prefix_match_map")
}

// Of a compiled table with a bad route, Envoy serves all others in their newest form,
// and the bad one answers 500 in every list that has it.
func TestEnvoyServesAllButABadRouteOfACompiledTable(t *testing.T) {
	shop := newShop(t, server.Options{})
	edge := envoytest.Start(t, envoytest.Options{XDSAddress: shop.xds.String(), NodeCluster: "shop/a"})
	shop.serve(ir.Static)
	for name, spoil := range faults() {
		routes, keys := largeTable(201)
		shop.Publish(translate.Result{Delta: []xds.Update{shop.compiledOf(keys, routes...)}})
		shop.answers("/g9/r29", 201)
		shop.answersTo("/g3/none", 201)
		if !shop.holdsTree(edge, 0) {
			t.Fatal("the table is not compiled: nothing is shown")
		}

		routes, _ = largeTable(202)
		spoil(routes[0])
		spoil(routes[100]) // g3/r9
		shop.Publish(translate.Result{Delta: []xds.Update{shop.compiledOf(keys, routes...)}})
		shop.answers("/g3/r8", 202)
		shop.answers("/g9/r29", 202)
		inHeader, inGroup := 500, 500
		if name == "no regular expression" { // their matches are left out
			inHeader, inGroup = 202, 404
		}
		shop.answers("/g3/r9", inGroup)
		for _, path := range []string{"/g0/r0", "/g3/r8", "/g9/r29"} {
			shop.answersTo(path, inHeader)
		}
		if !shop.holdsTree(edge, 2) {
			t.Errorf("%s: the table is linear", name)
		}
	}
	routes, keys := largeTable(203)
	shop.Publish(translate.Result{Delta: []xds.Update{shop.compiledOf(keys, routes...)}})
	shop.answers("/g3/r9", 203)
	shop.answersTo("/g3/r9", 203)
	if !shop.holdsTree(edge, 0) {
		t.Error("mended, it is linear")
	}
}

// crowd writes 300 rules for one host, /c0/r0 to /c19/r14, that lead to host.
func (f *folded) crowd(host string) {
	var all strings.Builder
	for i := range 20 {
		fmt.Fprintf(&all, "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: c%d}\nspec:\n  parentRefs: [{name: eg}]\n  rules:\n", i)
		for k := range 15 {
			fmt.Fprintf(&all, "  - matches: [{path: {value: /c%d/r%d}}]\n    filters: [{type: RequestRedirect, requestRedirect: {hostname: %s}}]\n", i, k, host)
		}
	}
	f.write("crowd.yaml", all.String())
}

// everywhere writes a route for all paths, with a condition on the header x, that
// leads to host.
func (f *folded) everywhere(host, pattern string) {
	f.write("everywhere.yaml", fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: everywhere}
spec:
  parentRefs: [{name: eg}]
  rules:
  - matches: [{headers: [{name: x, type: RegularExpression, value: %q}]}]
    filters: [{type: RequestRedirect, requestRedirect: {hostname: %s}}]
`, pattern, host))
}

func (f *folded) write(name, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files[name] = []byte(text)
	f.Publish(f.translator.Apply(f.store.Apply(cases.Tree(f.files))))
}

// trees returns how many Envoys have a compiled table, once each of them has answered all and rejects nothing.
func (f *folded) trees(envoys []*envoytest.Envoy) (count int) {
	streams := f.audience("default/eg")
	if len(streams) != len(envoys) || f.rejectedParts("default/eg") > 0 {
		return 0
	}
	for _, st := range streams {
		if !st.settled() || len(st.rejected()) > 0 {
			return 0
		}
	}
	for _, e := range envoys {
		if strings.Contains(e.ConfigDump(), "prefix_match_map") {
			count++
		}
	}
	return count
}

// A rule of a large host whose match Envoys reject, and that is in every leaf of its tree, is
// in quarantine as any: those Envoys serve the host as a list without it, everybody else's
// edits go on, also for an Envoy that comes later, and a change of the rule is enough for it to
// serve again, in a tree.
func TestARejectedRuleOfACompiledHostIsQuarantined(t *testing.T) {
	f := startBlaming(t, server.Options{})
	f.crowd("one.example")
	edges := []*envoytest.Envoy{f.small("edge-1")}
	f.leads("/c19/r14", "one.example")
	f.until("it holds a tree", func() bool { return f.trees(edges) == 1 })
	f.everywhere("bad.example", tooBig)
	f.waitFor(httpRoute("everywhere"), "edge-1", otherLimit, "UnsupportedValue")
	f.crowd("two.example")
	f.leads("/c0/r0", "two.example")
	f.leads("/c19/r14", "two.example")
	edges = append(edges, f.small("edge-2"))
	f.until("both hold the newest", func() bool {
		streams := f.audience("default/eg")
		return len(streams) == 2 && streams[0].settled() && streams[1].settled() && f.rejectedParts("default/eg") == 0
	})
	f.everywhere("good.example", "[a-z]+")
	for _, path := range []string{"/c0/none", "/c19/none", "/elsewhere"} {
		envoytest.Wait(t, path+" with the header to lead to good.example", func() error {
			response, err := envoytest.Try(envoytest.Request{Address: f.address, Path: path, Headers: http.Header{"X": {"a"}}})
			if err == nil && !strings.Contains(response.Headers.Get("Location"), "good.example") {
				err = fmt.Errorf("status %d, %s", response.Status, response.Headers.Get("Location"))
			}
			return err
		})
	}
	f.until("both hold a tree", func() bool { return f.trees(edges) == 2 })
}
