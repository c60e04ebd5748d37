package xds

import (
	"path"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"github.com/gatefold/gatefold/store/keypair"
)

// tlsSocket is the name of the transport socket for TLS with clients and with endpoints.
const tlsSocket = "envoy.transport_sockets.tls"

// Secret returns the resource of a certificate chain with its private key.
func Secret(name string, pair *keypair.Pair) Resource {
	return newResource(SecretType, name, marshal(&tlsv3.Secret{
		Name: name,
		Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
			CertificateChain: inline(pair.CertificatePEM()),
			PrivateKey:       inline(pair.KeyPEM()),
		}},
	}))
}

// inline returns Envoy's DataSource for bytes that are part of the configuration.
func inline(content []byte) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: content}}
}

// Trust returns an SDS Secret with a validation context that has only trusted_ca. Listeners and clusters
// combine it with their own checks (CombinedValidationContext, see trusting). So one Secret serves all of them,
// and new CA certificates change no listener or cluster.
func Trust(name string, bundle *keypair.Bundle) Resource {
	return trust(name, &tlsv3.CertificateValidationContext{TrustedCa: inline(bundle.PEM())})
}

// SystemTrust is like Trust, for CA certificates in a file that Envoy reads. Envoy reads the file again when it is
// replaced. An Envoy without the file keeps the clusters that use the Secret, but sends no requests to them. If
// a cluster itself named a missing file, Envoy would reject the cluster, and the previous version of the cluster,
// perhaps in clear text, would stay in use.
func SystemTrust(name, file string) Resource {
	return trust(name, &tlsv3.CertificateValidationContext{
		TrustedCa:        &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: file}},
		WatchedDirectory: &corev3.WatchedDirectory{Path: path.Dir(file)},
	})
}

// trust returns an SDS Secret with a validation context.
func trust(name string, context *tlsv3.CertificateValidationContext) Resource {
	return newResource(SecretType, name, marshal(&tlsv3.Secret{
		Name: name, Type: &tlsv3.Secret_ValidationContext{ValidationContext: context},
	}))
}

// trusting returns the validation context of a listener or cluster. It combines the certificate checks in the
// parameter demand with the CA certificates of an SDS Secret (see Trust and SystemTrust). The parameter name is the
// name of this Secret.
func trusting(name string, demand *tlsv3.CertificateValidationContext) *tlsv3.CommonTlsContext_CombinedValidationContext {
	return &tlsv3.CommonTlsContext_CombinedValidationContext{
		CombinedValidationContext: &tlsv3.CommonTlsContext_CombinedCertificateValidationContext{
			DefaultValidationContext:         demand,
			ValidationContextSdsSecretConfig: &tlsv3.SdsSecretConfig{Name: name, SdsConfig: adsSource()},
		},
	}
}

// minimumTLS returns TLS parameters with the lowest version that Envoy accepts: 1.3 if version13 is true, and 1.2 if
// it is false.
func minimumTLS(version13 bool) *tlsv3.TlsParameters {
	if version13 {
		return &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_3}
	}
	return &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_2}
}
