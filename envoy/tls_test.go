package envoy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy"
	"github.com/gatefold/gatefold/envoy/envoytest"
)

// secured are options with TLS, and the files that they name.
func secured(t *testing.T) envoy.Options {
	t.Helper()
	folder := t.TempDir()
	at := func(name string, text []byte) string {
		path := filepath.Join(folder, name)
		envoytest.Replace(t, path, text)
		return path
	}
	authority := envoytest.NewAuthority(t)
	certificate, key := authority.Issue("spiffe://td/gateway/shop/eg")
	options := sound()
	options.TLS = envoy.TLS{Cert: at("tls.crt", certificate), Key: at("tls.key", key), CA: at("ca.crt", authority.PEM)}
	first, second := options.TLS.Secrets()
	options.TLS.CertSecret, options.TLS.CASecret = at("certificate.json", first), at("authority.json", second)
	return options
}

func TestBootstrapWithTLSIsAcceptedByEnvoy(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*envoy.Options)
		want   string
	}{
		"IP":   {func(*envoy.Options) {}, `"matcher":{"exact":"127.0.0.1"},"san_type":"IP_ADDRESS"`},
		"IPv6": {func(o *envoy.Options) { o.XDSAddress = "[::1]:1" }, `"matcher":{"exact":"::1"},"san_type":"IP_ADDRESS"`},
		"DNS":  {func(o *envoy.Options) { o.XDSAddress = "gatefold.example:1" }, `"sni":"gatefold.example"`},
		"other name": {func(o *envoy.Options) { o.TLS.ServerName = "gatefold.example" },
			`"matcher":{"exact":"gatefold.example"},"san_type":"DNS"`},
		"URI on a socket": {func(o *envoy.Options) {
			o.XDSAddress, o.TLS.ServerName = "unix:/run/xds.sock", "spiffe://td/gatefold"
		}, `"matcher":{"exact":"spiffe://td/gatefold"},"san_type":"URI"`},
		"odd name": {func(o *envoy.Options) { o.TLS.ServerName = odd }, `"san_type":"DNS"`},
	} {
		t.Run(name, func(t *testing.T) {
			options := secured(t)
			test.change(&options)
			text := bootstrap(t, options)
			if !strings.Contains(string(text), test.want) {
				t.Errorf("%s is not in\n%s", test.want, text)
			}
			if output, err := validate(t, text); err != nil {
				t.Errorf("%v: %s", err, output)
			}
		})
	}
}

func TestBootstrapNamesTheTLSOptionThatIsWrong(t *testing.T) {
	for want, change := range map[string]func(*envoy.Options){
		`TLS file "tls.crt"`:    func(o *envoy.Options) { o.TLS.Cert = "tls.crt" },
		`TLS file ""`:           func(o *envoy.Options) { o.TLS.CA = "" },
		"--tls-server-name":     func(o *envoy.Options) { o.XDSAddress = "unix:/run/xds.sock" },
		`server name "a\n"`:     func(o *envoy.Options) { o.TLS.ServerName = "a\n" },
		`TLS file "/a\x00b"`:    func(o *envoy.Options) { o.TLS.Key = "/a\x00b" },
		`xDS address "nowhere"`: func(o *envoy.Options) { o.XDSAddress = "nowhere" },
	} {
		options := secured(t)
		change(&options)
		if _, err := envoy.Bootstrap(options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// No file that the bootstrap writes holds a key.
func TestSecretsNameFilesAndHoldNoKey(t *testing.T) {
	options := secured(t)
	key, err := os.ReadFile(options.TLS.Key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, authority := options.TLS.Secrets()
	for _, text := range [][]byte{certificate, authority, bootstrap(t, options)} {
		if strings.Contains(string(text), string(key[30:80])) || strings.Contains(string(text), "PRIVATE KEY") {
			t.Errorf("a key stands in\n%s", text)
		}
	}
}
