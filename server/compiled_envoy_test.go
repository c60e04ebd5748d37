package server

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/translate"
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
	return updateOf(*compiled(newEntry(p.tableOf(routes...).Resource), keys...).Resource)
}

// answersTo is answers for a request with the header x.
func (p *shopPort) answersTo(path string, status int) {
	p.t.Helper()
	envoytest.Wait(p.t, fmt.Sprintf("%d for %s with the header", status, path), func() error {
		response, err := envoytest.Try(envoytest.Request{Address: p.address, Path: path, Headers: map[string][]string{"x": {"1"}}})
		if err == nil && response.Status != status {
			err = fmt.Errorf("status %d", response.Status)
		}
		return err
	})
}

// holdsTree waits until the Envoy holds all, and tells whether its table is compiled.
func (p *shopPort) holdsTree(rejections int) (tree bool) {
	p.t.Helper()
	p.until("it holds all", func() bool {
		st := p.audience("shop/a")[0]
		tree = st.tables[p.port.Chains[0].RouteConfig].accepted.Linear != nil
		return st.state == state{idle: true, settled: true, rejections: rejections}
	})
	return tree
}

// Of a compiled table with a bad route, Envoy serves all others in their newest form,
// and the bad one answers 500 in every list that has it.
func TestEnvoyServesAllButABadRouteOfACompiledTable(t *testing.T) {
	shop := startShop(t, Options{})
	shop.serve(ir.Static)
	for name, spoil := range faults() {
		routes, keys := largeTable(201)
		shop.Publish(translate.Result{Delta: []xds.Update{shop.compiledOf(keys, routes...)}})
		shop.answers("/g9/r29", 201)
		shop.answersTo("/g3/none", 201)
		if !shop.holdsTree(0) {
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
		if !shop.holdsTree(2) {
			t.Errorf("%s: the table is linear", name)
		}
	}
	routes, keys := largeTable(203)
	shop.Publish(translate.Result{Delta: []xds.Update{shop.compiledOf(keys, routes...)}})
	shop.answers("/g3/r9", 203)
	shop.answersTo("/g3/r9", 203)
	if !shop.holdsTree(0) {
		t.Error("mended, it is linear")
	}
}

// An Envoy that refuses a tree for what no route can help is given the linear table,
// and all after it; log and figure tell of it.
func TestEnvoyIsGivenLinearTablesWhenItRefusesATree(t *testing.T) {
	var log bytes.Buffer
	shop := shopOn(startLogged(t, Options{}, zerolog.New(zerolog.SyncWriter(&log))))
	envoytest.Start(t, envoytest.Options{XDSAddress: shop.xds.String(), NodeCluster: "shop/a"})
	shop.serve(ir.Static)
	for status := range uint32(3) {
		routes, keys := largeTable(201 + status)
		u := shop.compiledOf(keys, routes...)
		config := tableFrom(newEntry(u.Resource))
		for _, leaf := range config.VirtualHosts[0].Matcher.GetMatcherTree().GetPrefixMatchMap().Map {
			leaf.KeepMatching = true // which Envoy takes in no route table
		}
		u.Resource.Body = encode(config)
		shop.Publish(translate.Result{Delta: []xds.Update{u}})
		shop.answers("/g9/r29", int(201+status))
		if shop.holdsTree(0) {
			t.Error("it took the tree: nothing is shown")
		}
	}
	if figures := shop.get(t, "/metrics"); !strings.Contains(figures, "gatefold_xds_linear_envoys 1\n") ||
		!strings.Contains(figures, `gatefold_xds_nacks_total{type="RouteConfiguration"} 1`) {
		t.Error("another number of rejections, or the figure does not count it")
	}
	shop.stop()
	if told := strings.Count(log.String(), "takes its linear form"); told != 1 {
		t.Errorf("the log tells %d times", told)
	}
}
