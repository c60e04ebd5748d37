package translate_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// TestTreesOnARealEnvoy makes random trees of delegation and inclusion, serves
// all of them by one real Envoy, and sends requests that are aimed at their
// rules, and near them: what Envoy does must be what explain says.
func TestTreesOnARealEnvoy(t *testing.T) {
	const perTree = 100
	envoytest.Binary(t)                                           // skips before the work
	trees, seed := min(testsize.Of(t, 60), 400), testsize.Seed(t) // of 510 addresses of a process
	backends := map[string]*envoytest.EchoServer{"a": envoytest.Echo(t, "Backend/a/s1", ""), "b": envoytest.Echo(t, "Backend/b/s1", "")}
	s, err := store.New(store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var static envoytest.Static
	var served []*servedTree
	clusters := map[string]bool{}
	for i := range uint64(trees) {
		r := rand.New(rand.NewPCG(seed, i))
		tree := &servedTree{number: i, random: r, files: serveable(r, backends), address: envoytest.LoopbackAddress()}
		tree.translate(t, s)
		tree.addTo(t, &static, clusters)
		served = append(served, tree)
	}
	e := envoytest.Start(t, envoytest.Options{Config: static.Config(t)})
	for _, tree := range served {
		e.WaitListener(tree.address + ":8080")
	}
	asked := askTrees(t, served, perTree)
	t.Log(asked)
	asked.check(t, trees)
}

// serveable returns the files of a tree that has a Gateway and two backends.
func serveable(r *rand.Rand, backends map[string]*envoytest.EchoServer) map[string]string {
	files := map[string]string{}
	for range 40 {
		editTree(r, files)
	}
	name, text := treeGateway(r)
	files[name] = text
	// Where hostnames bound the namespace of the Gateway, its listener for all hosts is rejected.
	name, text = document("v1", "Namespace", "", "a", "  labels: {team: x}\n")
	files[name] = text
	for namespace, echo := range backends {
		name, text := treeBackend(namespace)
		files[name] = strings.Replace(text, "host: 10.0.0.1, port: 80", fmt.Sprintf("host: 127.0.0.1, port: %d", echo.Port()), 1)
	}
	return files
}

// servedTree is a tree that listens on an address of its own.
type servedTree struct {
	number  uint64
	random  *rand.Rand
	files   map[string]string
	address string
	// twin is an address where compiled tables are served as lists, "" for none;
	// compiled are the ports that have one.
	twin     string
	compiled map[uint32]bool
	state
}

// translate empties the store for it: a new one would compile the schemas again.
func (s *servedTree) translate(t *testing.T, objects *store.Store) {
	t.Helper()
	objects.AllowEmpty()
	objects.Apply(tree(nil))
	options := scoped(s.number)
	options.Bind = []string{s.address}
	translator := translate.New(options)
	s.state = newState()
	s.hear(translator.Apply(objects.Apply(tree(s.files))))
}

// addTo adds the resources as they are published. Names are made unique, as they
// are in an Envoy of one tree, and each route tells its own in a header.
func (s *servedTree) addTo(t *testing.T, static *envoytest.Static, clusters map[string]bool) {
	t.Helper()
	for _, update := range s.resources {
		switch update.Type {
		case xds.ListenerType:
			table := s.resources[update.Gateway+" "+xds.RouteType+" "+ir.TableName(update.Name, ir.FilterGeneration)].Resource
			s.addListener(t, static, update.Resource.Body, table.Body)
			if s.twin != "" && cases.Compiled(table) {
				list, err := cases.Listed(table, s.view())
				if err != nil {
					t.Fatal(err)
				}
				twin := s.addListener(t, static, update.Resource.Body, list)
				twin.Name += " linear"
				twin.Address.GetSocketAddress().Address = s.twin
				s.compiled[twin.Address.GetSocketAddress().GetPortValue()] = true
			}
		case xds.ClusterType:
			if !clusters[update.Name] {
				clusters[update.Name] = true
				static.AddCluster(t, update.Resource.Body)
			}
		}
	}
}

func (s *servedTree) addListener(t *testing.T, static *envoytest.Static, listener, table []byte) *listenerv3.Listener {
	t.Helper()
	routes := &routev3.RouteConfiguration{}
	envoytest.Decode(t, table, routes)
	nameRoutes(t, routes)
	added := static.AddListener(t, listener, routes)
	added.Name = fmt.Sprintf("%d %s", s.number, added.Name)
	return added
}

func nameRoutes(t *testing.T, routes *routev3.RouteConfiguration) {
	t.Helper()
	envoytest.EachRoute(t, routes, func(_ *routev3.VirtualHost, route *routev3.Route) {
		route.ResponseHeadersToAdd = append(route.ResponseHeadersToAdd, &corev3.HeaderValueOption{
			Header: &corev3.HeaderValue{Key: "x-rule", Value: route.Name}, AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
		})
	})
}

// answers is what has come of all requests.
type answers struct {
	mu          sync.Mutex
	requests    int
	outcomes    map[string]int // by kind
	depths      map[int]int    // by the number of routes above the rule's
	hit         map[uint64]bool
	differences []string
	twins       int // requests that a compiled table and a list have answered
}

func (a *answers) String() string {
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(a.outcomes)) {
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, a.outcomes[kind]))
	}
	return fmt.Sprintf("%d requests, %d differ; %d trees are hit; %s; by depth %v", a.requests, len(a.differences), len(a.hit), strings.Join(kinds, ", "), a.depths)
}

// check fails on a difference, and when the trees prove little.
func (a *answers) check(t *testing.T, trees int) {
	t.Helper()
	for _, difference := range a.differences[:min(3, len(a.differences))] {
		t.Error(difference)
	}
	if least := trees * 9 / 10; len(a.hit) < least {
		t.Errorf("requests hit rules of %d trees, want %d", len(a.hit), least)
	}
	for kind, least := range map[string]int{"backend": a.requests / 10, "500": a.requests / 20, "404": a.requests / 50, "redirect": 1, "delegated": a.requests / 20, "included": a.requests / 100} {
		if a.outcomes[kind] < least {
			t.Errorf("%s: %d, want %d: the requests prove little", kind, a.outcomes[kind], least)
		}
	}
}

// askTrees sends the requests from a few workers, which take tree after tree.
func askTrees(t *testing.T, trees []*servedTree, perTree int) *answers {
	t.Helper()
	all := &answers{outcomes: map[string]int{}, depths: map[int]int{}, hit: map[uint64]bool{}}
	queue := make(chan *servedTree, len(trees))
	for _, tree := range trees {
		queue <- tree
	}
	close(queue)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			client := envoytest.NewClient()
			defer client.Close()
			for tree := range queue {
				view := tree.view()
				for range perTree {
					query := tree.aim(view)
					answer := explain.Request(view, query)
					request := envoytest.Request{
						Address: fmt.Sprintf("%s:%d", tree.address, query.Port), Method: query.Method, Host: query.Host, Path: query.Path, Headers: query.Headers,
					}
					response, err := client.Do(request)
					all.note(tree, query, answer, compareAnswer(answer, response, err))
					if tree.compiled[query.Port] {
						request.Address = fmt.Sprintf("%s:%d", tree.twin, query.Port)
						linear, err := client.Do(request)
						all.noteTwin(tree, query, compareAnswer(answer, linear, err))
					}
				}
			}
		})
	}
	workers.Wait()
	return all
}

func (a *answers) note(tree *servedTree, query explain.Query, answer explain.Answer, difference string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests++
	outcome := fmt.Sprint(answer.Outcome.Status)
	switch {
	case len(answer.Outcome.Backends) > 0:
		outcome = "backend"
	case answer.Outcome.Location != "":
		outcome = "redirect"
	}
	a.outcomes[outcome]++
	if rule := answer.Rule; rule != nil {
		a.hit[tree.number] = true
		a.depths[len(rule.Chain)]++
		if n := len(rule.Chain); n > 0 {
			kind := "delegated"
			if rule.Chain[n-1].Included {
				kind = "included"
			}
			a.outcomes[kind]++
		}
	}
	if difference != "" {
		a.differences = append(a.differences, fmt.Sprintf("tree %d: %s %s:%d%s %v\n%s\n%s", tree.number, query.Method, query.Host, query.Port, query.Path, query.Headers, difference, tree.text()))
	}
}

// noteTwin tells of the same request to the table as a list.
func (a *answers) noteTwin(tree *servedTree, query explain.Query, difference string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.twins++; difference != "" {
		a.differences = append(a.differences, fmt.Sprintf("tree %d as a list: %s %s:%d%s %v\n%s", tree.number, query.Method, query.Host, query.Port, query.Path, query.Headers, difference))
	}
}

func (s *servedTree) text() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		b.WriteString("---\n" + s.files[name])
	}
	return b.String()
}

// told is what explain and Envoy are compared by.
type told struct {
	Status   int
	Rule     string
	Location string
	// Of a request that a backend got:
	Backend, Host, Path string
	Headers             [3][]string
}

// compareAnswer says in what an answer differs, "" when it does not.
func compareAnswer(answer explain.Answer, response *envoytest.Response, err error) string {
	if err != nil {
		return err.Error()
	}
	want := told{Status: int(answer.Outcome.Status), Location: answer.Outcome.Location}
	if answer.Rule != nil {
		want.Rule = answer.Rule.Name
	}
	got := told{Status: response.Status, Rule: response.Headers.Get("x-rule"), Location: response.Headers.Get("Location"), Backend: response.Backend}
	for _, backend := range answer.Outcome.Backends {
		want.Status, want.Backend, want.Host, want.Path = http.StatusOK, backend.Cluster, answer.Outcome.Host, answer.Outcome.Path
		want.Headers = shown(backend.Headers)
	}
	if response.Backend != "" && len(response.Body) > 0 {
		var echoed struct {
			Host, Path, Query string
			Headers           http.Header
		}
		if err := json.Unmarshal(response.Body, &echoed); err != nil {
			return err.Error()
		}
		got.Host, got.Path, got.Headers = echoed.Host, echoed.Path, shown(echoed.Headers)
		if echoed.Query != "" {
			got.Path += "?" + echoed.Query
		}
	}
	if wanted, gotten := mustJSON(want), mustJSON(got); wanted != gotten {
		return fmt.Sprintf(" explain: %s (path %s)\n Envoy:   %s", wanted, answer.Path, gotten)
	}
	return ""
}

// shown are the headers that the trees change, or ask for.
func shown(headers http.Header) (out [3][]string) {
	for i, name := range []string{"X-A", "X-B", "X-T"} {
		out[i] = headers[name]
	}
	return out
}

// aim returns a request for a rule of the tree, or one that just misses it.
func (s *servedTree) aim(view *ir.View) explain.Query {
	r := s.random
	port := pick(r, view.Gateways[0].Ports...)
	query := explain.Query{Host: "other.com", Port: port.Port.Port, Method: pick(r, "GET", "GET", "GET", "POST"), Path: "/a", Headers: http.Header{}}
	if len(port.Hosts) > 0 {
		host := pick(r, port.Hosts...)
		if host.Domain != "*" {
			query.Host = strings.Replace(host.Domain, "*", pick(r, "x", "a", "x.y"), 1)
		}
		if rules := slices.Collect(host.Rules); len(rules) > 0 {
			deeper := func(a, b *ir.Rule) int { return len(a.Chain) - len(b.Chain) }
			cases.AimAt(r, &query, slices.MaxFunc([]*ir.Rule{pick(r, rules...), pick(r, rules...), pick(r, rules...)}, deeper).Match)
		}
	}
	if r.IntN(2) == 0 {
		query.Path = cases.Near(r, query.Path)
	}
	switch r.IntN(12) {
	case 0:
		query.Headers.Del("X-A")
	case 1:
		query.Headers.Set("X-A", "b")
	case 2:
		query.Method = pick(r, "GET", "POST")
	case 3:
		query.Host = pick(r, "b.com", "a.example.com", "x.example.com", "other.com")
	case 4:
		query.Path, _, _ = strings.Cut(query.Path, "?")
	}
	return query
}
