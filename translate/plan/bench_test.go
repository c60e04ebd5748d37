package plan_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/plan"
)

// side translates files.
func side(t testing.TB, files map[string][]byte) plan.Side {
	t.Helper()
	s, err := store.New(store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	change := s.Apply(cases.Tree(files))
	result := translate.New(translate.Options{Bind: []string{"127.0.0.1"}}).Apply(change)
	return plan.Side{
		View: result.View(), Problems: append(change.Problems, s.Locate(result.Problems)...), Objects: change.Set, Resources: plan.ResourcesOf(result.Delta), Places: s.Places,
	}
}

// BenchmarkCompare measures the plan for 10,000 routes after one of them, or all of them, were
// edited.
func BenchmarkCompare(b *testing.B) {
	for _, shape := range []cases.Shape{{Routes: 10_000, Hosts: 1}, {Routes: 10_000, Hosts: 100}} {
		before, one, all := shape.Files(), shape.Files(), shape.Files()
		one[shape.FileOf(shape.Routes/2)] = shape.Route(shape.Routes/2, 1)
		for i := range shape.Routes {
			all[shape.FileOf(i)] = shape.Route(i, 1)
		}
		old := side(b, before)
		for name, files := range map[string]map[string][]byte{"one": one, "all": all} {
			now := side(b, files)
			b.Run(shape.String()+"/"+name, func(b *testing.B) {
				for b.Loop() {
					if report, err := plan.Compare(b.Context(), old, now); err != nil || !report.Changes {
						b.Fatal("nothing changes")
					}
				}
			})
		}
	}
}

// BenchmarkCompareHostnames measures the plan for 10,000 HTTPS listeners with hostnames of their own, after
// nothing, all backends or all hostnames were edited. The Views are made by hand: their translation has other costs.
func BenchmarkCompareHostnames(b *testing.B) {
	const n = 10_000
	old := hostnames(n, "a", "old")
	for _, one := range []struct {
		name string
		now  plan.Side
	}{{"nothing", hostnames(n, "a", "old")}, {"backends", hostnames(n, "b", "old")}, {"hostnames", hostnames(n, "a", "new")}} {
		b.Run(one.name, func(b *testing.B) {
			for b.Loop() {
				if report, err := plan.Compare(b.Context(), old, one.now); err != nil || report.Changes != (one.name != "nothing") {
					b.Fatal(err)
				}
			}
		})
	}
}

// hostnames is a port with n HTTPS listeners, each with a route of its own.
func hostnames(n int, backend, word string) plan.Side {
	port := &ir.Port{Name: "web", Gateway: "default/web", Port: 443, Addresses: []string{"127.0.0.1"}}
	view := ir.PortView{Port: port}
	for i := range n {
		name := fmt.Sprintf("%s%05d.example.com", word, i)
		port.Chains = append(port.Chains, ir.Chain{Name: name, RouteConfig: name, TLS: &ir.TLS{}})
		port.Listeners = append(port.Listeners, ir.Listener{Name: fmt.Sprint("l", i), Hostname: name, Object: ir.GatewayKey(port.Gateway), Index: i})
		origin := &ir.Origin{Key: manifest.Key{Kind: "HTTPRoute", Namespace: "default", Name: name}}
		rule := &ir.Rule{
			Name: name, Root: origin, Source: origin, Position: []int{0, 0}, Match: ir.Match{Path: ir.Path{Kind: ir.PathPrefix, Value: "/"}},
			Action: ir.Action{Forward: &ir.Forward{Backends: []ir.Backend{{Cluster: backend, Weight: 1}}}},
		}
		view.Hosts = append(view.Hosts, ir.HostView{Chain: name, Domain: name, Rules: slices.Values([]*ir.Rule{rule}), Len: 1})
	}
	cluster := &ir.Cluster{Name: backend, Endpoints: []ir.Endpoint{{Host: "127.0.0.1", Port: 1}}}
	return plan.Side{View: &ir.View{Gateways: []ir.GatewayView{{Name: port.Gateway, Ports: []ir.PortView{view}}}, Clusters: map[string]*ir.Cluster{backend: cluster}}}
}
