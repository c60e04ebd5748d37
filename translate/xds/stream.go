package xds

import (
	"cmp"

	cncfcorev3 "github.com/cncf/xds/go/xds/core/v3"
	matcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tcpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	udpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/udp/udp_proxy/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatefold/gatefold/translate/ir"
)

// connectAttempts limits the attempts of Envoy to connect to an endpoint of a cluster for one client connection.
// Trying again is safe, because nothing is sent before a connection exists.
const connectAttempts = 3

// streamChains returns the filter chains of an ir.Stream. Each hostname has its own chains, so that an edit of one
// hostname does not affect connections of others. One chain is for the clients that Access admits. Another chain
// closes the connections of the clients that Access denies. A chain for no clients is left out. If there are denied
// clients, the client's address is a condition of each chain. A filter would be too late: Envoy's network rbac filter
// waits for the client's first byte, and the backend's first bytes could pass before
// (docs/design/policies.md#connections-are-judged-before-they-have-a-filter-chain).
func streamChains(port *ir.Port, stream *ir.Stream) (out []*listenerv3.FilterChain) {
	if stream.Domains == nil {
		return chainsFor(port, stream, "")
	}
	for _, domain := range stream.Domains {
		out = append(out, chainsFor(port, stream, domain)...)
	}
	return out
}

// chainsFor returns the filter chains of an ir.Stream for one hostname (the parameter domain). There is a chain for
// the clients that stream.Access admits, if it admits any, and a chain for the clients that it denies, if it denies
// any. If domain is "", the chains are for every connection.
func chainsFor(port *ir.Port, stream *ir.Stream, domain string) []*listenerv3.FilterChain {
	allowed, denied, limited := admitted(stream.Access)
	if !limited {
		return []*listenerv3.FilterChain{streamChain(port, stream, domain)}
	}
	var out []*listenerv3.FilterChain
	if len(allowed) > 0 {
		out = append(out, fromRanges(streamChain(port, stream, domain), allowed))
	}
	refused := *stream
	refused.TLS = nil // Envoy closes the connection without a TLS handshake
	chain := streamChain(port, &refused, domain)
	chain.Name += "/denied"
	chain.Filters[0].ConfigType = &listenerv3.Filter_TypedConfig{TypedConfig: pack(refusal(port, stream))}
	return append(out, fromRanges(chain, denied))
}

// fromRanges limits a chain to clients whose address is in one of the ranges, and returns the chain.
func fromRanges(chain *listenerv3.FilterChain, ranges []string) *listenerv3.FilterChain {
	if chain.FilterChainMatch == nil {
		chain.FilterChainMatch = &listenerv3.FilterChainMatch{}
	}
	for _, r := range cidrRanges(ranges) {
		chain.FilterChainMatch.SourcePrefixRanges = append(chain.FilterChainMatch.SourcePrefixRanges, &corev3.CidrRange{
			AddressPrefix: r.AddressPrefix, PrefixLen: r.PrefixLen,
		})
	}
	return chain
}

// admitted returns the address ranges of the clients that the parameter access allows, and of those that it denies.
// If an address is in several ranges, the range with the longest prefix decides. The result limited is false if all
// clients are allowed. If it is true, every address is in at least one of the ranges.
func admitted(access *ir.Access) (allowed, denied []string, limited bool) {
	everybody := []string{"0.0.0.0/0", "::/0"}
	if access == nil {
		return nil, nil, false
	}
	if access.ACL == nil {
		return nil, everybody, true
	}
	add := func(r string, allow bool) {
		if allow {
			allowed = append(allowed, r)
		} else {
			denied = append(denied, r)
		}
	}
	known := map[string]bool{}
	for _, rule := range access.ACL.Rules {
		for _, r := range rule.Ranges {
			known[r] = true
			add(r, rule.Allow)
		}
	}
	for _, r := range everybody {
		if !known[r] {
			add(r, access.ACL.Allow)
		}
	}
	return allowed, denied, len(denied) > 0
}

// refusal returns a filter that closes connections, because its cluster does not exist.
func refusal(port *ir.Port, stream *ir.Stream) *tcpv3.TcpProxy {
	return &tcpv3.TcpProxy{
		StatPrefix:       port.Name,
		AccessLog:        streamLogs(port.AccessLog, stream),
		ClusterSpecifier: &tcpv3.TcpProxy_Cluster{Cluster: DeniedCluster},
	}
}

// streamChain returns the filter chain of an ir.Stream for one hostname (the parameter domain), regardless of
// stream.Access. If domain is "", the chain is for every connection. Each chain of a listener has its own name. Envoy
// compares chains, so a change of one chain does not affect the connections of the others.
func streamChain(port *ir.Port, stream *ir.Stream, domain string) *listenerv3.FilterChain {
	out := &listenerv3.FilterChain{
		Name: port.Name + "/" + stream.Name(),
		Filters: []*listenerv3.Filter{{
			Name:       "envoy.filters.network.tcp_proxy",
			ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: pack(tcpProxy(port, stream))},
		}},
	}
	if domain == "" {
		return out
	}
	out.Name += "/" + domain
	out.FilterChainMatch = &listenerv3.FilterChainMatch{TransportProtocol: "tls"}
	if domain != "*" { // without server names, it is for all other names
		out.FilterChainMatch.ServerNames = []string{domain}
	}
	if stream.TLS != nil {
		out.TransportSocket = downstreamSocket(stream.TLS)
	}
	return out
}

// tcpProxy returns the filter that distributes connections to the backends by weight. A backend that is not resolved
// keeps its share: these connections go to a cluster that does not exist, so Envoy closes them. If no backend can get
// connections, all connections go there.
func tcpProxy(port *ir.Port, stream *ir.Stream) *tcpv3.TcpProxy {
	out := &tcpv3.TcpProxy{
		StatPrefix:         port.Name,
		MaxConnectAttempts: wrapperspb.UInt32(connectAttempts),
		AccessLog:          streamLogs(port.AccessLog, stream),
		ClusterSpecifier:   &tcpv3.TcpProxy_Cluster{Cluster: NoCluster},
	}
	if !stream.Route.Live() {
		return out
	}
	weighted := &tcpv3.TcpProxy_WeightedCluster{}
	for _, b := range stream.Route.Backends {
		if b.Weight > 0 {
			weighted.Clusters = append(weighted.Clusters, &tcpv3.TcpProxy_WeightedCluster_ClusterWeight{
				Name: cmp.Or(b.Cluster, NoCluster), Weight: b.Weight,
			})
		}
	}
	out.ClusterSpecifier = &tcpv3.TcpProxy_WeightedClusters{WeightedClusters: weighted}
	if len(weighted.Clusters) == 1 {
		out.ClusterSpecifier = &tcpv3.TcpProxy_Cluster{Cluster: weighted.Clusters[0].Name}
	}
	return out
}

// udpProxy returns the filter that forwards datagrams to the cluster of the route's backends. If the route has no
// backend with a cluster and a weight above 0, or the client is denied, the datagrams go to a cluster that does
// not exist. Envoy then drops them.
func udpProxy(port *ir.Port, stream *ir.Stream) *udpv3.UdpProxyConfig {
	cluster := NoCluster
	if stream.Route.Live() {
		cluster = stream.Route.Cluster
	}
	to := func(cluster string) *matcherv3.Matcher_OnMatch {
		return &matcherv3.Matcher_OnMatch{OnMatch: &matcherv3.Matcher_OnMatch_Action{
			Action: &cncfcorev3.TypedExtensionConfig{Name: "route", TypedConfig: pack(&udpv3.Route{Cluster: cluster})},
		}}
	}
	matcher := &matcherv3.Matcher{OnNoMatch: to(cluster)}
	if allowed, denied, limited := admitted(stream.Access); limited {
		matcher = bySource(to(DeniedCluster), addressRanges{allowed, to(cluster)}, addressRanges{denied, to(DeniedCluster)})
	}
	return &udpv3.UdpProxyConfig{
		StatPrefix:     port.Name,
		RouteSpecifier: &udpv3.UdpProxyConfig_Matcher{Matcher: matcher},
		AccessLog:      streamLogs(port.AccessLog, stream),
	}
}
