package envoy

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
)

// TLS configures how an Envoy authenticates to gatefold, and how it verifies gatefold. Paths
// are absolute. Envoy reads the files again when one is replaced by a rename or a link beside
// it changes.
type TLS struct {
	Cert, Key string // the Envoy's certificate and private key, PEM
	CA        string // the authorities that sign gatefold's certificate, PEM
	// ServerName must be in gatefold's certificate: an IP address, a DNS name or
	// a URI. Empty means the host of the xDS address.
	ServerName string
	// CertSecret and CASecret are the paths of the two Secret files that the bootstrap names.
	// Envoy watches certificate files only through such Secrets.
	CertSecret, CASecret string
}

// Secrets returns the content of the files CertSecret and CASecret: one file-based SDS resource
// each.
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

func secretFile(name, kind string, content any) []byte {
	text, err := json.MarshalIndent(map[string]any{"resources": []any{map[string]any{
		"@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret", "name": name, kind: content,
	}}}, "", "  ")
	if err != nil {
		panic(err) // strings only
	}
	return append(text, '\n')
}

// check names what cannot be used.
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

// context returns the transport socket's configuration, tls.v3.UpstreamTlsContext.
// Envoy's clients stop at TLS 1.2 unless told otherwise, and gatefold asks for 1.3.
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

// nameKind returns Envoy's type of a name in a certificate.
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
