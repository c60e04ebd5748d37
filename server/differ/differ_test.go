package differ

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/explain"
)

// TestExplainIsWhatEnvoyDoes makes folders at random, has gatefold serve them to a real
// Envoy, and sends requests that are aimed at their rules, with all kinds of oddities:
// what Envoy answers, and what the backend receives, must be what explain says.
//
// With the usual seed it also fails when a field of a rule, a policy or a filter is part of no
// rule that a request met: a field cannot be forgotten.
func TestExplainIsWhatEnvoyDoes(t *testing.T) {
	envoytest.Binary(t) // skips before the work
	requests, seed := testsize.Of(t, 7_200), testsize.Seed(t)
	backends := &recorder{seen: map[string][]*received{}}
	with := startShared(t, backends)
	fleets := []struct {
		clusterPaths tenancy.Globs
		options      translate.Options
		share        int // of 10 worlds
	}{
		{nil, translate.Options{}, 4},
		{tenancy.Globs{"platform/**"}, translate.Options{}, 2},
		{nil, translate.Options{TrustedHops: 1, Weighted: true}, 2},
		{nil, translate.Options{Weighted: true, WeightScope: translate.Siblings}, 2},
	}
	worldsOfAll := max(10, min(300, requests/requestsPerWorld))
	all, next := newTally(), 0
	for _, f := range fleets {
		var worlds []*world
		for range worldsOfAll * f.share / 10 {
			worlds = append(worlds, newWorld(seed, next, with))
			next++
		}
		fleet := startFleet(t, worlds, backends, f.clusterPaths, f.options)
		fleet.run(seed, requests/worldsOfAll, all)
		all.keepLog(fleet)
	}
	t.Log(all)
	if !testing.Short() && seed == 1 { // fewer requests, or others, may leave out a field
		all.coverage.check(t)
		if all.forged == 0 {
			t.Error("no backend got a request that had a forged header")
		}
		for name := range surprises() {
			if all.surprises[name] == 0 {
				t.Errorf("no request met %s", name)
			}
		}
	}
	all.check(t, requests)
	all.shares.check(t, backends)
}

// requestsPerWorld is how many requests a world gets, until there are as many worlds as
// one process has addresses for.
const requestsPerWorld = 60

// run asks each world so many questions, from a few workers.
func (f *fleet) run(seed uint64, perWorld int, all *tally) {
	queue := make(chan *world, len(f.worlds))
	for _, w := range f.worlds {
		queue <- w
	}
	close(queue)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			client := envoytest.NewClient()
			defer client.Close()
			for w := range queue {
				r := rand.New(rand.NewPCG(seed, uint64(w.number)+1_000_000))
				for i := range perWorld {
					x := f.exchange(client, w, w.ask(r, fmt.Sprintf("%s-%d", w.namespace, i)))
					all.note(f, w, x)
				}
			}
		})
	}
	workers.Wait()
}

// exchange asks explain and Envoy the same.
func (f *fleet) exchange(client *envoytest.Client, w *world, q *question) *exchange {
	x := &exchange{question: q}
	query, err := explain.NewQuery(q.method, q.url(), q.headers())
	query.Gateway = q.gateway
	query.From = netip.MustParseAddr("127.0.0.1")
	facts := f.facts
	facts.View = w.view
	if x.asked = err; err == nil {
		x.report, x.asked = explained(facts, query)
	}
	if x.asked == nil {
		answer := explain.Request(w.view, query)
		x.rule, x.unsure = answer.Rule, answer.Unsure
	}
	x.response, x.err = client.Do(q.request(w.address))
	x.received = f.backends.take(q.id)
	return x
}

// explained is Explain, where a panic is an error.
func explained(facts explain.Facts, query explain.Query) (report *explain.Report, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v", reason)
		}
	}()
	return explain.Explain(facts, query)
}

// tally is what has come of all questions.
type tally struct {
	mu       sync.Mutex
	asked    int
	outcomes map[string]int
	unknown  int // answers that Envoy gave and explain could not know
	forged   int // requests that a backend got without a forged header
	// surprises are the requests that met each of surprises, by name.
	surprises map[string]int
	kinds     map[string][]string
	counts    map[string]int
	folder    string
	coverage  *coverage
	shares    *shares
}

func newTally() *tally {
	return &tally{outcomes: map[string]int{}, surprises: map[string]int{}, kinds: map[string][]string{}, counts: map[string]int{}, coverage: newCoverage(), shares: newShares()}
}

var backendsInWords = regexp.MustCompile(`backend \w+( or backend \w+)*`)

// shownOfKind is how many differences of a kind are shown.
const shownOfKind = 2

func (a *tally) note(f *fleet, w *world, x *exchange) {
	difference := x.difference()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	a.coverage.meet(x.rule, f.objects)
	if x.report != nil {
		a.outcomes[string(x.report.Outcome)]++
	}
	if x.unknown {
		a.unknown++
		return
	}
	for name, meets := range surprises() {
		if x.report != nil && x.err == nil && meets(x) {
			a.surprises[name]++
		}
	}
	if difference == "" {
		if x.report.Outcome == explain.Forwarded && x.rule != nil {
			a.shares.note(x)
			if slices.ContainsFunc(x.report.Actions, func(action explain.ActionReport) bool { return action.Type == explain.IdentityHeader }) {
				a.forged++
			}
		}
		return
	}
	kind, _, _ := strings.Cut(backendsInWords.ReplaceAllString(difference, "a backend"), ":")
	a.counts[kind]++
	if len(a.kinds[kind]) < shownOfKind {
		a.kinds[kind] = append(a.kinds[kind], fmt.Sprintf("%s\n   %s\n   hops %d, folder %s\n   %s", difference, x.question, f.hops, a.write(w), ruleText(x)))
	}
}

func ruleText(x *exchange) string {
	if x.rule == nil {
		return "no rule"
	}
	return x.rule.Name
}

// write puts the world's folder where it outlasts the test, and returns its name.
func (a *tally) write(w *world) string {
	if a.folder == "" {
		folder, err := os.MkdirTemp("", "gatefold-differ-")
		if err != nil {
			return err.Error()
		}
		a.folder = folder
	}
	path := filepath.Join(a.folder, w.namespace)
	for name, text := range w.files() {
		file := filepath.Join(path, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err.Error()
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err.Error()
		}
	}
	return path
}

// keepLog keeps the log of an Envoy beside the folders, where one differs.
func (a *tally) keepLog(f *fleet) {
	if a.folder != "" {
		name := filepath.Join(a.folder, "envoy-of-"+f.worlds[0].namespace+".log")
		if err := os.WriteFile(name, []byte(f.envoy.Log()), 0o600); err != nil {
			f.t.Error(err)
		}
	}
}

func (a *tally) String() string {
	var outcomes []string
	for _, name := range slices.Sorted(maps.Keys(a.outcomes)) {
		outcomes = append(outcomes, fmt.Sprintf("%s %d", name, a.outcomes[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(a.surprises)) {
		outcomes = append(outcomes, fmt.Sprintf("%s %d", name, a.surprises[name]))
	}
	return fmt.Sprintf("%d questions: %s; %d answered by what explain lists as unknown, %d with a forged header", a.asked, strings.Join(outcomes, ", "), a.unknown, a.forged)
}

func (a *tally) check(t *testing.T, requests int) {
	t.Helper()
	differ := 0
	for _, kind := range slices.SortedFunc(maps.Keys(a.counts), func(x, y string) int { return a.counts[y] - a.counts[x] }) {
		differ += a.counts[kind]
		t.Logf("%d times: %s", a.counts[kind], strings.Join(a.kinds[kind], "\n"))
	}
	if differ > 0 {
		t.Errorf("explain and Envoy differ about %d of %d requests", differ, a.asked)
	}
	if a.unknown > a.asked/mostUnknown {
		t.Errorf("%d of %d answers say that they do not know enough: that is too many", a.unknown, a.asked)
	}
	for outcome, least := range map[explain.OutcomeKind]int{
		explain.Forwarded: a.asked / 5, explain.Redirected: a.asked / 50, explain.Responded: a.asked / 50,
		explain.NotFound: a.asked / 20, explain.Rejected: a.asked / 50, explain.NoListener: a.asked / 400,
	} {
		if a.outcomes[string(outcome)] < least {
			t.Errorf("%s: %d of %d answers, want %d: the requests prove little", outcome, a.outcomes[string(outcome)], a.asked, least)
		}
	}
	if a.asked < requests*9/10 {
		t.Errorf("%d requests were sent, want %d", a.asked, requests)
	}
}

// mostUnknown: one in so many answers may depend on what explain cannot know.
const mostUnknown = 10
