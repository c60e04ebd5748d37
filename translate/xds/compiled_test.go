package xds

import (
	"testing"

	cncfcorev3 "github.com/cncf/xds/go/xds/core/v3"
	cncfmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/translate/ir"
)

// What is joined by hand is the message that the library makes of the same lists.
func TestCompiledHostEqualsTheWholeMessage(t *testing.T) {
	extras := &ir.Extras{CSRF: &ir.CSRF{}}
	lists := map[string][]string{"/": {"/b", "/"}, "/a": {"/a/x", "/a", "/"}, "/long": {}}
	entries := map[string]*cncfmatcherv3.Matcher_OnMatch{}
	var leaves []*Leaf
	for _, key := range []string{"/", "/a", "/long"} {
		list, encoded := &routev3.RouteList{}, [][]byte(nil)
		for _, path := range lists[key] {
			rule := prefixRule(path, forwardTo(ir.Backend{Cluster: "c", Weight: 1}))
			body, _ := Route(rule)
			list.Routes, encoded = append(list.Routes, decodeRoute(t, rule)), append(encoded, body)
		}
		leaves = append(leaves, NewLeaf(key, encoded))
		entries[key] = &cncfmatcherv3.Matcher_OnMatch{OnMatch: &cncfmatcherv3.Matcher_OnMatch_Action{
			Action: &cncfcorev3.TypedExtensionConfig{Name: "routes", TypedConfig: pack(list)},
		}}
	}
	whole := &routev3.VirtualHost{
		Name: "a.test", Domains: []string{"a.test"}, TypedPerFilterConfig: filters(extras, ofHost),
		Matcher: &cncfmatcherv3.Matcher{MatcherType: &cncfmatcherv3.Matcher_MatcherTree_{MatcherTree: &cncfmatcherv3.Matcher_MatcherTree{
			Input: &cncfcorev3.TypedExtensionConfig{Name: "path", TypedConfig: pack(&matcherv3.HttpRequestHeaderMatchInput{HeaderName: ":path"})},
			TreeType: &cncfmatcherv3.Matcher_MatcherTree_PrefixMatchMap{
				PrefixMatchMap: &cncfmatcherv3.Matcher_MatcherTree_MatchMap{Map: entries},
			},
		}}},
	}
	host := CompiledHost("a.test", extras, leaves)
	got := &routev3.VirtualHost{}
	decode(t, host.Bytes(), got)
	if !proto.Equal(got, whole) {
		t.Errorf("got %v, want %v", got, whole)
	}
	if host.Len() != len(host.Bytes()) {
		t.Errorf("%d bytes of %d", host.Len(), len(host.Bytes()))
	}
}

// The version of a table is made of the sums of its parts: it changes with any of them,
// and with nothing else.
func TestVersionOfACompiledTable(t *testing.T) {
	leaf := func(key, path string) *Leaf {
		body, _ := Route(prefixRule(path, forwardTo(ir.Backend{Cluster: "c", Weight: 1})))
		return NewLeaf(key, [][]byte{body})
	}
	table := func(extras *ir.Extras, leaves ...*Leaf) string {
		return RouteConfiguration("r", []Host{CompiledHost("a.test", extras, leaves)}).Version
	}
	same := table(nil, leaf("/a", "/a"), leaf("/b", "/b"))
	if again := table(nil, leaf("/a", "/a"), leaf("/b", "/b")); again != same {
		t.Errorf("the same table is %s and %s", same, again)
	}
	seen := map[string]bool{same: true}
	for _, other := range []string{
		table(nil, leaf("/a", "/a"), leaf("/b", "/c")), table(nil, leaf("/a", "/a"), leaf("/c", "/b")), table(nil, leaf("/b", "/b"), leaf("/a", "/a")),
		table(nil, leaf("/a", "/a")), table(nil), table(&ir.Extras{CSRF: &ir.CSRF{}}, leaf("/a", "/a"), leaf("/b", "/b")),
		RouteConfiguration("r", []Host{VirtualHost("a.test", nil, nil)}).Version, RouteConfiguration("q", nil).Version, RouteConfiguration("r", nil).Version,
	} {
		if seen[other] {
			t.Errorf("two tables have the version %s", other)
		}
		seen[other] = true
	}
}
