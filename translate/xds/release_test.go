package xds

import (
	"slices"
	"strings"
	"testing"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/translate/ir"
)

// Each row of features is of a filter in the chain, and each filter that is made of others has a row: a
// new one cannot be forgotten.
func TestFeaturesAreThoseOfTheChain(t *testing.T) {
	for _, f := range features() {
		if !slices.ContainsFunc(configurable(), func(filter httpFilter) bool { return f.names(filter.name) }) {
			t.Errorf("no filter of %s", f.what)
		}
	}
	for _, filter := range configurable() {
		has := slices.ContainsFunc(features(), func(f feature) bool { return f.names(filter.name) && !Release{1, 38}.Before(f.chain) })
		if filter.service != nil && has {
			t.Errorf("%s is in the chain of Envoy 1.38", filter.name)
		}
	}
}

func TestAListenerIsWithoutFiltersThatAReleaseLacks(t *testing.T) {
	port := &ir.Port{Name: "p", Addresses: []string{"::"}, Port: 80, Chains: []ir.Chain{{RouteConfig: "p"}}}
	listener := Listener(port)
	if _, same := ListenerFor(&listener, Newest()); !same {
		t.Error("the newest release has another form")
	}
	if _, same := ListenerFor(&listener, Release{}); !same {
		t.Error("a client of an unknown release has another form")
	}
	for release, lacks := range map[Release][]string{
		{1, 39}: nil,
		{1, 38}: {"gatefold/extAuth", "gatefold/extProc", "gatefold/rateLimit.global"},
		{1, 37}: {"gatefold/extAuth", "gatefold/extProc", "gatefold/rateLimit.global", oauth2Name},
	} {
		form, _ := ListenerFor(&listener, release)
		whole, chain := chainsOf(t, listener), chainsOf(t, form)
		kept := slices.DeleteFunc(slices.Clone(whole), func(name string) bool {
			return slices.ContainsFunc(lacks, func(lack string) bool { return name == lack || strings.HasPrefix(name, lack+"/") })
		})
		if !slices.Equal(chain, kept) || len(chain) == len(whole) != (lacks == nil) {
			t.Errorf("Envoy %s: %q", release, chain)
		}
		if again, _ := ListenerFor(&listener, release); again.Version != form.Version || (form.Version == listener.Version) != (lacks == nil) {
			t.Errorf("Envoy %s: version %s", release, form.Version)
		}
	}
}

// chainsOf returns the names of the filters, and behind them those for WebSockets.
func chainsOf(t *testing.T, r Resource) (names []string) {
	t.Helper()
	var listener listenerv3.Listener
	var manager hcmv3.HttpConnectionManager
	if err := proto.Unmarshal(r.Body, &listener); err != nil {
		t.Fatal(err)
	}
	if err := listener.FilterChains[0].Filters[0].GetTypedConfig().UnmarshalTo(&manager); err != nil {
		t.Fatal(err)
	}
	for _, filter := range append(manager.HttpFilters, manager.UpgradeConfigs[0].Filters...) {
		names = append(names, filter.Name)
	}
	return names
}

// What an Envoy would ignore of a route or host is reported for it, in lists and in compiled hosts.
func TestPartsThatAReleaseLacks(t *testing.T) {
	asks := &ir.Extras{ExtAuth: &ir.ExtAuth{ExtensionUse: ir.ExtensionUse{Extension: &ir.Extension{
		Service: ir.Service{Cluster: "guard"}, Auth: &ir.AuthService{},
	}}}}
	lower := &ir.Extras{Request: []ir.HeaderChange{{Name: "x", Value: ir.Template{{Func: "lower", Args: ir.Template{{Func: "header", Text: "y"}}}}}}}
	text := &ir.Extras{Request: []ir.HeaderChange{{Name: "x", Value: ir.Template{{Text: ".lowerAscii()"}}}}}
	off := &ir.Extras{Replaced: []ir.Field{ir.FieldExtAuth}}
	route := func(name string, extras *ir.Extras) []byte {
		body, problems := Route(&ir.Rule{
			Name: name, Match: ir.Match{Path: ir.Path{Kind: ir.PathPrefix, Value: "/"}},
			Action: ir.Action{Respond: &ir.Respond{Status: 404}, Extras: extras},
		})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return body
	}
	routes := [][]byte{route("asks", asks), route("lower", lower), route("text", text), route("off", off), route("plain", nil)}
	table := RouteConfiguration("t", []Host{VirtualHost("a.test", nil, routes), VirtualHost("b.test", asks, routes)})
	parts := func(release Release) (out []string) {
		for _, lack := range Lacks(table.Body, release) {
			out = append(out, lack.Host+" "+lack.Route+": "+lack.What)
		}
		return out
	}
	const both = "lower() or upper() in a transformation"
	for release, want := range map[Release][]string{
		Newest(): nil,
		{}:       nil,
		{1, 39}:  {"a.test lower: " + both, "b.test lower: " + both},
		{1, 38}:  {"a.test asks: extAuth", "a.test lower: " + both, "b.test : extAuth"},
	} {
		if got := parts(release); !slices.Equal(got, want) {
			t.Errorf("Envoy %s: %q, want %q", release, got, want)
		}
	}
}

// A table is without the optional features of a release that lacks them, and otherwise the same.
func TestATableIsWithoutOptionalFeatures(t *testing.T) {
	redirect, problems := Route(&ir.Rule{
		Name: "r", Match: ir.Match{Path: ir.Path{Kind: ir.PathPrefix, Value: "/"}},
		Action: ir.Action{Redirect: &ir.Redirect{Scheme: "https", Port: 443, PortLess: true, Status: 301}},
	})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	table := RouteConfiguration("t", []Host{VirtualHost("a.test", nil, [][]byte{redirect})})
	if _, same := TableFor(&table, Newest()); !same {
		t.Error("the newest release has another form")
	}
	form, same := TableFor(&table, Release{1, 39})
	var before, after routev3.RouteConfiguration
	if err := proto.Unmarshal(table.Body, &before); err != nil {
		t.Fatal(err)
	}
	if err := proto.Unmarshal(form.Body, &after); err != nil || same {
		t.Fatal(err, same)
	}
	if len(before.VirtualHosts[0].Routes[0].TypedPerFilterConfig) != 1 {
		t.Error("the route has no optional feature")
	}
	before.VirtualHosts[0].Routes[0].TypedPerFilterConfig = nil
	if !proto.Equal(&before, &after) {
		t.Errorf("the form is %v", &after)
	}
}
