package xds

import (
	"slices"
	"sync"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatefold/gatefold/translate/ir"
)

// httpFilters returns the chain in its order: those of the fields of policies, and then
// those for the routes' own settings.
func httpFilters() []httpFilter {
	rows := policyFields()
	filters := make([]httpFilter, 0, len(rows)+2) // and locationFilter, and one for upgrades
	for _, f := range rows {
		if f.filter.name != "" {
			f.filter.field = f.name
			filters = append(filters, f.filter)
		}
	}
	return append(filters, locationFilter())
}

// httpFilterChain returns the chain of a listener: the same for all.
func httpFilterChain() []*hcmv3.HttpFilter { return chainOf(httpFilters()) }

// upgradeFilterChain returns the chain for WebSockets. All filters that are for them, too,
// keep their places, so that a policy which rejects a request rejects its upgrade, too.
func upgradeFilterChain() []*hcmv3.HttpFilter {
	var filters []httpFilter
	for _, filter := range httpFilters() {
		switch {
		case filter.noUpgrades:
		case filter.upgradeService != nil:
			filters = append(filters, filter.forUpgrades())
		default:
			filters = append(filters, filter)
		}
	}
	return chainOf(filters)
}

// configurable returns the filters of both chains, which routes and hosts configure. They are
// shared: do not change them.
var configurable = sync.OnceValue(func() []httpFilter {
	filters := httpFilters()
	for _, filter := range filters {
		if filter.upgradeService != nil {
			filters = append(filters, filter.forUpgrades())
		}
	}
	return filters
})

func chainOf(filters []httpFilter) []*hcmv3.HttpFilter {
	var chain []*hcmv3.HttpFilter
	for _, filter := range filters {
		for _, name := range places(filter) {
			chain = append(chain, &hcmv3.HttpFilter{
				Name: name, Disabled: true,
				ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: pack(filter.chain())},
			})
		}
	}
	return append(chain, &hcmv3.HttpFilter{
		Name:       "envoy.filters.http.router",
		ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: pack(&routerv3.Router{})},
	})
}

// places returns the names of a filter in the chain: one for virtual hosts, if a policy has
// it, and one for routes.
func places(filter httpFilter) []string {
	if filter.field == "" {
		return []string{routeName(filter)}
	}
	return []string{hostName(filter), routeName(filter)}
}

// routeFilters turns on the filters that a route's extras need, and off those of
// its virtual host that it replaces.
func routeFilters(extras *ir.Extras) map[string]*anypb.Any {
	configs := filters(extras, routeName)
	if extras == nil || len(extras.Replaced) == 0 {
		return configs
	}
	for _, filter := range configurable() {
		if slices.Contains(extras.Replaced, filter.field) {
			configs[hostName(filter)] = pack(&routev3.FilterConfig{Disabled: true})
		}
	}
	return configs
}

// filters returns the configurations of the filters that extras need, by the names of their
// places.
func filters(extras *ir.Extras, place func(httpFilter) string) map[string]*anypb.Any {
	if extras == nil {
		return nil
	}
	configs := map[string]*anypb.Any{}
	for _, filter := range configurable() {
		name := place(filter)
		if config := filter.config(extras, name); config != nil {
			configs[name] = pack(config)
		}
		if filter.context == nil {
			continue
		}
		if context := filter.context(extras); context != nil {
			configs[serviceFilter(name)] = pack(context)
		}
	}
	return configs
}
