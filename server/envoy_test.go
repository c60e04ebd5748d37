package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// shopPort is the port that the tests' Envoys serve.
type shopPort struct {
	*running
	address string
	port    *ir.Port
	echo    ir.Endpoint
}

func startShop(t *testing.T, options Options) *shopPort {
	t.Helper()
	r := start(t, options)
	number := envoytest.FreePort(t)
	echo := envoytest.Echo(t, "echo", "")
	shop := &shopPort{
		running: r, address: fmt.Sprintf("127.0.0.1:%d", number),
		port: &ir.Port{
			Name: "shop/a/http", Gateway: "shop/a", Addresses: []string{"127.0.0.1"},
			Port: uint32(number), Chains: []ir.Chain{{RouteConfig: "shop/a/http"}},
		},
		echo: ir.Endpoint{Host: "127.0.0.1", Port: uint32(echo.Port())},
	}
	envoytest.Start(t, envoytest.Options{XDSAddress: r.xds.String(), NodeCluster: "shop/a"})
	return shop
}

// cluster gives a back end's resources, in the Gateway's delta.
func (p *shopPort) cluster(name string, discovery ir.Discovery) []xds.Update {
	c := &ir.Cluster{Name: name, Discovery: discovery, Endpoints: []ir.Endpoint{p.echo}}
	updates := []xds.Update{updateOf(xds.Cluster(c))}
	if assignment, ok := xds.Assignment(c); ok {
		updates = append(updates, updateOf(assignment))
	}
	return updates
}

// table gives the port's RouteConfiguration, all of it to one cluster.
func (p *shopPort) table(cluster string) xds.Update {
	p.t.Helper()
	route, problems := xds.Route(&ir.Rule{
		Name: "all", Match: ir.Match{Path: ir.Path{Kind: ir.PathPrefix, Value: "/"}},
		Action: ir.Action{Forward: &ir.Forward{Backends: []ir.Backend{{Cluster: cluster, Weight: 1}}}},
	})
	if len(problems) > 0 {
		p.t.Fatal(problems)
	}
	return updateOf(xds.RouteConfiguration(p.port.Chains[0].RouteConfig, [][]byte{xds.VirtualHost("*", nil, [][]byte{route})}))
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

// serve publishes the port with its first back end and waits for a 200.
func (p *shopPort) serve(discovery ir.Discovery) {
	p.t.Helper()
	p.Publish(p.first(discovery))
	p.waitOK()
}

func (p *shopPort) first(discovery ir.Discovery) translate.Result {
	p.t.Helper()
	return translate.Result{Delta: append(p.cluster("c0", discovery), p.table("c0"), updateOf(xds.Listener(p.port)))}
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
	delta := append(p.cluster(after, discovery), p.table(after))
	p.Publish(translate.Result{Delta: append(delta, gone(p.cluster(before, discovery))...)})
	p.until("the swap", func() bool {
		st := p.audience("shop/a")[0]
		_, has := st.ledgers[cds].held[before]
		return !has && st.state.settled
	})
}

func swapUnderLoad(t *testing.T, options Options, discovery ir.Discovery) envoytest.Result {
	shop := startShop(t, options)
	shop.serve(discovery)
	load := envoytest.StartLoad(t, envoytest.LoadOptions{
		Targets: []envoytest.Target{{Name: "shop", Request: envoytest.Request{Address: shop.address}}},
	})
	for i := range 400 {
		shop.swap(i, discovery)
	}
	return load.Stop()
}

func TestASwapUnderLoadLosesNoRequest(t *testing.T) {
	for name, discovery := range map[string]ir.Discovery{"static": ir.Static, "EDS": ir.EDS} {
		t.Run(name, func(t *testing.T) {
			result := swapUnderLoad(t, Options{}, discovery)
			t.Log(result)
			if result.Failed > 0 || result.Requests == 0 {
				t.Error("requests failed")
			}
		})
	}
}

// The same test sees what happens without the phases.
func TestASwapWithoutPhasesLosesRequests(t *testing.T) {
	result := swapUnderLoad(t, Options{Unordered: true}, ir.EDS)
	t.Log(result)
	if result.Failed == 0 {
		t.Error("no request failed")
	}
}

// A table that Envoy refuses leaves the last accepted one serving; mending it is
// enough.
func TestEnvoyServesOnAfterARejection(t *testing.T) {
	shop := startShop(t, Options{})
	shop.serve(ir.Static)
	bad := updateOf(xds.RouteConfiguration(shop.port.Chains[0].RouteConfig,
		[][]byte{xds.VirtualHost("a.example", nil, nil), xds.VirtualHost("a.example", nil, nil)}))
	shop.Publish(translate.Result{Delta: []xds.Update{bad}})
	var words string
	shop.until("Envoy's no", func() bool {
		words = shop.audience("shop/a")[0].ledgers[rds].rejected[shop.port.Chains[0].RouteConfig].words
		return words != ""
	})
	if !strings.Contains(words, "Duplicate entry of domain a.example") {
		t.Errorf("Envoy's words are %q", words)
	}
	shop.waitOK()
	shop.Publish(translate.Result{Delta: []xds.Update{shop.table("c0")}})
	shop.until("the rejection is over", func() bool {
		st := shop.audience("shop/a")[0]
		return st.state == state{idle: true, settled: true}
	})
	shop.waitOK()
}

// An Envoy that comes back after a restart of the server holds the same
// configuration, because versions are sums of content: it is sent nothing.
func TestAnEnvoyIsSentNothingAgainAfterARestart(t *testing.T) {
	shop := startShop(t, Options{})
	shop.serve(ir.EDS)
	shop.stop()
	again := start(t, Options{XDSAddress: shop.xds.String()})
	again.Publish(shop.first(ir.EDS))
	again.until("Envoy is back", func() bool {
		streams := again.audience("shop/a")
		return len(streams) == 1 && streams[0].state.settled
	})
	shop.waitOK()
	if figures := again.get(t, "/metrics"); strings.Contains(figures, "gatefold_xds_pushes_total") {
		t.Errorf("something was sent:\n%s", figures)
	}
}
