package server_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/expect"
	"github.com/gatefold/gatefold/translate/xds"
)

// TestCasesOnARealEnvoy runs the requests of every case and example through a real Envoy,
// at the start and after each edit: traffic must be what the case says, and so
// what explain says.
func TestCasesOnARealEnvoy(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	all, err := cases.Load("../translate/testdata")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := cases.Examples("../examples")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range append(all, examples...) {
		t.Run(c.Name, func(t *testing.T) {
			run := startCase(t, c)
			for _, step := range c.Steps {
				run.apply(step)
				for _, request := range step.Requests {
					run.send(step.Prefix, request)
				}
			}
			run.wantClosedRules()
		})
	}
}

// caseRun is one case on its way.
type caseRun struct {
	*running
	t          *testing.T
	store      *store.Store
	translator *translate.Translator
	options    translate.Options                // of the translator
	address    string                           // of the Gateways
	network    string                           // of the backends
	echoes     map[string]*envoytest.EchoServer // by "ip:port"
	byName     map[string][]*envoytest.EchoServer
	extensions map[string]bool // services that policies ask, by "ip:port"; with "/udp" those of datagrams
	listeners  map[string]bool // of Gateways with addresses, by "ip:port"
	speakTLS   map[string]cases.TLSBackend
	envoy      *envoytest.Envoy
	nacks      int // that rejected has told of
	// moves is true if addresses move from listener to listener: Envoy acknowledges that
	// before its workers have closed the old one, and what connects to that is reset.
	moves bool
	// Rules may answer 500 where the release is before what the case needs; such answers are counted.
	c           *cases.Case
	release     xds.Release
	closedRules int
}

// startCase starts gatefold with the options of a case, and an Envoy with arguments.
func startCase(t *testing.T, c *cases.Case, args ...string) *caseRun {
	t.Helper()
	return startCaseOf(t, c, server.Options{BindRetry: 50 * time.Millisecond}, func(xds string) envoytest.Options {
		return envoytest.Options{XDSAddress: xds, Args: args}
	})
}

// startCaseOf starts gatefold with the options of a case and of a server, and the Envoy that with returns
// for an address of xDS.
func startCaseOf(t *testing.T, c *cases.Case, of server.Options, with func(xds string) envoytest.Options) *caseRun {
	t.Helper()
	options := c.Options
	s, err := store.New(c.Store)
	if err != nil {
		t.Fatal(err)
	}
	address := envoytest.LoopbackAddress()
	network := envoytest.Network(t)
	options.Bind, options.AddressPool = []string{address}, cases.Pool(options.AddressPool, network)
	if c.SystemCA != "" {
		options.SystemCA = filepath.Join(t.TempDir(), "ca.crt")
		if c.SystemCA != "missing" {
			envoytest.Replace(t, options.SystemCA, envoytest.FixedAuthority(t, c.SystemCA).PEM)
		}
	}
	run := &caseRun{
		running: start(t, of), t: t, store: s, address: address,
		extensions: map[string]bool{}, listeners: map[string]bool{}, speakTLS: c.TLS,
		echoes: map[string]*envoytest.EchoServer{}, byName: map[string][]*envoytest.EchoServer{},
		translator: translate.New(options), options: options,
		network: network, c: c,
	}
	run.envoy = envoytest.Start(t, with(run.xds.String()))
	return run
}

// restart ends gatefold and starts it again, with these options of a server, while the Envoy runs on. As after each
// start, nothing of the folder is known: the next apply publishes all of it, and not only what changed.
func (run *caseRun) restart(of server.Options) {
	run.t.Helper()
	s, err := store.New(run.c.Store)
	if err != nil {
		run.t.Fatal(err)
	}
	of.XDSAddress = run.xds.String()
	run.stop()
	run.running, run.store, run.translator = start(run.t, of), s, translate.New(run.options)
}

// apply publishes the folder of a step and waits until Envoy has taken it.
func (run *caseRun) apply(step cases.Step) {
	run.t.Helper()
	change := run.store.Apply(step.Tree(run.network))
	for _, object := range change.Set {
		run.noteListeners(object)
	}
	for _, object := range change.Set {
		run.startEchoes(object)
	}
	run.Publish(run.translator.Apply(change))
	run.until("Envoy to hold "+step.Prefix+"the folder", func() bool {
		streams := run.audience("default/eg")
		return len(streams) > 0 && streams[0].settled()
	})
	run.release = xds.ReleaseOf(run.audience("default/eg")[0].Envoy)
	for _, request := range step.Requests {
		if !request.Closed && request.URL.Scheme != "udp" {
			run.envoy.WaitListener(run.addressOf(request) + ":" + request.URL.Port())
		}
	}
}

// addressOf is where a request goes: the address in the status of the Gateway that it
// names.
func (run *caseRun) addressOf(r expect.Request) string {
	if r.Gateway == "" {
		return run.address
	}
	if gateway := run.gatewayStatus(r.Gateway); gateway != nil && len(gateway.Addresses) > 0 {
		return gateway.Addresses[0].Value
	}
	return run.address
}

// noteListeners notes the addresses of a Gateway: an endpoint there is no backend, but the Gateway.
func (run *caseRun) noteListeners(object *manifest.Object) {
	if gateway, ok := manifest.As[*gwv1.Gateway](object); ok {
		for _, address := range gateway.Spec.Addresses {
			for _, listener := range gateway.Spec.Listeners {
				run.listeners[fmt.Sprintf("%s:%d", address.Value, listener.Port)] = true
			}
		}
	}
}

// startEchoes starts a backend for each endpoint of the object in the case's
// network. It answers with the name of the Backend or Service; one that speaks gRPC
// is a service that policies ask.
func (run *caseRun) startEchoes(object *manifest.Object) {
	if b, ok := manifest.As[*api.Backend](object); ok {
		start := run.startEcho
		if p := b.Spec.Static.AppProtocol; p != nil && *p == api.AppProtocolGRPC {
			start = run.startExtension
		}
		for _, host := range b.Spec.Static.Hosts {
			start(b.Name, host.Host, host.Port)
			run.startUDP(b.Name, host.Host, host.Port)
		}
	}
	if slice, ok := manifest.As[*discoveryv1.EndpointSlice](object); ok {
		for _, port := range slice.Ports {
			start := run.startEcho
			switch {
			case port.Protocol != nil && *port.Protocol == corev1.ProtocolUDP:
				start = run.startUDP
			case port.AppProtocol != nil && *port.AppProtocol == string(api.AppProtocolGRPC):
				start = run.startExtension
			}
			for _, endpoint := range slice.Endpoints {
				start(slice.Labels[discoveryv1.LabelServiceName], endpoint.Addresses[0], *port.Port)
			}
		}
	}
}

func (run *caseRun) startEcho(name, host string, port int32) {
	address := fmt.Sprintf("%s:%d", host, port)
	if !strings.HasPrefix(host, run.network) || run.echoes[address] != nil || run.listeners[address] {
		return
	}
	b, ok := run.speakTLS[cases.Network+strings.TrimPrefix(address, run.network)]
	switch {
	case envoytest.IsSignIn(name):
		run.startSignIn(name, address, b, ok)
		return
	case ok:
		run.echoes[address] = envoytest.EchoTLS(run.t, name, address, run.tlsConfig(b))
	default:
		run.echoes[address] = envoytest.Echo(run.t, name, address)
	}
	run.byName[name] = append(run.byName[name], run.echoes[address])
}

func (run *caseRun) startSignIn(name, address string, b cases.TLSBackend, secure bool) {
	if run.extensions[address] {
		return
	}
	run.extensions[address] = true
	var config *tls.Config
	if secure {
		config = run.tlsConfig(b)
	}
	envoytest.StartSignIn(run.t, name, address, config)
}

func (run *caseRun) tlsConfig(b cases.TLSBackend) *tls.Config {
	config := &tls.Config{Certificates: []tls.Certificate{envoytest.FixedAuthority(run.t, b.Authority).Pair(b.Names...)}}
	if b.Client != "" {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, envoytest.FixedAuthority(run.t, b.Client).Pool()
	}
	return config
}

func (run *caseRun) startUDP(name, host string, port int32) {
	address := fmt.Sprintf("%s:%d/udp", host, port)
	if strings.HasPrefix(host, run.network) && !run.extensions[address] {
		run.extensions[address] = true
		envoytest.EchoUDP(run.t, name, strings.TrimSuffix(address, "/udp"))
	}
}

func (run *caseRun) startExtension(name, host string, port int32) {
	address := fmt.Sprintf("%s:%d", host, port)
	if strings.HasPrefix(host, run.network) && !run.extensions[address] {
		run.extensions[address] = true
		envoytest.StartExtension(run.t, name, address)
	}
}

// send sends a request, often enough to see every backend of a weighted rule,
// and compares each answer.
func (run *caseRun) send(prefix string, r expect.Request) {
	run.t.Helper()
	r.Backends = withoutNamespaces(r.Backends)
	if run.c.Differs(r.Line, run.release) {
		run.t.Logf("SKIPPED with Envoy %s: %s%s", run.release, prefix, r.Line)
		return
	}
	if r.Connection() {
		run.connect(prefix, r)
		return
	}
	if r.Closed {
		run.wantClosed(prefix, r)
		return
	}
	copies := map[string]int64{}
	for name := range r.Mirrors {
		copies[name] = run.received(name)
	}
	seen := map[string]int{}
	times := 1
	if len(r.Backends) > 1 || slices.ContainsFunc(slices.Collect(maps.Values(r.Mirrors)), func(share int) bool { return share < 100 }) {
		times = 200
	}
	for range times {
		response := run.answer(prefix, r)
		if run.closedRule(response) {
			return
		}
		name, wrong := compareResponse(response, r)
		if wrong != "" {
			run.t.Errorf("%s%s\n\tEnvoy: %s", prefix, r.Line, wrong)
			return
		}
		seen[name]++
	}
	for name, weight := range r.Backends {
		if (seen[name] > 0) != (weight > 0) {
			run.t.Errorf("%s%s\n\tEnvoy: %v of %d", prefix, r.Line, seen, times)
		}
	}
	run.checkCopies(prefix, r, copies, int64(times))
}

// withoutNamespaces returns backends by what they answer with: their names alone.
func withoutNamespaces(backends map[string]int) map[string]int {
	out := map[string]int{}
	for name, weight := range backends {
		out[path.Base(name)] += weight
	}
	return out
}

// closedRule reports whether the answer is that of a rule which this Envoy is too old for.
func (run *caseRun) closedRule(response *envoytest.Response) bool {
	closed := run.release.Before(run.c.NeedsEnvoy) && response.Backend == "" &&
		(response.Status == http.StatusInternalServerError || response.Headers.Get("Grpc-Status") == "2")
	if closed {
		run.closedRules++
	}
	return closed
}

// wantClosedRules fails if the case needs a newer Envoy by its heading, and did not.
func (run *caseRun) wantClosedRules() {
	if run.release.Before(run.c.NeedsEnvoy) && run.closedRules == 0 {
		run.t.Errorf("the case needs Envoy %s by its heading, and Envoy %s serves all of it", run.c.NeedsEnvoy, run.release)
	}
}

// checkCopies compares how many copies the mirrors have got of so many requests. They
// come after the answer: those of mirrors that get all are waited for, then it is seen
// that a mirror which gets a share has got some and not all, or none.
func (run *caseRun) checkCopies(prefix string, r expect.Request, before map[string]int64, times int64) {
	run.t.Helper()
	for _, name := range slices.SortedFunc(maps.Keys(r.Mirrors), func(a, b string) int { return r.Mirrors[b] - r.Mirrors[a] }) {
		share, got := r.Mirrors[name], func() int64 { return run.received(name) - before[name] }
		if share > 0 {
			run.until("a copy for "+name, func() bool { return got() > 0 && (share < 100 || got() >= times) })
		}
		if n := got(); share < 100 && n == times || share == 0 && n > 0 {
			run.t.Errorf("%s%s\n\tEnvoy: %d copies for %s of %d requests", prefix, r.Line, n, name, times)
		}
		if host := run.byName[name][0].Host(); r.Host != "" && share == 100 && host != r.Host {
			run.t.Errorf("%s%s\n\tEnvoy: the copy is for host %s", prefix, r.Line, host)
		}
	}
}

// request is a line of the case as it goes out.
func (run *caseRun) request(r expect.Request) envoytest.Request {
	out := envoytest.Request{
		Address: run.addressOf(r) + ":" + r.URL.Port(), Method: r.Method, Host: r.URL.Host, Path: r.Target, Headers: r.Header(),
		Body: strings.Repeat("x", r.BodySize), HTTP2: r.HTTP2, From: r.From,
	}
	if r.Proxy != "" {
		family, to := "TCP4", run.address
		if strings.Contains(r.Proxy, ":") {
			family, to = "TCP6", "::1"
		}
		out.Preface = fmt.Sprintf("PROXY %s %s %s 4000 %s\r\n", family, r.Proxy, to, r.URL.Port())
	}
	if r.URL.Scheme == "https" || r.URL.Scheme == "tls" {
		out.TLS = &envoytest.TLS{ServerName: r.SNI, HTTP2: r.HTTP2}
		if r.TLS12 {
			out.TLS.MaxVersion = tls.VersionTLS12
		}
		if r.Client != "" {
			pair := envoytest.FixedAuthority(run.t, r.ClientOf).Pair(r.Client)
			out.TLS.Certificate = &pair
		}
	}
	return out
}

// answer returns what a request gets. An edit of a listener that serves, or of a
// certificate, counts once a worker of Envoy has taken it, which nothing tells: then
// the right answer is waited for.
func (run *caseRun) answer(prefix string, r expect.Request) (response *envoytest.Response) {
	run.t.Helper()
	if prefix == "" || r.URL.Scheme != "https" && !run.moves {
		return envoytest.Do(run.t, run.request(r))
	}
	envoytest.Wait(run.t, prefix+r.Line, func() (err error) {
		if response, err = envoytest.Try(run.request(r)); err != nil {
			return err
		}
		if _, wrong := compareResponse(response, r); wrong != "" && !run.closedRule(response) {
			return errors.New(wrong)
		}
		return nil
	})
	return response
}

// received is how many requests the backends of a name have got.
func (run *caseRun) received(name string) int64 {
	var n int64
	for _, echo := range run.byName[name] {
		n += echo.Requests()
	}
	return n
}

// wantClosed waits until nothing listens on the port of a request.
func (run *caseRun) wantClosed(prefix string, r expect.Request) {
	run.t.Helper()
	envoytest.Wait(run.t, prefix+r.Line, func() error {
		if answer, err := envoytest.Try(run.request(r)); err == nil {
			return fmt.Errorf("status %d", answer.Status)
		}
		return nil
	})
}

// compareResponse returns the name of what answered, and what is wrong with it.
func compareResponse(got *envoytest.Response, want expect.Request) (name, wrong string) {
	name = got.Backend
	if name == "" {
		name = fmt.Sprint(got.Status)
	}
	if want.Failure != 0 {
		name = want.BackendNames()[0]
	}
	_, expected := want.Backends[name]
	switch {
	case want.Failure != 0 && got.Status != want.Failure, want.Failure == 0 && got.Backend != "" && got.Status != http.StatusOK:
		return name, fmt.Sprintf("status %d from %q", got.Status, got.Backend)
	case len(want.Backends) > 0 && !expected:
		return name, fmt.Sprintf("status %d from %q", got.Status, got.Backend)
	case len(want.Backends) == 0 && (got.Status != want.Status || got.Backend != ""):
		return name, fmt.Sprintf("status %d from %q", got.Status, got.Backend)
	case want.Certificate != "" && want.Certificate != got.Certificate.DNSNames[0]:
		return name, fmt.Sprintf("certificate for %v", got.Certificate.DNSNames)
	case want.Location != "" && got.Headers.Get("Location") != want.Location:
		return name, "location " + got.Headers.Get("Location")
	}
	for header, value := range want.Answer {
		if wrong := compareHeader(got.Headers.Values(header), value); wrong != "" {
			return name, "response " + header + wrong
		}
	}
	if got.Backend == "" || want.Method == http.MethodHead || got.Status == http.StatusSwitchingProtocols {
		return name, ""
	}
	return name, compareEchoed(got, want)
}

// compareEchoed compares what the backend has received.
func compareEchoed(got *envoytest.Response, want expect.Request) string {
	echoed, err := got.Echoed()
	if err != nil {
		return err.Error()
	}
	path := echoed.Path
	if echoed.Query != "" {
		path += "?" + echoed.Query
	}
	switch {
	case want.Path != "" && path != want.Path:
		return "path " + path
	case want.Host != "" && echoed.Host != want.Host:
		return "host " + echoed.Host
	case want.Protocol != "" && echoed.Proto != want.Protocol:
		return "protocol " + echoed.Proto
	}
	for header, value := range want.ToBackend {
		if wrong := compareHeader(echoed.Headers.Values(header), value); wrong != "" {
			return "request " + header + wrong
		}
	}
	return ""
}

// compareHeader wants the joined values to be want, or none where want is "-".
func compareHeader(values []string, want string) string {
	if want == "-" && len(values) == 0 || want != "-" && strings.Join(values, ",") == want {
		return ""
	}
	return fmt.Sprintf(": %q", values)
}
