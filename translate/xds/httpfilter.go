package xds

import (
	"slices"

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

// HTTPFilter is one filter of every listener's chain. It is there from the start
// and turned off, so that a policy never touches a listener: the routes that want
// it turn it on by their own configuration.
//
// It is there twice, the second time for virtual hosts, whose policies hold for
// every route without one of its own. Under one name Envoy would join what host
// and route say: header_mutation runs both, and cors takes from the host whatever
// the route leaves empty. So a route that sets the field turns the host's off.
type HTTPFilter interface {
	// Name is that in the chain and in the routes.
	Name() string
	// Field is the field of TrafficPolicies that the filter is for, "" for a
	// filter of the routes' own.
	Field() ir.Field
	// Chain is the configuration in the listener, which does nothing.
	Chain() message
	// Route is the configuration for a route or host with these extras; nil when
	// the filter has nothing to do there.
	Route(*ir.Extras) message
}

// onHost names the filter's second place in the chain.
func onHost(filter HTTPFilter) string { return filter.Name() + "/host" }

// HeldByHost reports whether a virtual host can hold a field of its policies for
// all of its routes. The other fields are those of a route's action.
func HeldByHost(field ir.Field) bool {
	return slices.ContainsFunc(httpFilters(), func(filter HTTPFilter) bool { return filter.Field() == field })
}

// message is a message that can tell what Envoy would refuse of it.
type message interface {
	proto.Message
	ValidateAll() error
}

// httpFilters is the chain in its order: requests pass it from the first to the
// last, answers the other way. CORS and CSRF read headers alone. The buffer comes before
// everything that waits for a service: Envoy does not measure bytes that arrive during the
// wait in a filter behind it. Requests that are refused are not counted by the rate limits
// behind, and headers are changed when all others have seen them.
func httpFilters() []HTTPFilter {
	return []HTTPFilter{
		corsFilter{},
		csrfFilter{},
		bufferFilter{},
		extAuthFilter(),
		rateLimitFilter{},
		globalLimitFilter(),
		extProcFilter(),
		transformationFilter{},
		headersFilter{},
		locationFilter{},
	}
}

// httpFilterChain gives the chain of a listener: the same for all.
func httpFilterChain() []*hcmv3.HttpFilter { return chainOf(httpFilters()) }

// upgradeFilterChain returns the chain for WebSockets. It is that of a listener without the
// buffer filter, which would wait for the end of a request that has none, and with a
// processor that waits for no body. All others keep their places, so that a policy which
// refuses a request refuses its upgrade, too.
func upgradeFilterChain() []*hcmv3.HttpFilter {
	var filters []HTTPFilter
	for _, filter := range httpFilters() {
		switch filter.Field() {
		case ir.FieldBuffer:
		case ir.FieldExtProc:
			filters = append(filters, extProcUpgradeFilter())
		default:
			filters = append(filters, filter)
		}
	}
	return chainOf(filters)
}

// configurable returns the filters of both chains, which routes and hosts configure.
func configurable() []HTTPFilter { return append(httpFilters(), extProcUpgradeFilter()) }

func chainOf(filters []HTTPFilter) []*hcmv3.HttpFilter {
	var chain []*hcmv3.HttpFilter
	for _, filter := range filters {
		for _, name := range places(filter) {
			chain = append(chain, &hcmv3.HttpFilter{
				Name: name, Disabled: true,
				ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: pack(filter.Chain())},
			})
		}
	}
	return append(chain, &hcmv3.HttpFilter{
		Name:       "envoy.filters.http.router",
		ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: pack(&routerv3.Router{})},
	})
}

// places names a filter in the chain: once for virtual hosts, if a policy has it, and
// once for routes.
func places(filter HTTPFilter) []string {
	if filter.Field() == "" {
		return []string{filter.Name()}
	}
	return []string{onHost(filter), filter.Name()}
}

// routeFilters turns on the filters that a route's extras need, and off those of
// its virtual host that it replaces.
func routeFilters(extras *ir.Extras) map[string]*anypb.Any {
	configs := filters(extras, HTTPFilter.Name)
	if extras == nil || len(extras.Replaced) == 0 {
		return configs
	}
	for _, filter := range configurable() {
		if slices.Contains(extras.Replaced, filter.Field()) {
			configs[onHost(filter)] = pack(&routev3.FilterConfig{Disabled: true})
		}
	}
	return configs
}

// filters gives the configurations of the filters that extras need, by name.
func filters(extras *ir.Extras, name func(HTTPFilter) string) map[string]*anypb.Any {
	if extras == nil {
		return nil
	}
	configs := map[string]*anypb.Any{}
	for _, filter := range configurable() {
		if config := filter.Route(extras); config != nil {
			nameService(config, name(filter))
			configs[name(filter)] = pack(config)
		}
	}
	if context := authContext(extras); context != nil {
		configs[serviceFilter(name(extAuthFilter()))] = pack(context)
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
