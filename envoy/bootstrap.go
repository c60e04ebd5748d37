// Package envoy holds what an Envoy needs before it knows gatefold: its
// bootstrap configuration, and beside it get-envoy, the script that fetches the
// supported binary.
package envoy

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/template"
	"unicode"
	"unicode/utf8"
)

// DefaultAdminAddress is where Envoy's admin interface listens unless told otherwise.
const DefaultAdminAddress = "127.0.0.1:9901"

// AdminAddressKey is the field of node.metadata with the address of Envoy's admin interface:
// "ip:port" or "unix:/path". An Envoy can claim any address: gatefold asks only those that
// health.Admit allows.
const AdminAddressKey = "gatefold.io/admin-address"

// StageKey is the field of node.metadata with the stage of an Envoy. One whose stage is Canary gets each revision
// before the others of its fleet do.
const (
	StageKey = "stage"
	Canary   = "canary"
)

// maxSocketPath is the longest path of a unix socket on Linux, in bytes.
const maxSocketPath = 107

// Options identify one Envoy and where it finds gatefold.
type Options struct {
	// XDSAddress is gatefold's: "host:port" with an IP address or a DNS name,
	// or "unix:/absolute/path".
	XDSAddress string
	// AdminAddress is the "ip:port" or "unix:/absolute/path" of Envoy's admin interface, or ""
	// for DefaultAdminAddress. With port 0 the system picks a free port, which gatefold does
	// not learn.
	AdminAddress string
	// NodeID names this one Envoy in gatefold's status.
	NodeID string
	// NodeCluster is the Gateway to serve, as "namespace/name", or a name
	// without "/" for all Gateways (docs/design/gateways.md).
	NodeCluster string
	// Stage is Canary, or "".
	Stage string
	// TLS, when set, has the Envoy speak mTLS with gatefold.
	TLS TLS
}

//go:embed bootstrap.yaml
var bootstrapYAML string

// Bootstrap returns Envoy's configuration file, as YAML with comments. Every value of the
// options becomes a quoted string. The error names the option that cannot be used.
func Bootstrap(options Options) ([]byte, error) {
	values, err := options.values()
	if err != nil {
		return nil, err
	}
	// JSON strings and objects are YAML, too, and need no care about quoting.
	functions := template.FuncMap{"json": func(value any) (string, error) {
		text, err := json.Marshal(value)
		return string(text), err
	}}
	bootstrap := template.Must(template.New("bootstrap.yaml").Funcs(functions).Parse(bootstrapYAML))
	var out bytes.Buffer
	if err := bootstrap.Execute(&out, values); err != nil {
		panic(fmt.Sprintf("bootstrap.yaml does not fit its values: %v", err))
	}
	return out.Bytes(), nil
}

// values is what bootstrap.yaml refers to.
type values struct {
	NodeID, NodeCluster string
	Admin, XDS          address
	// Metadata is node.metadata, nil when there is none.
	Metadata map[string]string
	Canary   bool
	// ClusterType is the discovery type that suits the kind of XDS.
	ClusterType string
	// TLS is the configuration of the transport socket, nil for clear text.
	TLS map[string]any
}

func (o Options) values() (values, error) {
	if o.AdminAddress == "" {
		o.AdminAddress = DefaultAdminAddress
	}
	admin, adminErr := parseAdmin(o.AdminAddress)
	xds, clusterType, xdsErr := parseXDS(o.XDSAddress)
	err := errors.Join(checkNode("node id", o.NodeID), checkNode("node cluster", o.NodeCluster), adminErr, xdsErr)
	var tls map[string]any
	if err == nil && o.TLS != (TLS{}) {
		tls, err = o.TLS.context(xds), o.TLS.check(xds)
	}
	if o.Stage != "" && o.Stage != Canary {
		err = errors.Join(err, fmt.Errorf("stage %q is not known: the one stage is %s", o.Stage, Canary))
	}
	return values{o.NodeID, o.NodeCluster, admin, xds, o.metadata(admin), o.Stage == Canary, clusterType, tls}, err
}

// metadata returns node.metadata, nil when there is none.
func (o Options) metadata(admin address) map[string]string {
	fields := admin.metadata()
	if o.Stage != "" {
		if fields == nil {
			fields = map[string]string{}
		}
		fields[StageKey] = o.Stage
	}
	return fields
}

func checkNode(what, name string) error {
	if name == "" {
		return fmt.Errorf("%s is empty", what)
	}
	if !printable(name) {
		return fmt.Errorf("%s %q holds more than printable UTF-8", what, name)
	}
	return nil
}

// printable rejects what a parser of YAML may reject or garble.
func printable(text string) bool {
	unprintable := func(r rune) bool { return !unicode.IsGraphic(r) }
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unprintable)
}

// address is Envoy's config.core.v3.Address: one of its two fields is set.
type address struct {
	Socket *socket `json:"socket_address,omitempty"`
	Pipe   *pipe   `json:"pipe,omitempty"`
}

type socket struct {
	Address string `json:"address"`
	Port    uint16 `json:"port_value"`
}

type pipe struct {
	Path string `json:"path"`
}

// parseXDS returns gatefold's address and the type of the cluster for it.
func parseXDS(text string) (address, string, error) {
	if path, ok := strings.CutPrefix(text, "unix:"); ok {
		pipe, err := parsePipe(path)
		if err != nil {
			err = fmt.Errorf("xDS address %q: %w", text, err)
		}
		return pipe, "STATIC", err
	}
	host, port, err := splitHostPort(text)
	if err == nil && port == 0 {
		err = errors.New("the port is 0")
	}
	if err != nil {
		return address{}, "", fmt.Errorf("xDS address %q: %w", text, err)
	}
	result := address{Socket: &socket{host, port}}
	if _, err := netip.ParseAddr(host); err == nil {
		return result, "STATIC", nil
	}
	if !dnsName.MatchString(host) {
		return address{}, "", fmt.Errorf("xDS address %q: %q is neither an IP address nor a DNS name", text, host)
	}
	return result, "LOGICAL_DNS", nil
}

// dnsName is wider than RFC 1123 by the underscore, which container networks use.
var dnsName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_.])?$`)

func parsePipe(path string) (address, error) {
	if !filepath.IsAbs(path) || len(path) > maxSocketPath || !printable(path) {
		return address{}, fmt.Errorf("the path of a socket is absolute, printable and at most %d bytes long", maxSocketPath)
	}
	return address{Pipe: &pipe{path}}, nil
}

func parseAdmin(text string) (address, error) {
	admin, err := admin(text)
	if err != nil {
		return address{}, fmt.Errorf("admin address %q: %w", text, err)
	}
	return admin, nil
}

func admin(text string) (address, error) {
	if path, ok := strings.CutPrefix(text, "unix:"); ok {
		return parsePipe(path)
	}
	host, port, err := splitHostPort(text)
	if err == nil {
		_, err = netip.ParseAddr(host)
	}
	return address{Socket: &socket{host, port}}, err
}

// metadata tells gatefold an admin address: loopback where Envoy listens on all
// addresses, and nothing of a port that is not known yet.
func (a address) metadata() map[string]string {
	switch {
	case a.Pipe != nil:
		return map[string]string{AdminAddressKey: "unix:" + a.Pipe.Path}
	case a.Socket == nil || a.Socket.Port == 0:
		return nil
	}
	ip, _ := netip.ParseAddr(a.Socket.Address) // admin did
	switch {
	case ip == netip.IPv4Unspecified():
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	case ip == netip.IPv6Unspecified():
		ip = netip.IPv6Loopback()
	}
	return map[string]string{AdminAddressKey: netip.AddrPortFrom(ip, a.Socket.Port).String()}
}

func splitHostPort(text string) (string, uint16, error) {
	host, portText, err := net.SplitHostPort(text)
	if err != nil {
		return "", 0, errors.New("it is not host:port")
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("%q is not a port", portText)
	}
	return host, uint16(port), nil
}
