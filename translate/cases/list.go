package cases

import (
	"fmt"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// Compiled reports whether a resource is a RouteConfiguration with a virtual host that is compiled to a tree.
// It is false if the resource cannot be decoded.
func Compiled(table *xds.Resource) bool {
	if table.Type != xds.RouteType {
		return false
	}
	config, err := decode(table)
	if err != nil {
		return false
	}
	for _, host := range config.VirtualHosts {
		if host.Matcher != nil {
			return true
		}
	}
	return false
}

// Listed returns a second encoding of a RouteConfiguration (table), in which no virtual host is compiled to a tree.
// Instead, each virtual host has one list of its routes, in the order of the View. With the table and with its
// second encoding, Envoy must give the same answers. Listed returns an error if a resource cannot be decoded.
func Listed(table *xds.Resource, view *ir.View) ([]byte, error) {
	config, err := decode(table)
	if err != nil {
		return nil, err
	}
	sent := map[xds.Part][]byte{}
	for _, piece := range xds.Pieces(table.Body) {
		sent[piece.Part] = piece.Body
	}
	shown := hostsOf(table.Name, view)
	for _, host := range config.VirtualHosts {
		if host.Matcher == nil {
			continue
		}
		host.Matcher = nil
		for rule := range shown[host.Name].Rules {
			body, ok := sent[xds.Part{Host: host.Name, Route: rule.Name}]
			if !ok { // the rule is in no leaf, because no request reaches it
				body, _ = xds.Route(rule)
			}
			route := &routev3.Route{}
			if err := proto.Unmarshal(body, route); err != nil {
				return nil, fmt.Errorf("route %s: %w", rule.Name, err)
			}
			host.Routes = append(host.Routes, route)
		}
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(config)
}

// decode returns the RouteConfiguration of a resource. It returns an error if the resource cannot be decoded.
func decode(table *xds.Resource) (*routev3.RouteConfiguration, error) {
	config := &routev3.RouteConfiguration{}
	if err := proto.Unmarshal(table.Body, config); err != nil {
		return nil, fmt.Errorf("RouteConfiguration %s: %w", table.Name, err)
	}
	return config, nil
}

// hostsOf returns the virtual hosts of a RouteConfiguration by domain. The parameter table is the name of the
// RouteConfiguration.
func hostsOf(table string, view *ir.View) map[string]ir.HostView {
	hosts := map[string]ir.HostView{}
	for _, gateway := range view.Gateways {
		for _, port := range gateway.Ports {
			for _, chain := range port.Port.Chains {
				for _, host := range port.Hosts {
					if chain.RouteConfig == table && host.Chain == chain.Name {
						hosts[host.Domain] = host
					}
				}
			}
		}
	}
	return hosts
}
