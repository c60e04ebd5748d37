package envoytest

import (
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/anypb"
)

// EachRoute calls change for every route of a RouteConfiguration, and stores the changes in it. It visits the
// routes of all virtual hosts. If a virtual host is compiled to a tree, it visits the routes of each leaf. It
// may visit the same route several times.
func EachRoute(t testing.TB, table *routev3.RouteConfiguration, change func(host *routev3.VirtualHost, route *routev3.Route)) {
	t.Helper()
	for _, host := range table.VirtualHosts {
		for _, route := range host.Routes {
			change(host, route)
		}
		for _, leaf := range host.GetMatcher().GetMatcherTree().GetPrefixMatchMap().GetMap() {
			config, list := leaf.GetAction(), &routev3.RouteList{}
			if err := config.TypedConfig.UnmarshalTo(list); err != nil {
				t.Fatal(err)
			}
			for _, route := range list.Routes {
				change(host, route)
			}
			packed, err := anypb.New(list)
			if err != nil {
				t.Fatal(err)
			}
			config.TypedConfig = packed
		}
	}
}
