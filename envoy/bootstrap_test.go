package envoy_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"sigs.k8s.io/yaml"

	"github.com/gatefold/gatefold/envoy"
	"github.com/gatefold/gatefold/envoy/envoytest"
)

// sound are options that nothing is wrong with.
func sound() envoy.Options {
	return envoy.Options{XDSAddress: "127.0.0.1:18000", NodeID: "edge-1", NodeCluster: "shop/eg"}
}

func TestBootstrapIsAcceptedByEnvoy(t *testing.T) {
	for name, change := range map[string]func(*envoy.Options){
		"IPv4":        func(*envoy.Options) {},
		"IPv6":        func(o *envoy.Options) { o.XDSAddress, o.AdminAddress = "[::1]:18000", "[::1]:0" },
		"DNS name":    func(o *envoy.Options) { o.XDSAddress = "gatefold_1.example:18000" },
		"unix socket": func(o *envoy.Options) { o.XDSAddress = "unix:/run/gatefold/xds.sock" },
		"odd names":   func(o *envoy.Options) { o.NodeID, o.NodeCluster = odd, odd },
		"own sockets": func(o *envoy.Options) {
			o.XDSAddress, o.AdminAddress = "unix:/run/g/xds.sock", "unix:/run/g/admin.sock"
		},
		"odd path": func(o *envoy.Options) { o.XDSAddress = "unix:/run/" + odd },
	} {
		t.Run(name, func(t *testing.T) {
			options := sound()
			change(&options)
			if output, err := validate(t, bootstrap(t, options)); err != nil {
				t.Errorf("%v: %s", err, output)
			}
		})
	}
}

// odd means something to YAML, JSON, templates and printf, and must not here.
const odd = "a\"'\\: #{{.NodeID}}%s - b: [c] &d *e <é>"

func TestBootstrapKeepsEveryValueAsWritten(t *testing.T) {
	options := envoy.Options{XDSAddress: "unix:/" + odd, NodeID: odd, NodeCluster: odd + "2"}
	var got struct {
		Node struct{ ID, Cluster string }
	}
	text := bootstrap(t, options)
	if err := yaml.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.Node.ID != odd || got.Node.Cluster != odd+"2" {
		t.Errorf("node %+q, want id and cluster as in %+q", got.Node, options)
	}
}

// Who reads the printed file has no template before him.
func TestBootstrapDoesNotSpeakOfItsTemplate(t *testing.T) {
	text, err := envoy.Bootstrap(sound())
	if err != nil {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(string(text), "\n"); !strings.HasPrefix(first, "# The bootstrap of an Envoy") || strings.Contains(string(text), "template") {
		t.Errorf("it begins with %q, or speaks of a template", first)
	}
}

func TestBootstrapDefaultsToALoopbackAdmin(t *testing.T) {
	text := string(bootstrap(t, sound()))
	if want := `{"socket_address":{"address":"127.0.0.1","port_value":9901}}`; !strings.Contains(text, want) {
		t.Errorf("%s is not in\n%s", want, text)
	}
}

// gatefold is told where to ask, where that is known.
func TestBootstrapTellsTheAdminAddress(t *testing.T) {
	for admin, want := range map[string]string{
		"":                       "127.0.0.1:9901",
		"127.0.0.2:9000":         "127.0.0.2:9000",
		"[::1]:9901":             "[::1]:9901",
		"0.0.0.0:9901":           "127.0.0.1:9901",
		"[::]:9901":              "[::1]:9901",
		"10.0.0.1:9901":          "10.0.0.1:9901",
		"127.0.0.1:0":            "",
		"unix:/run/g/admin.sock": "unix:/run/g/admin.sock",
	} {
		options := sound()
		options.AdminAddress = admin
		var got struct {
			Node struct{ Metadata map[string]string }
		}
		if err := yaml.Unmarshal(bootstrap(t, options), &got); err != nil {
			t.Fatal(err)
		}
		if told := got.Node.Metadata["gatefold.io/admin-address"]; told != want || len(got.Node.Metadata) > 1 {
			t.Errorf("%q is told as %v, want %q", admin, got.Node.Metadata, want)
		}
	}
}

func TestBootstrapNamesTheOptionThatIsWrong(t *testing.T) {
	for _, test := range []struct {
		change func(*envoy.Options)
		want   string
	}{
		{func(o *envoy.Options) { o.NodeID = "" }, "node id is empty"},
		{func(o *envoy.Options) { o.NodeCluster = "" }, "node cluster is empty"},
		{func(o *envoy.Options) { o.NodeCluster = "a\xff" }, `node cluster "a\xff" holds more than printable UTF-8`},
		{func(o *envoy.Options) { o.NodeID = "a\nb" }, `node id "a\nb" holds more than printable UTF-8`},
		{func(o *envoy.Options) { o.XDSAddress = "" }, `xDS address "": it is not host:port`},
		{func(o *envoy.Options) { o.XDSAddress = "gatefold" }, `xDS address "gatefold": it is not host:port`},
		{func(o *envoy.Options) { o.XDSAddress = "gatefold:http" }, `"http" is not a port`},
		{func(o *envoy.Options) { o.XDSAddress = "gatefold:70000" }, `"70000" is not a port`},
		{func(o *envoy.Options) { o.XDSAddress = "gatefold:0" }, "the port is 0"},
		{func(o *envoy.Options) { o.XDSAddress = ":18000" }, `"" is neither an IP address nor a DNS name`},
		{func(o *envoy.Options) { o.XDSAddress = "http://gatefold:18000" }, "it is not host:port"},
		{func(o *envoy.Options) { o.XDSAddress = "a b:18000" }, `"a b" is neither`},
		{func(o *envoy.Options) { o.XDSAddress = "unix:xds.sock" }, "the path of a socket is absolute"},
		{func(o *envoy.Options) { o.XDSAddress = "unix:/a\x00" }, "printable"},
		{func(o *envoy.Options) { o.XDSAddress = "unix:/" + strings.Repeat("a", 107) }, "at most 107 bytes"},
		{func(o *envoy.Options) { o.AdminAddress = "localhost:9901" }, `admin address "localhost:9901"`},
		{func(o *envoy.Options) { o.AdminAddress = "unix:admin.sock" }, `admin address "unix:admin.sock": the path of a socket is absolute`},
	} {
		options := sound()
		test.change(&options)
		if _, err := envoy.Bootstrap(options); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+q: %v, want %q in it", options, err, test.want)
		}
	}
}

// A regular expression beyond Envoy's own limit must not cost the route table.
func TestBootstrapLiftsTheLimitOfRegularExpressions(t *testing.T) {
	text := string(bootstrap(t, sound()))
	withRoute := strings.Replace(text, "\nstatic_resources:\n", "\nstatic_resources:\n"+regexListener, 1)
	if output, err := validate(t, []byte(withRoute)); err != nil {
		t.Errorf("%v: %s", err, output)
	}
	own := strings.Replace(withRoute, "re2.max_program_size.error_level", "unused", 1)
	if _, err := validate(t, []byte(own)); err == nil {
		t.Error("Envoy accepts the expression without the lifted limit: this test shows nothing")
	}
}

const regexListener = `
  listeners:
  - name: main
    address: {socket_address: {address: 127.0.0.1, port_value: 8080}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: main
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes: [{match: {safe_regex: {regex: '^/x/[\w]{32}/y$'}}, direct_response: {status: 200}}]
`

// An Envoy with the bootstrap opens a delta stream, says who it is, is not ready
// before it was answered, and comes back when the server does.
func TestBootstrapBringsEnvoyToTheServer(t *testing.T) {
	for name, address := range map[string]string{
		"IP address":  "127.0.0.1:0",
		"DNS name":    "localhost:0",
		"unix socket": "unix:" + filepath.Join(t.TempDir(), "xds.sock"),
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, address)
			e := envoytest.Start(t, envoytest.Options{XDSAddress: server.address, NodeID: "edge-1", NodeCluster: "shop/eg"})
			server.waitFor(t, "edge-1 in shop/eg")
			if page := e.AdminGet("/server_info"); strings.Contains(page, `"state": "LIVE"`) {
				t.Error("Envoy is live without any configuration")
			}
			server.Stop()
			serve(t, server.address).waitFor(t, "edge-1 in shop/eg")
		})
	}
}

// server is an xDS server that tells who comes and never answers.
type server struct {
	*grpc.Server
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	address string
	nodes   chan string
}

func serve(t *testing.T, address string) *server {
	t.Helper()
	network, listenOn := "tcp", address
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		network, listenOn = "unix", path
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), network, listenOn)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Server: grpc.NewServer(), address: address, nodes: make(chan string, 100)}
	if host, port, _ := net.SplitHostPort(address); port == "0" {
		_, port, _ = net.SplitHostPort(listener.Addr().String())
		s.address = net.JoinHostPort(host, port)
	}
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(s, s)
	go func() { _ = s.Serve(listener) }()
	t.Cleanup(s.Stop)
	return s
}

// waitFor waits for the first stream and checks who opened it.
func (s *server) waitFor(t *testing.T, want string) {
	t.Helper()
	envoytest.Wait(t, "a delta stream to "+s.address, func() error {
		select {
		case node := <-s.nodes:
			if node != want {
				t.Errorf("the server sees %s, want %s", node, want)
			}
			return nil
		default:
			return errors.New("none was opened")
		}
	})
}

func (s *server) DeltaAggregatedResources(stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	request, err := stream.Recv()
	if err != nil {
		return err
	}
	s.nodes <- request.GetNode().GetId() + " in " + request.GetNode().GetCluster()
	for err == nil {
		_, err = stream.Recv()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func bootstrap(t *testing.T, options envoy.Options) []byte {
	t.Helper()
	text, err := envoy.Bootstrap(options)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// validate has the real Envoy read the configuration.
func validate(t *testing.T, config []byte) (output string, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "envoy.yaml")
	if err := os.WriteFile(path, config, 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), envoytest.Binary(t), "--mode", "validate", "--log-level", "warning", "--config-path", path)
	text, err := command.CombinedOutput()
	return string(text), err
}
