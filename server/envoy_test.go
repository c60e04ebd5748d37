package server_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/delta/deltatest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/status"
	"github.com/gatefold/gatefold/translate/xds"
)

// shopPort is the port that the tests' Envoys serve.
type shopPort struct {
	*running
	address string
	port    *ir.Port
	echo    ir.Endpoint
}

// startShop serves the port to an Envoy.
func startShop(t *testing.T, options server.Options) *shopPort {
	t.Helper()
	shop := newShop(t, options)
	envoytest.Start(t, envoytest.Options{XDSAddress: shop.xds.String(), NodeCluster: "shop/a"})
	return shop
}

// newShop is startShop before there is an Envoy.
func newShop(t *testing.T, options server.Options) *shopPort {
	t.Helper()
	return shopOn(start(t, options))
}

func shopOn(r *running) *shopPort {
	r.t.Helper()
	number := envoytest.FreePort(r.t)
	echo := envoytest.Echo(r.t, "echo", "")
	return &shopPort{
		running: r, address: fmt.Sprintf("127.0.0.1:%d", number),
		port: &ir.Port{
			Name: "shop/a/http", Gateway: "shop/a", Addresses: []string{"127.0.0.1"},
			Port: uint32(number), Chains: []ir.Chain{{RouteConfig: "shop/a/http"}},
		},
		echo: ir.Endpoint{Host: "127.0.0.1", Port: uint32(echo.Port())},
	}
}

// cluster returns a backend's resources, in the Gateway's delta.
func (p *shopPort) cluster(name string, discovery ir.Discovery) []xds.Update {
	c := &ir.Cluster{Name: name, Discovery: discovery, Endpoints: []ir.Endpoint{p.echo}}
	updates := []xds.Update{updateOf(xds.Cluster(c))}
	if assignment, ok := xds.Assignment(c); ok {
		updates = append(updates, updateOf(assignment))
	}
	return updates
}

// table returns the port's RouteConfiguration, all of it to one cluster.
func (p *shopPort) table(cluster string) xds.Update {
	p.t.Helper()
	route, problems := xds.Route(&ir.Rule{
		Name: "all", Match: ir.Match{Path: ir.Path{Kind: ir.PathPrefix, Value: "/"}},
		Action: ir.Action{Forward: &ir.Forward{Backends: []ir.Backend{{Cluster: cluster, Weight: 1}}}},
	})
	if len(problems) > 0 {
		p.t.Fatal(problems)
	}
	return updateOf(xds.RouteConfiguration(p.port.Chains[0].RouteConfig, []xds.Host{xds.VirtualHost("*", nil, [][]byte{route})}))
}

func updateOf(r xds.Resource) xds.Update {
	return xds.Update{Gateway: "shop/a", Type: r.Type, Name: r.Name, Resource: &r}
}

func gone(updates []xds.Update) []xds.Update {
	for i := range updates {
		updates[i].Resource = nil
	}
	return updates
}

// serve publishes the port with its first backend and waits for a 200.
func (p *shopPort) serve(discovery ir.Discovery) {
	p.t.Helper()
	p.Publish(p.first(discovery))
	p.waitOK()
}

func (p *shopPort) first(discovery ir.Discovery) translate.Result {
	p.t.Helper()
	delta := append(p.cluster("c0", discovery), p.table("c0"), updateOf(xds.Listener(p.port)), updateOf(xds.RequirementFilter(nil)))
	return translate.Result{Delta: delta, Status: []status.Update{deltatest.PendingGateway("shop/a", 1)}}
}

func (p *shopPort) waitOK() {
	p.t.Helper()
	envoytest.Wait(p.t, "a 200", func() error {
		response, err := envoytest.Try(envoytest.Request{Address: p.address})
		if err == nil && response.Status != 200 {
			err = fmt.Errorf("status %d", response.Status)
		}
		return err
	})
}

// swap replaces cluster i by i+1 in one Publish, and waits until Envoy has it all.
func (p *shopPort) swap(i int, discovery ir.Discovery) {
	p.t.Helper()
	before, after := fmt.Sprintf("c%d", i), fmt.Sprintf("c%d", i+1)
	now := append(p.cluster(after, discovery), p.table(after))
	p.Publish(translate.Result{Delta: append(now, gone(p.cluster(before, discovery))...)})
	p.until("the swap", func() bool {
		return p.audience("shop/a")[0].holdsAll(cds)
	})
}

// swapBackwards is swap in the wrong order, each step once Envoy has the one before.
func (p *shopPort) swapBackwards(i int, discovery ir.Discovery) {
	p.t.Helper()
	before, after := fmt.Sprintf("c%d", i), fmt.Sprintf("c%d", i+1)
	for _, delta := range [][]xds.Update{append(gone(p.cluster(before, discovery)), p.table(after)), p.cluster(after, discovery)} {
		p.Publish(translate.Result{Delta: delta})
		p.until("a step", func() bool { return p.audience("shop/a")[0].holdsAll(cds) })
	}
}

func swapUnderLoad(t *testing.T, discovery ir.Discovery, swap func(shop *shopPort, i int, discovery ir.Discovery)) envoytest.Result {
	shop := startShop(t, server.Options{})
	shop.serve(discovery)
	load := envoytest.StartLoad(t, envoytest.LoadOptions{
		Targets: []envoytest.Target{{Name: "shop", Request: envoytest.Request{Address: shop.address}}},
	})
	for i := range 400 {
		swap(shop, i, discovery)
	}
	return load.Stop()
}

func TestASwapUnderLoadLosesNoRequest(t *testing.T) {
	for name, discovery := range map[string]ir.Discovery{"static": ir.Static, "EDS": ir.EDS} {
		t.Run(name, func(t *testing.T) {
			result := swapUnderLoad(t, discovery, (*shopPort).swap)
			t.Log(result)
			if result.Failed > 0 || result.Requests == 0 {
				t.Error("requests failed")
			}
		})
	}
}

// The same test sees what happens without the phases: where the old cluster goes and routes lead to the new one before
// that is there.
func TestASwapWithoutPhasesLosesRequests(t *testing.T) {
	result := swapUnderLoad(t, ir.EDS, (*shopPort).swapBackwards)
	t.Log(result)
	if result.Failed == 0 {
		t.Error("no request failed")
	}
}

// tableOf returns the port's RouteConfiguration of one host, with routes as Envoy has
// them.
func (p *shopPort) tableOf(routes ...*routev3.Route) xds.Update {
	var encoded [][]byte
	for _, route := range routes {
		encoded = append(encoded, deltatest.Encode(route))
	}
	return updateOf(xds.RouteConfiguration(p.port.Chains[0].RouteConfig, []xds.Host{xds.VirtualHost("*", nil, encoded)}))
}

// exactly returns a route for one path that answers with a status.
func exactly(name string, status uint32) *routev3.Route {
	return &routev3.Route{
		Name: name, Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Path{Path: "/" + name}},
		Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: status}},
	}
}

// answers waits until Envoy answers so.
func (p *shopPort) answers(path string, status int) {
	p.t.Helper()
	envoytest.Wait(p.t, fmt.Sprintf("%d for %s", status, path), func() error {
		response, err := envoytest.Try(envoytest.Request{Address: p.address, Path: path})
		if err == nil && response.Status != status {
			err = fmt.Errorf("status %d", response.Status)
		}
		return err
	})
}

// faults are routes that Envoy refuses: for what they answer, for their match, and
// for a formatter.
func faults() map[string]func(*routev3.Route) {
	return map[string]func(*routev3.Route){
		"the body is too long": func(r *routev3.Route) {
			r.GetDirectResponse().Body = &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: strings.Repeat("x", 5000)}}
		},
		"no regular expression": func(r *routev3.Route) {
			r.Match.PathSpecifier = &routev3.RouteMatch_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: `/\x{10FFFF}`}}
		},
		"no such formatter": func(r *routev3.Route) {
			r.RequestHeadersToAdd = []*corev3.HeaderValueOption{{Header: &corev3.HeaderValue{Key: "x", Value: "%NOPE%"}}}
		},
	}
}

// Of a table with a bad route among many, Envoy serves all others in their newest
// form; without a change to what it serves while the bad one is searched.
func TestEnvoyServesAllButABadRoute(t *testing.T) {
	shop := startShop(t, server.Options{})
	shop.serve(ir.Static)
	var routes []*routev3.Route
	for i := range 50 {
		routes = append(routes, exactly(fmt.Sprint("r", i), 201))
	}
	shop.Publish(translate.Result{Delta: []xds.Update{shop.tableOf(routes...)}})
	shop.answers("/r49", 201)
	load := envoytest.StartLoad(t, envoytest.LoadOptions{Targets: []envoytest.Target{{
		Name: "untouched", Request: envoytest.Request{Address: shop.address, Path: "/r0"},
		Check: func(r *envoytest.Response) error {
			if r.Status != 201 {
				return fmt.Errorf("status %d", r.Status)
			}
			return nil
		}}}})
	for name, spoil := range faults() {
		for i := 1; i < 50; i++ {
			routes[i] = exactly(fmt.Sprint("r", i), 202)
		}
		spoil(routes[30])
		shop.Publish(translate.Result{Delta: []xds.Update{shop.tableOf(routes...)}})
		shop.answers("/r29", 202)
		shop.answers("/r31", 202)
		if name != "no regular expression" {
			shop.answers("/r30", 500)
		}
		shop.until("one part is refused", func() bool { return shop.rejects("shop/a", 1) })
		for i := 1; i < 50; i++ {
			routes[i] = exactly(fmt.Sprint("r", i), 201)
		}
		shop.Publish(translate.Result{Delta: []xds.Update{shop.tableOf(routes...)}})
		shop.answers("/r30", 201)
		shop.until("nothing is refused", func() bool { return shop.quiet("shop/a") })
	}
	result := load.Stop()
	if result.Failed > 0 || result.Requests == 0 {
		t.Error(result)
	}
	figures := shop.get(t, "/metrics")
	if !strings.Contains(figures, `gatefold_xds_nacks_total{type="RouteConfiguration"} 4`) { // two for the match
		t.Errorf("another number of rejections: %s", figures)
	}
}

// An Envoy that comes back after a restart of the server holds the same
// configuration, because versions are sums of content: it is sent nothing.
func TestAnEnvoyIsSentNothingAgainAfterARestart(t *testing.T) {
	shop := startShop(t, server.Options{})
	shop.serve(ir.EDS)
	shop.stop()
	again := start(t, server.Options{XDSAddress: shop.xds.String()})
	again.Publish(shop.first(ir.EDS))
	again.until("Envoy is back", func() bool { return again.one("shop/a", seen.settled) })
	shop.waitOK()
	pushes := regexp.MustCompile(`(?m)^gatefold_xds_pushes_total\{.*\} (.*)$`).FindAllStringSubmatch(again.get(t, "/metrics"), -1)
	if len(pushes) == 0 {
		t.Error("pushes are not counted")
	}
	for _, push := range pushes {
		if push[1] != "0" {
			t.Error("something was sent:", push[0])
		}
	}
}
