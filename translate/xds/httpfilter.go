package xds

import (
	"slices"
	"sync"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatefold/gatefold/translate/ir"
)

// httpFilter is one filter of every listener's chain. It is there from the start
// and turned off, so that a policy never touches a listener: the routes that need
// it turn it on by their own configuration.
//
// It is there twice, the second time for virtual hosts, whose policies hold for
// every route without one of its own. Under one name Envoy would join what host
// and route say: header_mutation runs both, and cors takes from the host whatever
// the route leaves empty. So a route that sets the field turns the host's off.
type httpFilter struct {
	// name is that in the chain and in the routes.
	name string
	// chain returns the configuration in the listener, which does nothing.
	chain func() message
	// route returns the configuration for a route or host with these extras; nil when
	// the filter has nothing to do there.
	route func(*ir.Extras) message
	// service is for a filter that asks a service, in place of route: it returns the
	// configuration of the filter that asks, nil for none. The settings of such a filter,
	// the service among them, belong to the filter and not to a route in Envoy. So the
	// listener has an empty chain of filters in its place, and the route brings the chain,
	// of that one filter.
	service func(*ir.Extras) message
	// context returns the one setting of the filter that asks which Envoy takes from the
	// route itself; nil for none.
	context func(*ir.Extras) message
	// noUpgrades leaves the filter out for WebSockets. upgradeService is service for them,
	// of a filter that has a name of its own.
	noUpgrades     bool
	upgradeService func(*ir.Extras) message
	// field is that of the row in fields; "" for a filter of the routes' own settings.
	field ir.Field
}

// routeName and hostName return the names of the filter's two places in the chain.
func routeName(filter httpFilter) string { return filter.name }

func hostName(filter httpFilter) string { return filter.name + "/host" }

// config returns the configuration for a route or host with these extras; nil when the
// filter has nothing to do there. Filters that ask have names of their own in each place:
// Envoy joins what route and virtual host set for one name, and neither may tell its
// context to the other's service.
func (f *httpFilter) config(extras *ir.Extras, name string) message {
	if f.service == nil {
		return f.route(extras)
	}
	if config := f.service(extras); config != nil {
		return chainWith(serviceFilter(name), config)
	}
	return nil
}

// message is a message that reports what Envoy would reject of it.
type message interface {
	proto.Message
	ValidateAll() error
}

// httpFilters returns the chain in its order: those of the fields of policies, and then
// those for the routes' own settings.
func httpFilters() []httpFilter {
	rows := fields()
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

// forUpgrades returns the filter with upgradeService.
func (f *httpFilter) forUpgrades() httpFilter {
	filter := *f
	filter.name, filter.service = f.name+"/upgrade", f.upgradeService
	return filter
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

// percentage is a share that no runtime key changes.
func percentage(percent uint32) *corev3.RuntimeFractionalPercent {
	return &corev3.RuntimeFractionalPercent{
		DefaultValue: &typev3.FractionalPercent{Numerator: percent, Denominator: typev3.FractionalPercent_HUNDRED},
	}
}

func stringMatchers(list []ir.StringMatch) []*matcherv3.StringMatcher {
	var matchers []*matcherv3.StringMatcher
	for _, match := range list {
		matchers = append(matchers, stringMatcher(match))
	}
	return matchers
}

func stringMatcher(match ir.StringMatch) *matcherv3.StringMatcher {
	m := &matcherv3.StringMatcher{IgnoreCase: match.IgnoreCase}
	switch match.Kind {
	case ir.StringExact:
		m.MatchPattern = &matcherv3.StringMatcher_Exact{Exact: match.Value}
	case ir.StringPrefix:
		m.MatchPattern = &matcherv3.StringMatcher_Prefix{Prefix: match.Value}
	case ir.StringSuffix:
		m.MatchPattern = &matcherv3.StringMatcher_Suffix{Suffix: match.Value}
	case ir.StringContains:
		m.MatchPattern = &matcherv3.StringMatcher_Contains{Contains: match.Value}
	case ir.StringRegex:
		m.MatchPattern = &matcherv3.StringMatcher_SafeRegex{SafeRegex: regex(match.Value)}
		m.IgnoreCase = false
	}
	return m
}
