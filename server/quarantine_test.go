package server_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy"
	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// folded is a folder that is served to an Envoy that takes small regular
// expressions only: so rules that pass our checks are rejected.
type folded struct {
	*running
	mu         sync.Mutex // held while something is published
	store      *store.Store
	translator *translate.Translator
	files      map[string][]byte
	resources  map[string]*xds.Resource // what was published last, by type and name
	address    string
	envoysAt   string // where Envoys find gatefold
}

func startFolded(t *testing.T, options server.Options) *folded {
	t.Helper()
	s, err := store.New(store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	port := envoytest.FreePort(t)
	f := &folded{store: s, translator: translate.New(translate.Options{Bind: []string{"127.0.0.1"}}), files: map[string][]byte{}, resources: map[string]*xds.Resource{}, address: fmt.Sprintf("127.0.0.1:%d", port)}
	options.Quarantine = func(set translate.Quarantine) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.translator.Quarantine(set)
		f.Publish(f.translator.Apply(store.Change{}))
	}
	f.running = start(t, options)
	f.envoysAt = f.xds.String()
	f.files["gateway.yaml"] = fmt.Appendf(nil, `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  listeners: [{name: http, port: %d, protocol: HTTP}]
`, port)
	return f
}

// startBlaming is startFolded where Envoys tell of their limit of regular expressions in words of which gatefold does not
// know that they are about the Envoy: it takes every rejection for a fault of the rule.
func startBlaming(t *testing.T, options server.Options) *folded {
	t.Helper()
	f := startFolded(t, options)
	f.envoysAt = rewording(t, f.xds.String())
	return f
}

// Publish publishes a Result, and notes its resources.
func (f *folded) Publish(result translate.Result) {
	for _, u := range result.Delta {
		if f.resources[u.Type+" "+u.Name] = u.Resource; u.Resource == nil {
			delete(f.resources, u.Type+" "+u.Name)
		}
	}
	f.running.Publish(result)
}

// bootstrap is that of an Envoy that takes all that we send.
func (f *folded) bootstrap(node string) []byte {
	f.t.Helper()
	config, err := envoy.Bootstrap(envoy.Options{XDSAddress: f.envoysAt, AdminAddress: "127.0.0.1:0", NodeID: node, NodeCluster: "default/eg"})
	if err != nil {
		f.t.Fatal(err)
	}
	return config
}

// small starts an Envoy whose limit of regular expressions is not lifted.
func (f *folded) small(node string) *envoytest.Envoy {
	f.t.Helper()
	config := f.bootstrap(node)
	text := strings.ReplaceAll(string(config), "re2.max_program_size", "re2.not_this")
	if text == string(config) {
		f.t.Fatal("the bootstrap does not lift the limit")
	}
	return envoytest.Start(f.t, envoytest.Options{Config: []byte(text)})
}

// route writes a file with a route: /NAME answers with a redirect to host, or, with
// a pattern, what fits that.
func (f *folded) route(name, host, pattern string) {
	f.t.Helper()
	path := "{value: /" + name + "}"
	if pattern != "" {
		path = fmt.Sprintf("{type: RegularExpression, value: %q}", pattern)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files[name+".yaml"] = fmt.Appendf(nil, `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s}
spec:
  parentRefs: [{name: eg}]
  rules:
  - matches: [{path: %s}]
    filters: [{type: RequestRedirect, requestRedirect: {hostname: %s}}]
`, name, path, host)
	f.Publish(f.translator.Apply(f.store.Apply(cases.Tree(f.files))))
}

// leads waits until a path is answered with a redirect to host.
func (f *folded) leads(path, host string) {
	f.t.Helper()
	envoytest.Wait(f.t, path+" to lead to "+host, func() error {
		response, err := envoytest.Try(envoytest.Request{Address: f.address, Path: path})
		if err == nil && !strings.Contains(response.Headers.Get("Location"), host) {
			err = fmt.Errorf("status %d, %s", response.Status, response.Headers.Get("Location"))
		}
		return err
	})
}

// reload is `gatefold reload`.
func (f *folded) reload() {
	f.t.Helper()
	response, err := http.Post("http://"+f.admin.String()+admin.ReloadPath, "", nil)
	if err != nil {
		f.t.Fatal(err)
	}
	if response.Body.Close(); response.StatusCode != http.StatusOK {
		f.t.Fatalf("reload: %s", response.Status)
	}
}

// says returns the conditions of an object as text.
func (f *folded) says(key manifest.Key) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return string(f.shownStatus(key))
}

func (f *folded) waitFor(key manifest.Key, words ...string) {
	f.t.Helper()
	envoytest.Wait(f.t, key.String()+" to say "+strings.Join(words, ", "), func() error {
		for _, word := range words {
			if said := f.says(key); !strings.Contains(said, word) {
				return fmt.Errorf("it says %s", said)
			}
		}
		return nil
	})
}

// tooBig is a pattern that passes our checks, of more than 100 instructions.
const tooBig = `/big/[a-z]{150}`

func httpRoute(name string) manifest.Key {
	return manifest.Key{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute", Namespace: "default", Name: name}
}

// A rule that every Envoy rejects is in quarantine: its route tells Envoy's words
// and node, the Gateway is programmed, everybody else's edits go on, and a change
// of the rule is enough for it to serve again.
func TestARejectedRuleIsQuarantinedUntilItChanges(t *testing.T) {
	f := startBlaming(t, server.Options{})
	f.route("other", "one.example", "")
	f.small("edge-1")
	f.leads("/other", "one.example")
	f.route("bad", "bad.example", tooBig)
	f.waitFor(httpRoute("bad"), "edge-1", otherLimit, "UnsupportedValue")
	f.waitFor(ir.GatewayKey("default/eg"), `"type":"Programmed","status":"True"`)
	f.route("other", "two.example", "")
	f.leads("/other", "two.example")
	f.until("it holds all", func() bool { return f.quiet("default/eg") })
	f.small("edge-2") // what comes later is asked itself, and the Gateway stays programmed
	f.until("both hold it", func() bool {
		streams := f.audience("default/eg")
		return len(streams) == 2 && streams[0].settled() && streams[1].settled() && f.rejectedParts("default/eg") == 0
	})
	f.waitFor(httpRoute("bad"), otherLimit, "UnsupportedValue")
	f.waitFor(ir.GatewayKey("default/eg"), `"type":"Programmed","status":"True"`)
	f.route("bad", "good.example", "/big/[a-z]+")
	f.leads("/big/x", "good.example")
	if said := f.says(httpRoute("bad")); strings.Contains(said, "edge-1") {
		t.Errorf("mended, it says %s", said)
	}
}

func rejectionsIn(figures string) string {
	return regexp.MustCompile(`(?m)^gatefold_xds_nacks_total.*RouteConfiguration.*$`).FindString(figures)
}

// A rule that one Envoy alone cannot serve is kept from that one: the Gateway is not
// programmed there and says why, and every other Envoy serves it.
func TestARuleThatOneEnvoyCannotServeIsKeptFromItAlone(t *testing.T) {
	f := startFolded(t, server.Options{Folder: askedFolder{}})
	f.route("other", "one.example", "")
	f.small("small-1")
	f.leads("/other", "one.example")
	f.route("big", "big.example", tooBig)
	f.waitFor(ir.GatewayKey("default/eg"), `"type":"Programmed","status":"False"`, "small-1", "default/big/0/0", "which is left out there", "max program size")
	f.route("other", "two.example", "")
	f.leads("/other", "two.example")
	if said := f.says(httpRoute("big")); strings.Contains(said, "max program size") {
		t.Errorf("the route is quarantined: %s", said)
	}

	f.until("it holds all else", func() bool { return f.one("default/eg", seen.settled) })
	before := rejectionsIn(f.get(t, "/metrics"))
	f.reload() // asks it again
	f.until("it has rejected the rule again", func() bool {
		now := rejectionsIn(f.get(t, "/metrics"))
		return before != "" && now != before && f.one("default/eg", seen.settled)
	})
	f.route("big", "big.example", "/big/[a-z]+")
	f.leads("/big/x", "big.example")
	f.waitFor(ir.GatewayKey("default/eg"), `"type":"Programmed","status":"True"`)
}

// The quarantine ends when the Envoys that rejected the rule are gone, and one that takes it
// serves it; no reload is needed.
func TestTheQuarantineEndsWithTheEnvoysThatRejected(t *testing.T) {
	f := startBlaming(t, server.Options{})
	f.route("other", "one.example", "")
	small := f.small("edge-1")
	f.leads("/other", "one.example")
	f.route("big", "big.example", tooBig)
	f.waitFor(httpRoute("big"), "edge-1", otherLimit)
	small.Stop()
	envoytest.Wait(t, "the route without a rejection", func() error {
		if said := f.says(httpRoute("big")); strings.Contains(said, "edge-1") {
			return fmt.Errorf("it says %s", said)
		}
		return nil
	})
	f.honest("edge-1")
	f.leads("/big/"+strings.Repeat("x", 150), "big.example")
}

// badRules are HTTPRoutes of 16 rules each that an Envoy rejects, for a hostname; one path in the middle is good.
func badRules(routes int, hostname string) string {
	var all strings.Builder
	for i := range routes {
		fmt.Fprintf(&all, "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: b%d}\nspec:\n  parentRefs: [{name: eg}]\n%s  rules:\n", i, hostname)
		for k := range 16 {
			path := fmt.Sprintf("{type: RegularExpression, value: '/b%d/r%d/[a-z]{150}'}", i, k)
			if i == routes/2 && k == 0 {
				path = "{value: /good}"
			}
			fmt.Fprintf(&all, "  - matches: [{path: %s}]\n    filters: [{type: RequestRedirect, requestRedirect: {hostname: bad.example}}]\n", path)
		}
	}
	return all.String()
}

// probes is how many probes were sent to all Envoys.
func (f *folded) probes(t *testing.T) (count int) {
	if _, err := fmt.Sscanf(regexp.MustCompile(`(?m)^gatefold_xds_probes_total.*$`).FindString(f.get(t, "/metrics")), "gatefold_xds_probes_total %d", &count); err != nil {
		t.Fatal(err)
	}
	return count
}

// The search for thousands of rules that an Envoy rejects keeps no other host of the table waiting, in the
// same edit and in later ones.
func TestOtherHostsAreServedWhileRejectedRulesAreSearched(t *testing.T) {
	f := startBlaming(t, server.Options{})
	f.route("other", "one.example", "")
	f.small("edge-1")
	f.leads("/other", "one.example")
	const hostname = "  hostnames: [bad.example]\n"
	f.write("bad.yaml", strings.ReplaceAll(badRules(1, hostname), "{150}", ""))
	f.until("it holds all", func() bool { return f.one("default/eg", seen.settled) })
	f.write("bad.yaml", badRules(125, hostname))
	for _, host := range []string{"two.example", "three.example"} {
		f.route("other", host, "")
		f.leads("/other", host)
	}
	served := f.probes(t)
	f.waitFor(httpRoute("b0"), "edge-1", otherLimit)
	total := f.probes(t)
	t.Logf("served after %d of %d probes", served, total)
	if served > total/2 {
		t.Errorf("edits of another host were served after %d of %d probes", served, total)
	}
}

// Of 2,000 rules in one edit that an Envoy rejects, each is found and in quarantine; a good rule of
// the same edit is served, and so are later edits.
func TestThousandsOfRejectedRulesAreFound(t *testing.T) {
	f := startBlaming(t, server.Options{})
	f.route("other", "one.example", "")
	f.small("edge-1")
	f.leads("/other", "one.example")
	const routes = 125
	began := time.Now()
	f.write("bad.yaml", badRules(routes, ""))
	f.leads("/good", "bad.example")
	t.Logf("searched for %s, with %d probes", time.Since(began), f.probes(t))
	for _, i := range []int{0, routes / 2, routes - 1} {
		f.waitFor(httpRoute(fmt.Sprint("b", i)), "edge-1", otherLimit)
	}
	f.waitFor(ir.GatewayKey("default/eg"), `"type":"Programmed","status":"True"`)
	f.route("other", "two.example", "")
	f.leads("/other", "two.example")
}
