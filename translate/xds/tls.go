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

// inline returns content as it is, in the form of a data source.
func inline(content []byte) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: content}}
}

// Trust returns the resource of CA certificates. Listeners and clusters that use it add their own conditions.
// So one resource serves all of them, and new CA certificates do not change a listener or cluster.
func Trust(name string, bundle *keypair.Bundle) Resource {
	return trust(name, &tlsv3.CertificateValidationContext{TrustedCa: inline(bundle.PEM())})
}

// SystemTrust returns the resource of the CA certificates in a file that Envoy reads. Envoy reads the file
// again when it is replaced. The resource is a secret, so that an Envoy without the file keeps the clusters
// that use it, and sends no requests to them. If the cluster itself named the file, Envoy would reject the
// cluster and continue in clear text.
func SystemTrust(name, file string) Resource {
	return trust(name, &tlsv3.CertificateValidationContext{
		TrustedCa:        &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: file}},
		WatchedDirectory: &corev3.WatchedDirectory{Path: path.Dir(file)},
	})
}

// trust returns the resource of a validation context.
func trust(name string, context *tlsv3.CertificateValidationContext) Resource {
	return newResource(SecretType, name, marshal(&tlsv3.Secret{
		Name: name, Type: &tlsv3.Secret_ValidationContext{ValidationContext: context},
	}))
}

// trusting returns the conditions of a listener or cluster, together with a reference to the resource of Trust
// or SystemTrust with this name.
func trusting(name string, demand *tlsv3.CertificateValidationContext) *tlsv3.CommonTlsContext_CombinedValidationContext {
	return &tlsv3.CommonTlsContext_CombinedValidationContext{
		CombinedValidationContext: &tlsv3.CommonTlsContext_CombinedCertificateValidationContext{
			DefaultValidationContext:         demand,
			ValidationContextSdsSecretConfig: &tlsv3.SdsSecretConfig{Name: name, SdsConfig: adsSource()},
		},
	}
}

// minimumTLS returns the lowest version of TLS that Envoy accepts: 1.3 if version13 is true, otherwise 1.2.
func minimumTLS(version13 bool) *tlsv3.TlsParameters {
	if version13 {
		return &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_3}
	}
	return &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_2}
}
