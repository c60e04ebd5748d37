package cli

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gatefold/gatefold/envoy"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/translate/backend"
)

// guardOptions are the flags that limit what the objects of a folder may do (docs/design/safety.md).
type guardOptions struct {
	clusterPaths  []string
	refuse, allow []string
	// own are the addresses that this gatefold listens on.
	own []string
}

func (o *guardOptions) register(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.clusterPaths, "cluster-paths", nil, "puts path policies in force: the files of the platform, such as platform/**: Namespaces, GatewayClasses and Gateways come from them, and other files define objects of declared namespaces alone")
	flags.StringSliceVar(&o.refuse, "refuse-endpoints", []string{defaultXDSAddress, defaultAdminAddress, envoy.DefaultAdminAddress}, "endpoints that no request is sent to, beside metadata services of clouds: networks, addresses or HOST:PORT")
	flags.StringSliceVar(&o.allow, "allow-endpoints", nil, "exceptions to --refuse-endpoints: networks, addresses or HOST:PORT")
}

// fence returns the patterns of --cluster-paths. They match the files of the platform: with such patterns,
// Namespaces, GatewayClasses and Gateways are read only from these files. The error names an invalid pattern.
func (o *guardOptions) fence() (all tenancy.Globs, err error) {
	for _, text := range o.clusterPaths {
		globs, err := tenancy.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("--cluster-paths: %w", err)
		}
		all = append(all, globs...)
	}
	return all, nil
}

// guard returns the endpoints to which Envoy must send no requests (g.Refuse), the exceptions, and the addresses of
// local names (see localHosts). g.Refuse includes the addresses on which gatefold listens, but not those of cloud
// metadata, which backend.Guard adds. The error names the invalid flag.
func (o *guardOptions) guard() (g backend.Guard, err error) {
	for _, text := range o.refuse {
		endpoints, err := backend.ParseEndpoints(text)
		if err != nil {
			return g, fmt.Errorf("--refuse-endpoints: %w", err)
		}
		g.Refuse = append(g.Refuse, endpoints)
	}
	for _, text := range o.allow {
		endpoints, err := backend.ParseEndpoints(text)
		if err != nil {
			return g, fmt.Errorf("--allow-endpoints: %w", err)
		}
		g.Allow = append(g.Allow, endpoints)
	}
	for _, address := range o.own {
		for _, form := range forms(address) {
			if endpoints, err := backend.ParseEndpoints(form); err == nil { // not an error: for example, a unix socket is no endpoint
				g.Refuse = append(g.Refuse, endpoints)
			}
		}
	}
	g.Hosts = localHosts()
	g.Machine = interfaces()
	return g, nil
}

// localHosts returns the addresses of the names in the hosts file of this machine. It adds 127.0.0.1 for the
// name of the machine itself.
func localHosts() map[string][]netip.Addr {
	text, _ := os.ReadFile("/etc/hosts") // without the file, only the name of the machine is known
	hosts := backend.ReadHosts(string(text))
	if name, err := os.Hostname(); err == nil {
		name = strings.ToLower(strings.TrimSuffix(name, "."))
		hosts[name] = append(hosts[name], netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	}
	return hosts
}

// forms returns the addresses at which a client reaches a listening address of gatefold: the address itself and,
// if it means all interfaces, each address of this machine with the same port.
func forms(address string) []string {
	all := []string{address}
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || host != "" && (ip == nil || !ip.IsUnspecified()) {
		return all
	}
	for _, address := range interfaces() {
		all = append(all, net.JoinHostPort(address.String(), port))
	}
	return all
}

// interfaces returns the addresses of this machine. On an error it returns none, so that only addresses of loopback are
// rejected.
func interfaces() (all []netip.Addr) {
	addresses, _ := net.InterfaceAddrs()
	for _, a := range addresses {
		if network, ok := a.(*net.IPNet); ok {
			if address, ok := netip.AddrFromSlice(network.IP); ok {
				all = append(all, address.Unmap())
			}
		}
	}
	return all
}
