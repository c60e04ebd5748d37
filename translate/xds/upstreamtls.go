package xds

import (
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/gatefold/gatefold/translate/ir"
)

// upstreamTLS returns how Envoy uses TLS with endpoints. In the handshake, Envoy offers only the protocol that it
// will use: c.HTTP2 decides, not the handshake. The result allows TLS 1.3, because Envoy's default for endpoints is
// at most TLS 1.2.
func upstreamTLS(c *ir.Cluster) *corev3.TransportSocket {
	common := &tlsv3.CommonTlsContext{TlsParams: minimumTLS(c.TLS.Version13), AlpnProtocols: []string{"http/1.1"}}
	common.TlsParams.TlsMaximumProtocolVersion = tlsv3.TlsParameters_TLSv1_3
	if c.HTTP2 {
		common.AlpnProtocols = []string{"h2"}
	}
	demand := &tlsv3.CertificateValidationContext{}
	for _, name := range c.TLS.Names {
		demand.MatchTypedSubjectAltNames = append(demand.MatchTypedSubjectAltNames, peerName(name))
	}
	common.ValidationContextType = trusting(c.TLS.Trust, demand)
	if c.TLS.Client.Name != "" {
		common.TlsCertificateSdsSecretConfigs = []*tlsv3.SdsSecretConfig{{Name: ir.SecretName(c.TLS.Client), SdsConfig: adsSource()}}
	}
	return &corev3.TransportSocket{
		Name: tlsSocket,
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: pack(&tlsv3.UpstreamTlsContext{
			CommonTlsContext: common, Sni: c.TLS.Hostname,
		})},
	}
}

// peerName returns a matcher for a name in a certificate. A DNS name that begins with "*" matches all names
// with the same ending. For any other DNS name, Envoy also accepts a certificate with a wildcard as the first
// label.
func peerName(name ir.PeerName) *tlsv3.SubjectAltNameMatcher {
	exact := &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: name.Value}}
	suffix, wild := strings.CutPrefix(name.Value, "*")
	switch {
	case name.URI:
		return &tlsv3.SubjectAltNameMatcher{SanType: tlsv3.SubjectAltNameMatcher_URI, Matcher: exact}
	case wild:
		exact = &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Suffix{Suffix: suffix}, IgnoreCase: true}
	}
	return &tlsv3.SubjectAltNameMatcher{SanType: tlsv3.SubjectAltNameMatcher_DNS, Matcher: exact}
}
