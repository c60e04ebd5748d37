package differ

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// fleet is a folder of many worlds, each a namespace with a Gateway of its own, that
// one gatefold serves to one Envoy.
type fleet struct {
	t        *testing.T
	worlds   []*world
	backends *recorder
	objects  map[manifest.Key]*manifest.Object
	// facts are what explain is asked with.
	facts explain.Facts
	hops  uint32
	envoy *envoytest.Envoy
}

// startFleet serves the worlds with the cluster paths (nil for no path policies) and the options, and returns once Envoy serves all of
// them.
func startFleet(t *testing.T, worlds []*world, backends *recorder, clusterPaths tenancy.Globs, options translate.Options) *fleet {
	t.Helper()
	f := &fleet{t: t, worlds: worlds, backends: backends, objects: map[manifest.Key]*manifest.Object{}, hops: options.TrustedHops}
	files := map[string][]byte{}
	for _, w := range worlds {
		if clusterPaths != nil {
			w.fence()
		}
		maps.Copy(files, w.files())
	}
	s, err := store.New(store.Options{ClusterPaths: clusterPaths})
	if err != nil {
		t.Fatal(err)
	}
	change := s.Apply(cases.Tree(files))
	for _, object := range change.Set {
		f.objects[object.Key] = object
	}
	options.Bind = []string{envoytest.LoopbackAddress()} // no world binds it
	result := translate.New(options).Apply(change)
	f.facts = explain.Facts{View: result.View(), Places: s.Places}
	f.facts.Problems = append(f.facts.Problems, change.Problems...)
	f.facts.Problems = append(f.facts.Problems, s.Locate(result.Problems)...)
	f.facts.Statuses = append(f.facts.Statuses, result.Status...)
	discovery := startServer(t, result)
	envoy := envoytest.Start(t, envoytest.Options{XDSAddress: discovery})
	f.envoy = envoy
	envoy.WaitReady()
	envoytest.Wait(t, "Envoy's tables and secrets", func() error { // for which its listeners wait some seconds alone
		for line := range strings.Lines(envoy.AdminGet("/stats?filter=" + url.QueryEscape(`(\.rds\.|sds\.).*update_success`))) {
			if strings.HasSuffix(strings.TrimSpace(line), ": 0") {
				return errors.New(line)
			}
		}
		return nil
	})
	for _, w := range worlds {
		w.view = f.viewOf(w)
		for _, port := range w.served() {
			envoy.WaitListener(fmt.Sprintf("%s:%d", w.address, port.Port.Port))
		}
	}
	return f
}

// viewOf is the part of the View that a question about the world is answered from.
func (f *fleet) viewOf(w *world) *ir.View {
	f.t.Helper()
	view := *f.facts.View
	view.Gateways = nil
	for _, gateway := range f.facts.View.Gateways {
		if strings.HasPrefix(gateway.Name, w.namespace+"/") {
			view.Gateways = append(view.Gateways, gateway)
		}
	}
	if len(view.Gateways) == 0 {
		f.t.Fatalf("no Gateway of %s serves:\n%s", w.namespace, w.text(func(object) bool { return true }))
	}
	return &view
}

// startServer serves a Result and returns the address of xDS.
func startServer(t *testing.T, result translate.Result) string {
	t.Helper()
	bound := make(chan net.Addr, 1)
	s := server.New(server.Options{
		XDSAddress: "127.0.0.1:0", AdminAddress: "127.0.0.1:0", BarrierWait: time.Hour,
		Listening: func(xds, _ net.Addr) { bound <- xds },
	}, zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel))
	s.Publish(result)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case address := <-bound:
		return address.String()
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
	}
	return ""
}
