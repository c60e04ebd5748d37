package xds

import (
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
type HTTPFilter interface {
	// Name is that in the chain and in the routes.
	Name() string
	// Chain is the configuration in the listener, which does nothing.
	Chain() message
	// Route is the configuration for a route with these extras; nil when the
	// filter has nothing to do there.
	Route(*ir.Extras) message
}

// message is a message that can tell what Envoy would refuse of it.
type message interface {
	proto.Message
	ValidateAll() error
}

// httpFilters is the chain in its order: requests pass it from the first to the
// last, answers the other way. Who may not come in is told before what is counted,
// and headers are changed when all others have seen them.
func httpFilters() []HTTPFilter {
	return []HTTPFilter{
		corsFilter{},
		csrfFilter{},
		rateLimitFilter{},
		bufferFilter{},
		transformationFilter{},
	}
}

// filterChain gives the chain of a listener: the same for all.
func filterChain() []*hcmv3.HttpFilter {
	var chain []*hcmv3.HttpFilter
	for _, filter := range httpFilters() {
		chain = append(chain, &hcmv3.HttpFilter{
			Name: filter.Name(), Disabled: true,
			ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: pack(filter.Chain())},
		})
	}
	return append(chain, &hcmv3.HttpFilter{
		Name:       "envoy.filters.http.router",
		ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: pack(&routerv3.Router{})},
	})
}

// setFilters turns on the filters that the extras need.
func setFilters(route *routev3.Route, extras *ir.Extras) {
	if extras == nil {
		return
	}
	configs := map[string]*anypb.Any{}
	for _, filter := range httpFilters() {
		if config := filter.Route(extras); config != nil {
			configs[filter.Name()] = pack(config)
		}
	}
	if len(configs) > 0 {
		route.TypedPerFilterConfig = configs
	}
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
