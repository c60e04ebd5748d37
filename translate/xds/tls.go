package xds

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	inspectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatefold/gatefold/store/keypair"
	"github.com/gatefold/gatefold/translate/ir"
)

const secretType = SecretType

// Secret makes the resource of a certificate and its key.
func Secret(name string, pair *keypair.Pair) Resource {
	return newResource(secretType, name, marshal(&tlsv3.Secret{
		Name: name,
		Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
			CertificateChain: inline(pair.CertificatePEM()),
			PrivateKey:       inline(pair.KeyPEM()),
		}},
	}))
}

func inline(content []byte) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: content}}
}

// tlsInspector reads the name that a client asks for before a chain is chosen.
func tlsInspector() *listenerv3.ListenerFilter {
	return &listenerv3.ListenerFilter{
		Name:       "envoy.filters.listener.tls_inspector",
		ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: pack(&inspectorv3.TlsInspector{})},
	}
}

// filterChain makes one chain. With TLS it takes nobody who speaks without: such a
// connection fits no chain, and Envoy closes it at once.
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

// Misdirected encodes a virtual host that answers 421: the host is another
// listener's, and the client should ask for it over a connection of its own (RFC
// 9110, section 15.5.20).
func Misdirected(domain string) Host {
	return HostOf(marshal(&routev3.VirtualHost{Name: domain, Domains: []string{domain}, Routes: []*routev3.Route{{
		Name:   "misdirected",
		Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
		Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: 421}},
	}}}))
}
