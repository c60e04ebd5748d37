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

// httpFilters returns the filters of the chain in order: the filter that removes forged headers, the filters of
// policy fields, and the filter for redirects.
func httpFilters() []httpFilter {
	rows := policyFields()
	filters := []httpFilter{forgedFilter()}
	for _, f := range rows {
		for _, filter := range f.filters {
			filter.field = f.name
			filters = append(filters, filter)
		}
	}
	return append(filters, locationFilter())
}

// httpFilterChain returns the HTTP filter chain of a listener. All listeners with HTTP have the same chain.
func httpFilterChain() []*hcmv3.HttpFilter { return chainOf(httpFilters()) }

// upgradeFilterChain returns the filter chain for WebSockets. It has the filters of the normal chain in the same
// order, except those that cannot work for WebSockets: they are left out (noUpgrades) or replaced (upgradeService).
// So a policy that rejects a request also rejects the upgrade of the request to a WebSocket. The only exception is
// the policy field buffer.
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

// configurable returns the filters that routes and virtual hosts configure: those of the normal filter chain,
// and those that only the chain for WebSockets has. The filters are shared: do not change them.
var configurable = sync.OnceValue(func() []httpFilter {
	filters := httpFilters()
	for _, filter := range filters {
		if filter.upgradeService != nil {
			filters = append(filters, filter.forUpgrades())
		}
	}
	return filters
})

// chainOf returns a filter chain with these filters, each disabled unless httpFilter.always is true, and the router at the end. A filter for which
// httpFilter.joined is true is in the chain twice: for virtual hosts and for routes.
func chainOf(filters []httpFilter) []*hcmv3.HttpFilter {
	var chain []*hcmv3.HttpFilter
	for _, filter := range filters {
		if filter.joined {
			chain = append(chain, filter.placeholder(ofHost))
		}
		chain = append(chain, filter.placeholder(ofRoute))
	}
	return append(chain, &hcmv3.HttpFilter{
		Name:       "envoy.filters.http.router",
		ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: pack(&routerv3.Router{})},
	})
}

// placeholder returns the filter as an entry of the listener's filter chain, disabled unless f.always is true. The
// parameter l says which level enables and configures the filter: routes or virtual hosts.
func (f *httpFilter) placeholder(l level) *hcmv3.HttpFilter {
	if f.resource {
		return &hcmv3.HttpFilter{Name: f.name, Disabled: true, ConfigType: jwtDiscovery()}
	}
	return &hcmv3.HttpFilter{
		Name: f.nameAt(l), Disabled: !f.always,
		ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: pack(f.chain())},
	}
}

// routeFilters returns the filter configurations of a route, by filter name. The route enables the filters that
// its extras (settings of policies) need. If a field is in extras.Replaced, the route replaces the virtual host's
// setting: the virtual host's filter for the field is disabled, unless the route configures this filter itself.
func routeFilters(extras *ir.Extras) map[string]*anypb.Any {
	configs := filters(extras, ofRoute)
	if extras == nil {
		return configs
	}
	for _, filter := range configurable() {
		name := filter.nameAt(ofHost)
		if _, own := configs[name]; !own && slices.Contains(extras.Replaced, filter.field) {
			configs[name] = pack(&routev3.FilterConfig{Disabled: true})
		}
	}
	if cors := corsFilter(); extras.Preflight && extras.CORS == nil {
		configs[cors.nameAt(ofHost)] = pack(hostPreflight())
	}
	return configs
}

// filters returns the configurations of the HTTP filters that the settings in extras need, by filter name. The
// parameter l says whether a route or a virtual host has these settings. filters returns nil if extras is nil.
func filters(extras *ir.Extras, l level) map[string]*anypb.Any {
	if extras == nil {
		return nil
	}
	configs := map[string]*anypb.Any{}
	for _, filter := range configurable() {
		if config := filter.config(extras, l); config != nil {
			configs[filter.nameAt(l)] = pack(config)
		}
		if filter.context == nil {
			continue
		}
		if context := filter.context(extras); context != nil {
			configs[filter.serviceAt(l)] = pack(context)
		}
	}
	return configs
}
