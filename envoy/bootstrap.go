// Package envoy makes Envoy's bootstrap configuration: the configuration with which Envoy finds gatefold. The
// script get-envoy in this folder downloads the supported Envoy.
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

// DefaultAdminAddress is the address of Envoy's admin interface if no other is configured.
const DefaultAdminAddress = "127.0.0.1:9901"

// AdminAddressKey is the field of node.metadata with the address of Envoy's admin interface: "ip:port" or
// "unix:/path". An Envoy can claim any address. So gatefold connects only to addresses that health.Admit
// allows.
const AdminAddressKey = "gatefold.io/admin-address"

// StageKey is the field of node.metadata with the stage of an Envoy. An Envoy with the stage Canary gets each
// revision before the other Envoys of its fleet.
const (
	StageKey = "stage"
	Canary   = "canary"
)

// maxSocketPath is the longest path of a unix socket on Linux, in bytes.
const maxSocketPath = 107

// Options identify one Envoy, and name the address of gatefold.
type Options struct {
	// XDSAddress is the address of gatefold: "host:port" with an IP address or a DNS name, or
	// "unix:/absolute/path".
	XDSAddress string
	// AdminAddress is the address of Envoy's admin interface: "ip:port" or "unix:/absolute/path". If it is "",
	// it is DefaultAdminAddress. With port 0 the system chooses a free port, and gatefold does not learn that
	// port.
	AdminAddress string
	// NodeID identifies this Envoy in gatefold's status.
	NodeID string
	// NodeCluster is the Gateway that Envoy serves, as "namespace/name". A name without "/" means all Gateways
	// (docs/design/gateways.md).
	NodeCluster string
	// Stage is Canary, or "" for other Envoys.
	Stage string
	// TLS makes the Envoy use mTLS with gatefold. The zero value means clear text.
	TLS TLS
}

//go:embed bootstrap.yaml
var bootstrapYAML string

// Bootstrap returns Envoy's configuration file, as YAML with comments. Every text from the options becomes a quoted
// string. The error names the options that are invalid.
func Bootstrap(options Options) ([]byte, error) {
	values, err := options.values()
	if err != nil {
		return nil, err
	}
	// JSON strings and objects are valid YAML, and are always quoted correctly.
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

// values are the values of the template bootstrap.yaml.
type values struct {
	NodeID, NodeCluster string
	Admin, XDS          address
	// Metadata is node.metadata, or nil if it is empty.
	Metadata map[string]string
	Canary   bool
	// ClusterType is the discovery type of gatefold's cluster: STATIC or LOGICAL_DNS.
	ClusterType string
	// TLS is the configuration of the transport socket, or nil for clear text.
	TLS map[string]any
}

// values checks the options and returns the values for the template. The error names the options that are
// invalid. The TLS options are checked only if the node id, the node cluster and both addresses are valid.
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

// metadata returns node.metadata: the stage, and the address of the admin interface, which is the parameter
// admin. It returns nil if there is neither.
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

// checkNode returns an error if the value of an option (the parameter name) is empty, is not valid UTF-8 or contains
// an unprintable character. The parameter what is the name of the option for the error.
func checkNode(what, name string) error {
	if name == "" {
		return fmt.Errorf("%s is empty", what)
	}
	if !printable(name) {
		return fmt.Errorf("%s %q holds more than printable UTF-8", what, name)
	}
	return nil
}

// printable reports whether text is valid UTF-8 without unprintable characters. A YAML parser may reject or
// change other texts.
func printable(text string) bool {
	unprintable := func(r rune) bool { return !unicode.IsGraphic(r) }
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unprintable)
}

// address is Envoy's message config.core.v3.Address. One of its two fields is set.
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

// parseXDS returns gatefold's address and the discovery type of its cluster. text is Options.XDSAddress; the
// error quotes it.
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

// dnsName matches a DNS name of RFC 1123, and also names with underscores, which appear in container networks.
var dnsName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_.])?$`)

// parsePipe returns the address of a unix socket. It returns an error if the path is relative, unprintable or
// too long.
func parsePipe(path string) (address, error) {
	if !filepath.IsAbs(path) || len(path) > maxSocketPath || !printable(path) {
		return address{}, fmt.Errorf("the path of a socket is absolute, printable and at most %d bytes long", maxSocketPath)
	}
	return address{Pipe: &pipe{path}}, nil
}

// parseAdmin returns the address of Envoy's admin interface. text is Options.AdminAddress; the error quotes it.
func parseAdmin(text string) (address, error) {
	admin, err := admin(text)
	if err != nil {
		return address{}, fmt.Errorf("admin address %q: %w", text, err)
	}
	return admin, nil
}

// admin parses an admin address: "unix:/path", or an IP address with a port. It returns an error for other
// texts.
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

// metadata returns node.metadata with this admin address. If Envoy listens on all addresses, it has the
// loopback address. It returns nil if the port is 0, because the real port is not known yet.
func (a address) metadata() map[string]string {
	switch {
	case a.Pipe != nil:
		return map[string]string{AdminAddressKey: "unix:" + a.Pipe.Path}
	case a.Socket == nil || a.Socket.Port == 0:
		return nil
	}
	ip, _ := netip.ParseAddr(a.Socket.Address) // admin has checked it
	switch {
	case ip == netip.IPv4Unspecified():
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	case ip == netip.IPv6Unspecified():
		ip = netip.IPv6Loopback()
	}
	return map[string]string{AdminAddressKey: netip.AddrPortFrom(ip, a.Socket.Port).String()}
}

// splitHostPort splits "host:port" and parses the port. It returns an error for other texts.
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
