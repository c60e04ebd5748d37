package bench

import (
	"slices"
	"testing"

	matchersv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"
)

// TestFloorTable: the floor's bytes, put together by hand, are a whole table, in which an
// edit changes its own route and no other.
func TestFloorTable(t *testing.T) {
	s := shape{Routes: 500, Hosts: 3} // trees of 167 routes
	small := shape{Routes: 30, Hosts: 3}
	for _, s := range []shape{s, small} {
		table := newFloorTable(s)
		before := decodeFloor(t, table.join())
		if len(before) != s.Routes {
			t.Fatalf("%v: %d routes", s, len(before))
		}
		const edited = 7
		route := &gwv1.HTTPRoute{}
		if err := yaml.Unmarshal(s.route(edited, 12345678), route); err != nil {
			t.Fatal(err)
		}
		table.set(route)
		for name, revision := range decodeFloor(t, table.join()) {
			want := "00000000"
			if name == s.envoyName(edited) {
				want = "12345678"
			}
			if revision != want {
				t.Errorf("%v: %s has %s, want %s", s, name, revision, want)
			}
		}
	}
}

// decodeFloor gives the revision of each route by its name.
func decodeFloor(t *testing.T, body []byte) map[string]string {
	t.Helper()
	table := &routev3.RouteConfiguration{}
	if err := proto.Unmarshal(body, table); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, host := range table.VirtualHosts {
		routes := slices.Clone(host.Routes)
		for _, leaf := range host.GetMatcher().GetMatcherTree().GetPrefixMatchMap().GetMap() {
			routes = append(routes, leafRoutes(t, leaf)...)
		}
		for _, route := range routes {
			out[route.Name] = route.RequestHeadersToAdd[0].Header.Value
		}
	}
	return out
}

func leafRoutes(t *testing.T, leaf *matchersv3.Matcher_OnMatch) []*routev3.Route {
	t.Helper()
	list := &routev3.RouteList{}
	if err := leaf.GetAction().TypedConfig.UnmarshalTo(list); err != nil {
		t.Fatal(err)
	}
	return list.Routes
}
