package xds

import (
	"cmp"

	cncfcorev3 "github.com/cncf/xds/go/xds/core/v3"
	matcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tcpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	udpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/udp/udp_proxy/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatefold/gatefold/translate/ir"
)

// connectAttempts are how many endpoints of a cluster a connection is tried with:
// nothing was sent before it stands.
const connectAttempts = 3

// streamChain makes the filter chain of a stream. Each has a name of its own, so that
// Envoy, which compares chains, leaves the connections of all others alone.
func streamChain(port *ir.Port, stream *ir.Stream) *listenerv3.FilterChain {
	out := &listenerv3.FilterChain{
		Name: port.Name + "/" + stream.Name(),
		Filters: []*listenerv3.Filter{{
			Name:       "envoy.filters.network.tcp_proxy",
			ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: pack(tcpProxy(port, stream))},
		}},
	}
	if stream.Domains == nil {
		return out
	}
	out.FilterChainMatch = &listenerv3.FilterChainMatch{TransportProtocol: "tls"}
	for _, name := range stream.Domains {
		if name == "*" { // fits whatever no other chain names
			out.FilterChainMatch.ServerNames = nil
			break
		}
		out.FilterChainMatch.ServerNames = append(out.FilterChainMatch.ServerNames, name)
	}
	if stream.TLS != nil {
		out.TransportSocket = downstreamSocket(stream.TLS)
	}
	return out
}

// tcpProxy hands connections on by weight. The share of what is not resolved goes to
// a cluster that does not exist: Envoy closes those connections.
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

func udpProxy(port *ir.Port, stream *ir.Stream) *udpv3.UdpProxyConfig {
	cluster := NoCluster
	if stream.Route.Live() {
		cluster = stream.Route.Cluster
	}
	return &udpv3.UdpProxyConfig{
		StatPrefix: port.Name,
		RouteSpecifier: &udpv3.UdpProxyConfig_Matcher{Matcher: &matcherv3.Matcher{
			OnNoMatch: &matcherv3.Matcher_OnMatch{OnMatch: &matcherv3.Matcher_OnMatch_Action{
				Action: &cncfcorev3.TypedExtensionConfig{Name: "route", TypedConfig: pack(&udpv3.Route{Cluster: cluster})},
			}},
		}},
		AccessLog: streamLogs(port.AccessLog, stream),
	}
}
