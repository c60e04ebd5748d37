package xds

import (
	"slices"
	"strings"
	"testing"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// TestFiltersAreOffUntilARouteTurnsThemOn holds that every filter that a route can
// name is in the chain, and off there: Envoy takes configuration for a filter that
// the listener lacks without a word. Only the filter that removes identity headers is always on.
func TestFiltersAreOffUntilARouteTurnsThemOn(t *testing.T) {
	listener, manager := &listenerv3.Listener{}, &hcmv3.HttpConnectionManager{}
	decode(t, Listener(&ir.Port{Name: "p", Addresses: []string{"::"}, Port: 80, Chains: []ir.Chain{{RouteConfig: "r"}}}).Body, listener)
	if err := listener.FilterChains[0].Filters[0].GetTypedConfig().UnmarshalTo(manager); err != nil {
		t.Fatal(err)
	}
	off := map[string]bool{}
	for _, filter := range append(manager.HttpFilters, manager.UpgradeConfigs[0].Filters...) {
		off[filter.Name] = filter.Disabled != (filter.Name == forgedFilter().name)
	}
	action := forwardTo(ir.Backend{Cluster: "a", Weight: 1})
	action.Extras = &ir.Extras{
		CORS: &ir.CORS{}, CSRF: &ir.CSRF{}, BufferBytes: 1, Request: []ir.HeaderChange{{Name: "a"}},
		RateLimit: &ir.RateLimit{Max: 1, Fill: 1, Interval: time.Second}, RequestHeaders: ir.HeaderMods{Remove: []string{"a"}},
		RBAC:        &ir.RBAC{Expressions: []string{"true"}},
		BasicAuth:   &ir.BasicAuth{},
		APIKeyAuth:  &ir.APIKeyAuth{},
		Forged:      []string{"x-user"},
		OAuth2:      &ir.OAuth2{ExtensionUse: ir.ExtensionUse{Extension: &ir.Extension{SignIn: &ir.SignIn{}}}},
		JWTAuth:     &ir.JWTAuth{ExtensionUse: ir.ExtensionUse{Extension: &ir.Extension{JWT: &ir.JWT{Name: "a/b"}}}},
		ACL:         &ir.ACL{Response: &ir.ACLResponse{Status: 403}},
		ExtAuth:     &ir.ExtAuth{ExtensionUse: ir.ExtensionUse{Extension: &ir.Extension{Auth: &ir.AuthService{}}}},
		ExtProc:     &ir.ExtProc{ExtensionUse: ir.ExtensionUse{Extension: &ir.Extension{Processor: &ir.ProcessorService{}}}},
		GlobalLimit: &ir.GlobalLimit{ExtensionUse: ir.ExtensionUse{Extension: &ir.Extension{Limiter: &ir.LimitService{}}}},
	}
	host := &routev3.VirtualHost{}
	decode(t, VirtualHost("*", action.Extras, nil).Bytes(), host)
	action.Extras.Portless = &ir.Redirect{Port: 443} // of no policy: a host has none
	route := decodeRoute(t, prefixRule("/", action))
	for i, configs := range []map[string]*anypb.Any{route.TypedPerFilterConfig, host.TypedPerFilterConfig} {
		if want := len(configurable()) - i; len(configs) != want {
			t.Errorf("%d filters, configured are %d", want, len(configs))
		}
		for name := range configs {
			if !off[name] {
				t.Errorf("filter %s is not in the chain, or on", name)
			}
		}
	}
	plain := decodeRoute(t, prefixRule("/", forwardTo(ir.Backend{Cluster: "a", Weight: 1})))
	if len(plain.TypedPerFilterConfig) > 0 {
		t.Errorf("a route without policies: %v", plain.TypedPerFilterConfig)
	}
}

// An upgrade meets every filter of its listener but the buffer, off until a route turns it
// on. Its processor has a name of its own.
func TestAnUpgradeMeetsAllFiltersButTheBuffer(t *testing.T) {
	chain := slices.DeleteFunc(httpFilterChain(), func(f *hcmv3.HttpFilter) bool { return strings.Contains(f.Name, "buffer") })
	for _, filter := range chain {
		filter.Name = strings.Replace(filter.Name, extProcName, extProcName+"/upgrade", 1)
	}
	upgrade := upgradeFilterChain()
	if !slices.EqualFunc(chain, upgrade, func(a, b *hcmv3.HttpFilter) bool { return proto.Equal(a, b) }) || len(upgrade) < len(httpFilters()) {
		t.Errorf("an upgrade meets %v, other requests %v", upgrade, chain)
	}
}

func TestExtrasOfTheRoute(t *testing.T) {
	hour := time.Hour
	action := forwardTo(ir.Backend{Cluster: "a", Weight: 1})
	action.Extras = &ir.Extras{
		AutoHost: true, IdleTimeout: &hour, RequestTimeout: &hour,
		Hash: []ir.Hash{
			{Header: "x-user", Terminal: true},
			{Cookie: &ir.HashCookie{Name: "c", TTL: &hour, Secure: true, SameSite: "Lax"}},
			{SourceIP: true},
		},
	}
	to := decodeRoute(t, prefixRule("/", action)).GetRoute()
	if !to.GetAutoHostRewrite().GetValue() || to.IdleTimeout.AsDuration() != hour || to.Timeout.AsDuration() != hour {
		t.Errorf("%v", to)
	}
	if hash := to.HashPolicy; len(hash) != 3 || !hash[0].Terminal || hash[0].GetHeader().GetHeaderName() != "x-user" ||
		len(hash[1].GetCookie().GetAttributes()) != 2 || !hash[2].GetConnectionProperties().GetSourceIp() {
		t.Errorf("%v", hash)
	}
	action.Rewrite = &ir.Rewrite{Hostname: "x.test"}
	to = decodeRoute(t, prefixRule("/", action)).GetRoute()
	if _, ok := to.HostRewriteSpecifier.(*routev3.RouteAction_HostRewriteLiteral); !ok {
		t.Error("the route's own host goes before")
	}
}

func TestRefusedExtras(t *testing.T) {
	set := func(name, value string) *ir.Extras {
		return &ir.Extras{Request: []ir.HeaderChange{{Name: "a"}, {Name: name, Value: ir.Template{{Text: value}}}}}
	}
	for i, test := range []struct {
		extras         *ir.Extras
		field, message string
	}{
		{extras: set("x-a", "b")},
		{set("host", "b"), "spec.transformation.request.set[1].name", "Host"},
		{set(":path", "b"), "spec.transformation.request.set[1].name", "not a header"},
		{set("a b", "b"), "spec.transformation.request.set[1].name", "legal"},
		{set("a", "b\r\n"), "spec.transformation.request.set[1].value", "line break"},
		{set("a", strings.Repeat("%", 9000)), "spec.transformation.request.set[1].value", "16384"},
		{&ir.Extras{Response: []ir.HeaderChange{{Kind: ir.RemoveHeader, Name: ""}}}, "spec.transformation.response.remove[0]", "legal"},
		{&ir.Extras{RequestHeaders: ir.HeaderMods{Remove: []string{"host"}}}, "spec.headerModifiers.request", "Host"},
		{&ir.Extras{CSRF: &ir.CSRF{Origins: []ir.StringMatch{{Kind: ir.StringRegex, Value: "(("}}}}, "spec.csrf.additionalOrigins[0].safeRegex", "missing"},
		{&ir.Extras{RateLimit: &ir.RateLimit{Max: 1, Fill: 1}}, "spec", "FillInterval"},
		{&ir.Extras{Hash: []ir.Hash{{Cookie: &ir.HashCookie{Name: "a;b"}}}}, "spec.hashPolicies[0].cookie.name", "cookie"},
	} {
		problems := CheckExtras(&ir.Origin{Key: manifest.Key{Kind: "TrafficPolicy", Name: "p"}}, test.extras)
		switch {
		case test.field == "" && len(problems) == 0:
		case len(problems) != 1 || problems[0].Field != test.field || !strings.Contains(problems[0].Message, test.message) || problems[0].Object.Name != "p":
			t.Errorf("%d: want %q at %s, got %+v", i, test.message, test.field, problems)
		}
	}
}

// autoHostRewrite leaves a backend's own host alone, and the others get their DNS names:
// in Envoy that of the route would go before the backend's.
func TestAutoHostIsBehindTheHostOfABackend(t *testing.T) {
	action := forwardTo(ir.Backend{Cluster: "a", Weight: 1, Rewrite: &ir.Rewrite{Hostname: "own.test"}},
		ir.Backend{Cluster: "b", Weight: 1, DNSName: "b.test"}, ir.Backend{Cluster: "c", Weight: 1})
	action.Extras = &ir.Extras{AutoHost: true}
	route := decodeRoute(t, prefixRule("/", action)).GetRoute()
	var hosts []string
	for _, cluster := range route.GetWeightedClusters().GetClusters() {
		hosts = append(hosts, cluster.GetHostRewriteLiteral())
	}
	if !slices.Equal(hosts, []string{"own.test", "b.test", ""}) || route.GetAutoHostRewrite() != nil {
		t.Errorf("hosts %q, the route %v", hosts, route)
	}
}
