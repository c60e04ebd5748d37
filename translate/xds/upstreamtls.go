package xds

import (
	"path"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/gatefold/gatefold/store/keypair"
	"github.com/gatefold/gatefold/translate/ir"
)

const tlsSocket = "envoy.transport_sockets.tls"

// Trust makes the resource of certificates of authorities. Who uses it adds what else
// it demands of a certificate, so that one resource serves all of them, and new
// authorities touch neither listeners nor clusters.
func Trust(name string, bundle *keypair.Bundle) Resource {
	return trust(name, &tlsv3.CertificateValidationContext{TrustedCa: inline(bundle.PEM())})
}

// SystemTrust is Trust for a file that Envoy reads, now and when it is replaced. It
// is a secret, too: an Envoy without the file takes the clusters that use it, and sends
// them nothing, where it would refuse a cluster that names the file and go on in clear
// text.
func SystemTrust(name, file string) Resource {
	return trust(name, &tlsv3.CertificateValidationContext{
		TrustedCa:        &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: file}},
		WatchedDirectory: &corev3.WatchedDirectory{Path: path.Dir(file)},
	})
}

func trust(name string, context *tlsv3.CertificateValidationContext) Resource {
	return newResource(secretType, name, marshal(&tlsv3.Secret{
		Name: name, Type: &tlsv3.Secret_ValidationContext{ValidationContext: context},
	}))
}

// trusting joins what a place demands with the authorities that Trust brings.
func trusting(name string, demand *tlsv3.CertificateValidationContext) *tlsv3.CommonTlsContext_CombinedValidationContext {
	return &tlsv3.CommonTlsContext_CombinedValidationContext{
		CombinedValidationContext: &tlsv3.CommonTlsContext_CombinedCertificateValidationContext{
			DefaultValidationContext:         demand,
			ValidationContextSdsSecretConfig: &tlsv3.SdsSecretConfig{Name: name, SdsConfig: adsSource()},
		},
	}
}

// minimumTLS is the least version that is spoken.
func minimumTLS(version13 bool) *tlsv3.TlsParameters {
	if version13 {
		return &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_3}
	}
	return &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_2}
}

// upstreamTLS is how Envoy speaks to endpoints. It offers the one protocol that it is
// going to speak: the backend's appProtocol decides, not the handshake. Towards back
// ends, Envoy by itself stops at TLS 1.2.
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

// peerName compares a name of a certificate. For an exact DNS name Envoy lets a
// wildcard of the certificate stand for its one label.
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
