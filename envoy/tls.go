package envoy

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
)

// TLS configures how an Envoy authenticates to gatefold, and how it verifies gatefold. All paths must be
// absolute. Envoy reads a certificate file again if the file is replaced by a rename, or if a link in its
// folder changes.
type TLS struct {
	Cert, Key string // the Envoy's certificate and private key, PEM
	CA        string // the CA certificates that sign gatefold's certificate, PEM
	// ServerName must be in gatefold's certificate: an IP address, a DNS name or a URI. If it is "", it is the
	// host of the xDS address.
	ServerName string
	// CertSecret and CASecret are the paths of two files that the bootstrap names. Each file contains an Envoy
	// Secret. Envoy watches certificate files only if a Secret in a file names them.
	CertSecret, CASecret string
}

// Secrets returns the content of the files CertSecret (certificate) and CASecret (authority). Each is one
// file-based SDS resource.
func (t TLS) Secrets() (certificate, authority []byte) {
	return secretFile("certificate", "tls_certificate", map[string]any{
			"certificate_chain": file{t.Cert}, "private_key": file{t.Key},
		}), secretFile("authority", "validation_context", map[string]any{
			"trusted_ca": file{t.CA},
		})
}

type file struct {
	Filename string `json:"filename"`
}

// secretFile returns a file-based SDS resource with one Secret, as JSON. The parameter name is the name of the
// Secret. The parameter kind is the name of the Secret's field that gets the value content.
func secretFile(name, kind string, content any) []byte {
	text, err := json.MarshalIndent(map[string]any{"resources": []any{map[string]any{
		"@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret", "name": name, kind: content,
	}}}, "", "  ")
	if err != nil {
		panic(err) // strings only
	}
	return append(text, '\n')
}

// check returns an error that lists all invalid fields of t. xds is gatefold's address.
func (t TLS) check(xds address) error {
	var errs []error
	for _, path := range []string{t.Cert, t.Key, t.CA, t.CertSecret, t.CASecret} {
		if !filepath.IsAbs(path) || !printable(path) {
			errs = append(errs, fmt.Errorf("TLS file %q: certificate, key and authority need an absolute path each", path))
		}
	}
	if t.ServerName == "" && xds.Socket == nil {
		errs = append(errs, errors.New("a socket's path is no name: --tls-server-name must say which gatefold's certificate holds"))
	}
	if !printable(t.ServerName) {
		errs = append(errs, fmt.Errorf("server name %q holds more than printable UTF-8", t.ServerName))
	}
	return errors.Join(errs...)
}

// context returns the configuration of the transport socket, a tls.v3.UpstreamTlsContext. It allows only TLS
// 1.3: Envoy's clients use at most TLS 1.2 by default, and gatefold requires 1.3.
func (t TLS) context(xds address) map[string]any {
	name := t.ServerName
	if name == "" && xds.Socket != nil {
		name = xds.Socket.Address
	}
	secret := func(name, path string) map[string]any {
		return map[string]any{"name": name, "sds_config": map[string]any{
			"path_config_source": map[string]any{"path": path}, "resource_api_version": "V3",
		}}
	}
	kind := nameKind(name)
	context := map[string]any{
		"@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
		"common_tls_context": map[string]any{
			"alpn_protocols":                     []string{"h2"},
			"tls_params":                         map[string]any{"tls_minimum_protocol_version": "TLSv1_3", "tls_maximum_protocol_version": "TLSv1_3"},
			"tls_certificate_sds_secret_configs": []any{secret("certificate", t.CertSecret)},
			"combined_validation_context": map[string]any{
				"default_validation_context": map[string]any{"match_typed_subject_alt_names": []any{
					map[string]any{"san_type": kind, "matcher": map[string]any{"exact": name}},
				}},
				"validation_context_sds_secret_config": secret("authority", t.CASecret),
			},
		},
	}
	if kind == "DNS" {
		context["sni"] = name
	}
	return context
}

// nameKind returns Envoy's type for a name in a certificate: IP_ADDRESS, URI or DNS.
func nameKind(name string) string {
	_, err := netip.ParseAddr(name)
	switch {
	case err == nil:
		return "IP_ADDRESS"
	case strings.Contains(name, "://"):
		return "URI"
	}
	return "DNS"
}
