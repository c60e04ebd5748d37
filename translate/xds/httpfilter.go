package xds

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	chainv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/filter_chain/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/translate/ir"
)

// httpFilter is one filter in the chain of every listener. The filter is always in the chain, but disabled. So
// a policy never changes a listener: routes that need the filter enable it by their own configuration.
//
// A virtual host can also configure the filter, for all routes that do not configure it. If a virtual host and its
// route both configure the filter, Envoy uses the configuration of the route (but see the field joined).
type httpFilter struct {
	// name is the name of the filter in the chain and in the routes.
	name string
	// joined is true if Envoy itself would join the configurations of a virtual host and of its route. For example,
	// the filter header_mutation runs both configurations, and the filter cors uses the host's value of a field that
	// the route leaves empty. A joined filter is in the chain twice: first for virtual hosts, then for routes. So the
	// two configurations never meet in one filter, and a route can disable its virtual host's filter (routeFilters).
	joined bool
	// always is true if the filter runs for every request, with the configuration of the chain. Other filters run only
	// where a route or virtual host configures them.
	always bool
	// chain returns the configuration that the filter has in the listener's filter chain. With this configuration, the
	// filter does nothing, unless always is true.
	chain func() message
	// route returns the configuration for a route or virtual host with these extras. It returns nil if the filter
	// has nothing to do there. It is not used if service is set.
	route func(*ir.Extras) message
	// service is used instead of route for a filter that calls an external service. It returns the configuration
	// of that filter, or nil if the filter has nothing to do. In Envoy, the service belongs to the filter and not
	// to a route. So the listener has an empty filter chain in place of the filter. The route configures this
	// chain with the filter.
	service func(*ir.Extras) message
	// before and behind return the filters before and after the filter that service returns, in the route's chain.
	// They are called only if service returns a configuration. Each of the two functions is nil if there are no such
	// filters.
	before, behind func(*ir.Extras) []innerFilter
	// context returns the only setting of the filter that Envoy reads from the route and not from the chain. It
	// returns nil if the extras do not have the setting. The function is nil if the filter has no such setting.
	context func(*ir.Extras) message
	// resource is true if Envoy fetches the filter's configuration as a resource with the filter's name. The field
	// chain is then not used.
	resource bool
	// noUpgrades is true if the chain for WebSockets lacks the filter. The function upgradeService is used there
	// instead of the function service (see forUpgrades). If upgradeService is nil and noUpgrades is false, the chain
	// for WebSockets has the filter unchanged.
	noUpgrades     bool
	upgradeService func(*ir.Extras) message
	// field is the policy field to which the filter belongs. It is "" for a filter of no policy field.
	field ir.Field
	// since is the first ir.FilterGeneration whose chain has the filter.
	since int
}

// level says which part of a RouteConfiguration configures a filter: a route or a virtual host.
type level bool

const (
	ofRoute level = false
	ofHost  level = true
)

// nameAt returns the filter's name in the listener's filter chain. A route or virtual host uses this name to
// configure the filter; the parameter l says which of the two. A joined filter is in the chain twice: once for
// routes, and once, under another name, for virtual hosts.
func (f *httpFilter) nameAt(l level) string {
	if f.joined && l == ofHost {
		return f.name + "/host"
	}
	return f.name
}

// serviceAt returns the name of the filter that calls the external service. This filter is not in the listener's
// chain, but in a chain inside the configuration of a route or virtual host (see httpFilter.service). The parameter
// l says which of the two has the chain.
func (f *httpFilter) serviceAt(l level) string { return f.nameAt(l) + "/service" }

// config returns the filter's configuration for a route or virtual host (the level l) with these extras, which are
// the settings of policies. It returns nil if the filter has nothing to do there.
func (f *httpFilter) config(extras *ir.Extras, l level) message {
	if f.service == nil {
		return f.route(extras)
	}
	config := f.service(extras)
	if config == nil {
		return nil
	}
	var chain []innerFilter
	if f.before != nil {
		chain = f.before(extras)
	}
	chain = append(chain, innerFilter{f.serviceAt(l), config})
	if f.behind != nil {
		chain = append(chain, f.behind(extras)...)
	}
	return chainWith(chain)
}

// innerFilter is an HTTP filter that is not itself one of the listener's HTTP filters. Among the listener's HTTP
// filters is a filter that contains a chain of filters, which is empty. The configuration of a route or virtual
// host fills this chain with innerFilters (see httpFilter.service).
type innerFilter struct {
	name   string
	config message
}

// message is a protobuf message that can check itself: ValidateAll returns what Envoy would reject.
type message interface {
	proto.Message
	ValidateAll() error
}

// forUpgrades returns the copy of the filter that replaces it in the filter chain for WebSockets (see
// upgradeFilterChain). The copy has another name. Its field service is set to the function in f.upgradeService.
func (f *httpFilter) forUpgrades() httpFilter {
	filter := *f
	filter.name, filter.service = f.name+"/upgrade", f.upgradeService
	return filter
}

// chainWith returns the configuration by which a route or virtual host sets its own chain with these filters.
func chainWith(filters []innerFilter) message {
	chain := &chainv3.FilterChain{}
	for _, f := range filters {
		chain.Filters = append(chain.Filters, &corev3.TypedExtensionConfig{Name: f.name, TypedConfig: pack(f.config)})
	}
	return &chainv3.FilterChainConfigPerRoute{FilterChain: chain}
}
