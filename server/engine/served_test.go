package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/watcher"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mistaken": mistaken})
}

// mistaken FOLDER STATE XDS ADMIN is a gatefold whose translator fails at HTTPRoutes with the
// annotation bad and a backend.
func mistaken() {
	options := Options{
		Folder: Folder{Watch: watcher.Options{Root: os.Args[1], Limits: watcher.DefaultLimits()}},
		Server: server.Options{XDSAddress: os.Args[3], AdminAddress: os.Args[4]},
		State:  State{Dir: os.Args[2], Named: true},
	}
	options.Folder.Store.Save = true
	options.Folder.translators = func(options translate.Options) translator {
		return &mistakenTranslator{translator: translate.New(options), fails: badForward, bad: map[manifest.Key]bool{}}
	}
	if err := Serve(context.Background(), options, zerolog.New(os.Stderr).Level(zerolog.ErrorLevel)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// served is a folder with a Gateway, the backends a and b and a route for each name, from the
// path prefix /NAME to a; and the addresses and the state of a gatefold that serves it.
type served struct {
	t                         *testing.T
	folder, state             string
	address, host, xds, admin string // of the Gateway, and of gatefold
}

func newServed(t *testing.T, routes ...string) *served {
	t.Helper()
	host, port := envoytest.LoopbackAddress(), envoytest.FreePort(t)
	free := func() string { return net.JoinHostPort(host, fmt.Sprint(envoytest.FreePort(t))) }
	s := &served{
		t: t, folder: t.TempDir(), state: filepath.Join(t.TempDir(), "state"),
		address: net.JoinHostPort(host, fmt.Sprint(port)), host: host, xds: free(), admin: free(),
	}
	s.write("gateway.yaml", fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: eg}\n"+
		"spec: {gatewayClassName: gatefold, addresses: [{value: %s}], listeners: [{name: http, port: %d, protocol: HTTP}]}\n", host, port))
	for _, name := range []string{"a", "b"} {
		s.write("backend-"+name+".yaml", fmt.Sprintf("apiVersion: gateway.kgateway.dev/v1alpha1\nkind: Backend\nmetadata: {name: %s}\n"+
			"spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: %d}]}}\n", name, envoytest.Echo(t, name, "").Port()))
	}
	for _, name := range routes {
		s.write(name+".yaml", s.route(name, "a"))
	}
	return s
}

// write puts a file in place by rename.
func (s *served) write(name, text string) {
	s.t.Helper()
	temporary := filepath.Join(s.folder, "."+name)
	s.must(os.WriteFile(temporary, []byte(text), 0o600))
	s.must(os.Rename(temporary, filepath.Join(s.folder, name)))
}

func (s *served) must(errs ...error) {
	s.t.Helper()
	if err := errors.Join(errs...); err != nil {
		s.t.Fatal(err)
	}
}

func (s *served) route(name, backend string) string {
	return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: %[1]s}\nspec:\n  parentRefs: [{name: eg}]\n"+
		"  rules:\n  - matches: [{path: {value: /%[1]s}}]\n    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: %[2]s}]\n", name, backend)
}

// connect starts an Envoy.
func (s *served) connect() {
	envoytest.Start(s.t, envoytest.Options{
		XDSAddress: s.xds, NodeID: "edge-1", NodeCluster: "default/eg",
		AdminAddress: net.JoinHostPort(s.host, fmt.Sprint(envoytest.FreePort(s.t))),
	})
}

// target is a route under load; backends are the answers that are right.
func (s *served) target(route string, backends ...string) envoytest.Target {
	request := envoytest.Request{Address: s.address, Path: "/" + route}
	return envoytest.Target{Name: route, Request: request, Check: func(r *envoytest.Response) error {
		if r.Status != 200 || !strings.Contains(strings.Join(backends, " "), r.Backend) {
			return fmt.Errorf("status %d from %q", r.Status, r.Backend)
		}
		return nil
	}}
}

// waitFor waits until a backend answers the requests of a route.
func (s *served) waitFor(route, backend string) {
	s.t.Helper()
	target := s.target(route, backend)
	envoytest.Wait(s.t, fmt.Sprintf("/%s to be answered by %s", route, backend), func() error {
		response, err := envoytest.Try(target.Request)
		if err != nil {
			return err
		}
		return target.Check(response)
	})
}

// waitPage waits until an admin page has what ok wants.
func (s *served) waitPage(page, what string, ok func(text string) bool) {
	s.t.Helper()
	envoytest.Wait(s.t, what, func() error {
		response, err := http.Get("http://" + s.admin + page) //nolint:noctx // the test ends it
		if err != nil {
			return err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err == nil && !ok(string(text)) {
			err = errors.New(string(text))
		}
		return err
	})
}

// connected waits until the Envoy has all that gatefold serves now.
func (s *served) connected() {
	s.t.Helper()
	s.waitPage("/metrics", "an Envoy to connect", func(text string) bool { return strings.Contains(text, "\ngatefold_xds_streams 1\n") })
	s.waitPage("/api/v1/status/Gateway/default/eg", "the Gateway to be programmed", func(text string) bool {
		return strings.Contains(text, "Programmed") && !strings.Contains(text, `"reason": "Pending"`)
	})
}
