package xds

import (
	"time"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	proxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/proxy_protocol/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	earlyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/early_header_mutation/header_mutation/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatefold/gatefold/translate/ir"
)

const (
	// maxHeadersKB limits the size of all request headers together, in KiB (docs/design/gateways.md).
	maxHeadersKB = 60
	// connectionIdleTimeout is how long Envoy keeps a connection without requests.
	connectionIdleTimeout = 15 * time.Minute
	// streamIdleTimeout is how long an exchange may last without any data, if its route sets no other idle timeout.
	// The length of a whole exchange is limited only by its route, because an upload may take long.
	streamIdleTimeout = 5 * time.Minute
	// headersTimeout is how long Envoy waits for all headers of a request.
	headersTimeout = 30 * time.Second
	// HTTP/2 limits that Envoy recommends for the edge.
	maxStreams           = 100
	streamWindowSize     = 64 << 10
	connectionWindowSize = 1 << 20
)

// Listener returns the Envoy listener of one port, as a resource (docs/design/gateways.md). HTTP routes come by RDS,
// and certificates by SDS, on the same stream. So an edit of an HTTP route or a new certificate never changes the
// listener. The routes of Streams are part of the listener.
func Listener(port *ir.Port) Resource {
	if port.UDP {
		return newResource(ListenerType, port.Name, marshal(udpListener(port)))
	}
	listener := listenerOf(port)
	listener.PerConnectionBufferLimitBytes = wrapperspb.UInt32(ir.ConnectionBuffer)
	if port.Exclusive {
		listener.EnableReusePort = wrapperspb.Bool(false)
	}
	if port.ProxyProtocol { // its header comes before the TLS handshake
		listener.ListenerFilters = append(listener.ListenerFilters, proxyProtocol())
	}
	if scheme := port.Scheme(); scheme == "https" || scheme == "tls" {
		listener.ListenerFilters = append(listener.ListenerFilters, tlsInspector())
	}
	for i := range port.Chains {
		listener.FilterChains = append(listener.FilterChains, filterChain(port, &port.Chains[i]))
	}
	for i := range port.Streams {
		listener.FilterChains = append(listener.FilterChains, streamChains(port, &port.Streams[i])...)
	}
	return newResource(ListenerType, port.Name, marshal(listener))
}

// listenerOf returns a listener with its name and addresses, but without filters. It does not set enable_reuse_port.
// For TCP, the function Listener sets enable_reuse_port to false if Port.Exclusive is true. For UDP,
// enable_reuse_port must stay true, the default. With false, several threads would share one socket, and Envoy could
// not assign datagrams to their sessions.
func listenerOf(port *ir.Port) *listenerv3.Listener {
	listener := &listenerv3.Listener{
		Name:             port.Name,
		Address:          socketAddress(port.Addresses[0], port.Port),
		StatPrefix:       port.Name,
		TrafficDirection: corev3.TrafficDirection_INBOUND,
	}
	// "::" without ipv4_compat binds IPv6 only, so that "0.0.0.0" can be bound, too.
	for _, address := range port.Addresses[1:] {
		listener.AdditionalAddresses = append(listener.AdditionalAddresses,
			&listenerv3.AdditionalAddress{Address: socketAddress(address, port.Port)})
	}
	return listener
}

// connectionManager returns the HTTP settings of a chain, which all of its routes share. The Server header is
// the backend's own: Envoy neither removes nor sets it.
func connectionManager(port *ir.Port, chain *ir.Chain) *hcmv3.HttpConnectionManager {
	return &hcmv3.HttpConnectionManager{
		StatPrefix: port.Name,
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{
			ConfigSource: adsSource(), RouteConfigName: chain.RouteConfig,
		}},
		NormalizePath:                wrapperspb.Bool(true),
		PathWithEscapedSlashesAction: hcmv3.HttpConnectionManager_KEEP_UNCHANGED,
		UseRemoteAddress:             wrapperspb.Bool(true),
		XffNumTrustedHops:            port.TrustedHops,
		MaxRequestHeadersKb:          wrapperspb.UInt32(maxHeadersKB),
		StreamIdleTimeout:            durationpb.New(streamIdleTimeout),
		RequestHeadersTimeout:        durationpb.New(headersTimeout),
		ServerHeaderTransformation:   hcmv3.HttpConnectionManager_PASS_THROUGH,
		CommonHttpProtocolOptions: &corev3.HttpProtocolOptions{
			IdleTimeout:                  durationpb.New(connectionIdleTimeout),
			HeadersWithUnderscoresAction: corev3.HttpProtocolOptions_DROP_HEADER,
		},
		Http2ProtocolOptions: &corev3.Http2ProtocolOptions{
			MaxConcurrentStreams:        wrapperspb.UInt32(maxStreams),
			InitialStreamWindowSize:     wrapperspb.UInt32(streamWindowSize),
			InitialConnectionWindowSize: wrapperspb.UInt32(connectionWindowSize),
		},
		UpgradeConfigs: []*hcmv3.HttpConnectionManager_UpgradeConfig{{UpgradeType: "websocket", Filters: upgradeFilterChain()}},
		AccessLog:      accessLogs(port.AccessLog),
		HttpFilters:    httpFilterChain(),

		LocalReplyConfig:              closedReplies(),
		EarlyHeaderMutationExtensions: []*corev3.TypedExtensionConfig{dropClaims(port)},
	}
}

// dropClaims returns the extension that removes headers that a client could forge, before Envoy chooses a route. The
// headers are ir.UserHeader, closedHeader and, if the port has no trusted hops, ir.ClaimedHeaders.
func dropClaims(port *ir.Port) *corev3.TypedExtensionConfig {
	config, names := &earlyv3.HeaderMutation{}, []string{ir.UserHeader, closedHeader}
	if port.TrustedHops == 0 {
		names = append(names, ir.ClaimedHeaders()...)
	}
	for _, name := range names {
		config.Mutations = append(config.Mutations, &mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Remove{Remove: name}})
	}
	return &corev3.TypedExtensionConfig{Name: "envoy.http.early_header_mutation.header_mutation", TypedConfig: pack(config)}
}

// proxyProtocol returns the listener filter that reads the client's address from the PROXY protocol header,
// version 1 or 2. Envoy closes a connection without that header.
func proxyProtocol() *listenerv3.ListenerFilter {
	return &listenerv3.ListenerFilter{
		Name:       "envoy.filters.listener.proxy_protocol",
		ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: pack(&proxyv3.ProxyProtocol{})},
	}
}

// filterChain returns the filter chain of an ir.Chain, for HTTP. A chain with TLS accepts only TLS connections: Envoy
// closes other connections at once, because no chain matches them.
func filterChain(port *ir.Port, chain *ir.Chain) *listenerv3.FilterChain {
	out := &listenerv3.FilterChain{
		Filters: []*listenerv3.Filter{{
			Name:       "envoy.filters.network.http_connection_manager",
			ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: pack(connectionManager(port, chain))},
		}},
	}
	if chain.TLS == nil {
		return out
	}
	out.Name = chain.RouteConfig
	out.FilterChainMatch = &listenerv3.FilterChainMatch{TransportProtocol: "tls"}
	if chain.Name != "*" {
		out.FilterChainMatch.ServerNames = []string{chain.Name}
	}
	out.TransportSocket = downstreamSocket(chain.TLS)
	return out
}

// udpListener returns the listener of a UDP port. It sends datagrams to one cluster, which has all backends of the
// route with their weights. So a change of the backends does not update the listener, as long as one of them can get
// datagrams. An update would end the listener's sessions.
func udpListener(port *ir.Port) *listenerv3.Listener {
	listener := listenerOf(port)
	listener.UdpListenerConfig = &listenerv3.UdpListenerConfig{}
	for _, address := range append(listener.AdditionalAddresses, &listenerv3.AdditionalAddress{Address: listener.Address}) {
		address.Address.GetSocketAddress().Protocol = corev3.SocketAddress_UDP
	}
	listener.ListenerFilters = []*listenerv3.ListenerFilter{{
		Name:       "envoy.filters.udp_listener.udp_proxy",
		ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: pack(udpProxy(port, &port.Streams[0]))},
	}}
	return listener
}
