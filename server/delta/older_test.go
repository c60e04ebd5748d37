package delta

import (
	"bytes"
	"testing"
	"time"

	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// askingTable returns a table with the route /plain and, where asks is true, one that asks a service.
func askingTable(t *testing.T, asks bool) *xds.Resource {
	t.Helper()
	var routes [][]byte
	add := func(path string, extras *ir.Extras) {
		body, problems := xds.Route(&ir.Rule{
			Name: path, Match: ir.Match{Path: ir.Path{Kind: ir.PathPrefix, Value: path}},
			Action: ir.Action{Respond: &ir.Respond{Status: 404}, Extras: extras},
		})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		routes = append(routes, body)
	}
	if asks {
		add("/asks", &ir.Extras{ExtAuth: &ir.ExtAuth{ExtensionUse: ir.ExtensionUse{Extension: &ir.Extension{
			Service: ir.Service{Cluster: "guard"}, Auth: &ir.AuthService{},
		}}}})
	}
	add("/plain", nil)
	table := xds.RouteConfiguration("t", []xds.Host{xds.VirtualHost("a.test", nil, routes)})
	return &table
}

// sent puts tables into the target of a plan, one after the other, and returns what is sent of the last.
func sent(t *testing.T, version string, tables ...*xds.Resource) *Entry {
	t.Helper()
	p := New(NewSnapshot(), Options{Opened: time.Unix(1000, 0), Envoy: true, Version: version})
	p.ask(rds)
	var last *Entry
	for _, table := range tables {
		p.put(Update{"shop/a", rds, table.Name, NewEntry(table)})
		r, _ := p.Next(time.Unix(1000, 0))
		for r == nil && p.Waiting() {
			for step := range p.Prepare(func(string) map[xds.Part]xds.Fault { return nil }) {
				step.Book()
			}
			r, _ = p.Next(time.Unix(1000, 0))
		}
		if r == nil {
			t.Fatal("nothing is sent")
		}
		last = r.Set[0]
		p.Answer(&Request{TypeUrl: rds, ResponseNonce: r.nonce})
	}
	return last
}

// What an older Envoy is sent after edits is what it is sent at first; the newest one is sent the target.
func TestTheFormForAnOlderEnvoyDependsOnTheTargetAlone(t *testing.T) {
	plain, asking := askingTable(t, false), askingTable(t, true)
	for _, version := range []string{"1.37.0", "1.38.3", "1.39.3", "1.40.0", ""} {
		warm, cold := sent(t, version, asking, plain, asking), sent(t, version, asking)
		if warm.Version != cold.Version || !bytes.Equal(warm.Body, cold.Body) {
			t.Errorf("Envoy %q is sent something else after edits", version)
		}
		lacks := xds.ReleaseOf(version).Before(xds.Release{Major: 1, Minor: 39})
		if same := bytes.Equal(cold.Body, asking.Body); same == lacks {
			t.Errorf("Envoy %q: the target as it is: %t", version, same)
		}
		if bytes.Contains(cold.Body, []byte("guard")) == lacks {
			t.Errorf("Envoy %q: is sent the filter: %t", version, !lacks)
		}
		if whole := sent(t, version, asking, plain); whole.Version != plain.Version {
			t.Errorf("Envoy %q is sent another form of a table for which it lacks nothing", version)
		}
	}
}
