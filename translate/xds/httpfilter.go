package xds

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	chainv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/filter_chain/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/translate/ir"
)

// httpFilter is one filter of every listener's chain. The chain always contains it, disabled, so
// that a policy never changes a listener: the routes that need the filter enable it by their own
// configuration.
//
// A virtual host can also configure it, for every route without its own configuration. Envoy uses
// the route's configuration if both exist.
type httpFilter struct {
	// name is that in the chain and in the routes.
	name string
	// joined is set where Envoy joins the configurations of a virtual host and of its route:
	// header_mutation and filter_chain run both, and cors takes from the host whatever the route
	// leaves empty. Such a filter is in the chain twice, first for virtual hosts.
	joined bool
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
	// before and behind return the filters that the route's chain has around the one that asks;
	// they are called where service returns one. nil for none.
	before, behind func(*ir.Extras) []innerFilter
	// context returns the one setting of the filter that asks which Envoy takes from the
	// route itself; nil for none.
	context func(*ir.Extras) message
	// resource has the filter's configuration come as a resource of the filter's name, in place of
	// chain.
	resource bool
	// noUpgrades leaves the filter out for WebSockets. upgradeService is service for them,
	// of a filter that has a name of its own.
	noUpgrades     bool
	upgradeService func(*ir.Extras) message
	// field is that of the row in policyFields; "" for a filter of the routes' own settings.
	field ir.Field
	// since is the ir.FilterGeneration that the filter is in the chain since.
	since int
}

// level is the object that configures a filter: a route or a virtual host.
type level bool

const (
	ofRoute level = false
	ofHost  level = true
)

// nameAt returns the name in the chain of the filter that a level configures.
func (f *httpFilter) nameAt(l level) string {
	if f.joined && l == ofHost {
		return f.name + "/host"
	}
	return f.name
}

// serviceAt returns the name in the chain of a filter that calls a service. Both levels share it.
func (f *httpFilter) serviceAt(l level) string { return f.nameAt(l) + "/service" }

// config returns the configuration for a route or host with these extras, nil if the filter does
// nothing there.
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

// innerFilter is a filter of a chain that a route configures.
type innerFilter struct {
	name   string
	config message
}

// message is a protobuf message with a method that returns what Envoy would reject.
type message interface {
	proto.Message
	ValidateAll() error
}

// forUpgrades returns the filter with upgradeService.
func (f *httpFilter) forUpgrades() httpFilter {
	filter := *f
	filter.name, filter.service = f.name+"/upgrade", f.upgradeService
	return filter
}

// chainWith returns a chain of filters.
func chainWith(filters []innerFilter) message {
	chain := &chainv3.FilterChain{}
	for _, f := range filters {
		chain.Filters = append(chain.Filters, &corev3.TypedExtensionConfig{Name: f.name, TypedConfig: pack(f.config)})
	}
	return &chainv3.FilterChainConfigPerRoute{FilterChain: chain}
}
