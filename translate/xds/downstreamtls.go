package xds

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	inspectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatefold/gatefold/translate/ir"
)

// tlsInspector returns the listener filter that reads the server name, by which Envoy chooses a chain.
func tlsInspector() *listenerv3.ListenerFilter {
	return &listenerv3.ListenerFilter{
		Name:       "envoy.filters.listener.tls_inspector",
		ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: pack(&inspectorv3.TlsInspector{})},
	}
}

// downstreamSocket returns the transport socket of a chain that terminates TLS.
func downstreamSocket(terminate *ir.TLS) *corev3.TransportSocket {
	return &corev3.TransportSocket{
		Name:       tlsSocket,
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: pack(downstreamTLS(terminate))},
	}
}

func downstreamTLS(terminate *ir.TLS) *tlsv3.DownstreamTlsContext {
	common := &tlsv3.CommonTlsContext{
		AlpnProtocols: terminate.ALPN,
		TlsParams:     minimumTLS(terminate.Version13),
	}
	for _, name := range terminate.Certificates {
		common.TlsCertificateSdsSecretConfigs = append(common.TlsCertificateSdsSecretConfigs,
			&tlsv3.SdsSecretConfig{Name: name, SdsConfig: adsSource()})
	}
	out := &tlsv3.DownstreamTlsContext{CommonTlsContext: common}
	if clients := terminate.Clients; clients != nil {
		demand := &tlsv3.CertificateValidationContext{}
		out.RequireClientCertificate = wrapperspb.Bool(!clients.Insecure)
		if clients.Insecure {
			demand.TrustChainVerification = tlsv3.CertificateValidationContext_ACCEPT_UNTRUSTED
		}
		common.ValidationContextType = trusting(clients.Trust, demand)
	}
	return out
}
