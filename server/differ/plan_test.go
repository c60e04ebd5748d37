package differ

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/plan"
)

// edited is a world and what became of it by some edits.
type edited struct {
	before, after *world
	edits         []string
	sides         [2]plan.Side
	report        *plan.Report
}

// newEdited returns the world of a seed and a number with edits at random.
func newEdited(seed uint64, number int, with *shared) *edited {
	e := &edited{before: newWorld(seed, number, with)}
	after := *e.before
	after.Rand = rand.New(rand.NewPCG(seed, uint64(number)+2_000_000))
	after.objects = nil
	for _, o := range e.before.objects {
		after.objects = append(after.objects, copied(o))
	}
	e.after = &after
	for range 1 + after.IntN(3) {
		e.edits = append(e.edits, e.edit())
	}
	return e
}

func copied(o object) (out object) {
	text, err := yaml.Marshal(o)
	if err == nil {
		err = yaml.Unmarshal(text, &out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

// indexesOf returns which objects of the world are of the kinds.
func (w *world) indexesOf(kinds ...string) (out []int) {
	for i, o := range w.objects {
		if slices.Contains(kinds, o["kind"].(string)) {
			out = append(out, i)
		}
	}
	return out
}

// edit changes one thing, and returns what.
func (e *edited) edit() string {
	w := e.after
	routes := w.indexesOf("HTTPRoute")
	i := one(w.Rand, routes...)
	route := w.objects[i]
	spec, _ := route["spec"].(object)
	rules, _ := spec["rules"].(list)
	name := fmt.Sprint(route["metadata"].(object)["name"])
	switch choice := w.IntN(12); {
	case choice == 0 && len(routes) > 2:
		w.objects = slices.Delete(w.objects, i, i+1)
		return "removes route " + name
	case choice == 1 && len(rules) > 1:
		j := w.IntN(len(rules))
		spec["rules"] = slices.Delete(slices.Clone(rules), j, j+1)
		return fmt.Sprintf("removes rule %d of route %s", j, name)
	case choice == 2 && len(rules) > 1:
		rules[0], rules[len(rules)-1] = rules[len(rules)-1], rules[0]
		return "swaps rules of route " + name
	case choice == 3:
		spec["hostnames"] = list{one(w.Rand, hostnames()...)}
		return "changes the hostnames of route " + name
	case choice == 4 && len(rules) > 0:
		other := w.objects[one(w.Rand, routes...)]
		theirs, _ := other["spec"].(object)["rules"].(list)
		if len(theirs) > 0 {
			rule := copied(theirs[w.IntN(len(theirs))].(object))
			delete(rule, "name")
			spec["rules"] = append(slices.Clone(rules), any(rule))
			return "copies a rule into route " + name
		}
	case choice == 5 && len(rules) > 0:
		return w.editMatch(rules[w.IntN(len(rules))].(object)) + " of route " + name
	case choice <= 7 && len(rules) > 0:
		return w.editBackends(rules[w.IntN(len(rules))].(object)) + " of route " + name
	case choice <= 9:
		if policies := w.indexesOf("TrafficPolicy"); len(policies) > 0 {
			return w.editPolicy(policies[w.IntN(len(policies))])
		}
	case choice == 10:
		gateways := w.indexesOf("Gateway", "ListenerSet")
		return w.editListeners(w.objects[gateways[w.IntN(len(gateways))]])
	case choice == 11:
		kept := w.objects
		w.addRoute()
		for len(w.objects) > len(kept)+1 { // children of it
			w.objects = w.objects[:len(w.objects)-1]
		}
		return "adds a route"
	}
	return "nothing"
}

func (w *world) editMatch(rule object) string {
	matches, _ := rule["matches"].(list)
	if len(matches) == 0 {
		rule["matches"] = list{object{"path": object{"type": "PathPrefix", "value": one(w.Rand, "/a", "/x", "/a/b")}}}
		return "gives matches to a rule"
	}
	match := matches[w.IntN(len(matches))].(object)
	switch w.IntN(4) {
	case 0:
		match["method"] = one(w.Rand, "GET", "POST")
	case 1:
		delete(match, "headers")
	case 2:
		match["path"] = object{"type": one(w.Rand, "PathPrefix", "Exact"), "value": one(w.Rand, "/a", "/a/b", "/x", "/b")}
	case 3:
		match["headers"] = list{object{"name": "x-a", "value": one(w.Rand, "1", "2")}}
	}
	return "changes a match"
}

func (w *world) editBackends(rule object) string {
	refs, _ := rule["backendRefs"].(list)
	if len(refs) == 0 {
		delete(rule, "filters")
		rule["backendRefs"] = list{object{"group": "gateway.kgateway.dev", "kind": "Backend", "name": one(w.Rand, "b0", "b1", "b2")}}
		return "gives backends to a rule"
	}
	ref := refs[w.IntN(len(refs))].(object)
	switch w.IntN(3) {
	case 0:
		ref["weight"] = w.IntN(4)
	case 1:
		if ref["kind"] == "Backend" {
			ref["name"] = one(w.Rand, "b0", "b1", "b2", "refused", "gone")
		}
	case 2:
		delete(rule, "filters")
	}
	return "changes backends or filters"
}

func (w *world) editPolicy(i int) string {
	policy := w.objects[i]
	name := fmt.Sprint(policy["metadata"].(object)["name"])
	spec := policy["spec"].(object)
	if w.IntN(3) == 0 {
		w.objects = slices.Delete(w.objects, i, i+1)
		return "removes policy " + name
	}
	for _, field := range slices.Sorted(keysOf(spec)) {
		if !strings.HasPrefix(field, "target") && w.IntN(2) == 0 {
			delete(spec, field)
			return "removes " + field + " of policy " + name
		}
	}
	spec["headerModifiers"] = object{"request": object{"set": list{object{"name": "x-m", "value": one(w.Rand, "a", "b")}}}}
	return "changes policy " + name
}

func keysOf(o object) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range o {
			if !yield(key) {
				return
			}
		}
	}
}

func (w *world) editListeners(o object) string {
	spec := o["spec"].(object)
	listeners := spec["listeners"].(list)
	j := w.IntN(len(listeners))
	name := fmt.Sprint(listeners[j].(object)["name"])
	if len(listeners) > 1 && w.IntN(2) == 0 {
		spec["listeners"] = slices.Delete(slices.Clone(listeners), j, j+1)
		return "removes listener " + name
	}
	listeners[j].(object)["hostname"] = one(w.Rand, "*.test", "a.test", "*.c.test")
	return "changes the hostname of listener " + name
}

// sideOf translates the worlds together, and returns the part of each.
func sidesOf(t *testing.T, worlds []*world) (sides []plan.Side) {
	t.Helper()
	files := map[string][]byte{}
	for _, w := range worlds {
		maps.Copy(files, w.files())
	}
	s, err := store.New(store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	change := s.Apply(cases.Tree(files))
	result := translate.New(translate.Options{Bind: []string{"127.0.0.1"}}).Apply(change)
	f := &fleet{t: t, facts: explain.Facts{View: result.View()}}
	for _, w := range worlds {
		w.view = f.viewOf(w)
		sides = append(sides, plan.Side{View: w.view, Objects: change.Set, Resources: plan.ResourcesOf(result.Delta), Places: s.Places})
	}
	return sides
}

// answered is what explain says that a client or a backend sees.
func answered(t *testing.T, w *world, query explain.Query) (explain.Answer, *explain.Report) {
	t.Helper()
	report, err := explain.Explain(explain.Facts{View: w.view}, query)
	if err != nil {
		report = &explain.Report{Outcome: explain.NoListener}
	}
	return explain.Request(w.view, query), &explain.Report{
		Outcome: report.Outcome, Status: report.Status, Location: report.Location, GRPCStatus: report.GRPCStatus, Backends: seenBackends(report.Backends),
	}
}

func seenBackends(all []explain.BackendReport) (out []explain.BackendReport) {
	for _, b := range all {
		out = append(out, explain.BackendReport{Cluster: b.Cluster, Status: b.Status, GRPCStatus: b.GRPCStatus, Percent: b.Percent, Endpoints: b.Endpoints, Receives: b.Receives})
	}
	return out
}

// covers reports whether a region of the report has a request with these answers.
func (e *edited) covers(port uint32, gateway string, before, after explain.Answer) bool {
	names := [2]string{}
	for i, a := range []explain.Answer{before, after} {
		if a.Rule != nil {
			names[i] = a.Rule.Name
		}
	}
	in := func(r plan.Region) bool {
		return r.Port == port && (gateway == "" || r.Gateway == gateway) &&
			(r.Match == plan.WholePort || r.Match == "every request" && r.Host == "*" || r.Before.Envoy() == names[0] && r.After.Envoy() == names[1])
	}
	for _, list := range [][]plan.Change{e.report.Requests, e.report.Handling} {
		for _, change := range list {
			if slices.ContainsFunc(change.Regions, in) {
				return true
			}
		}
	}
	return slices.ContainsFunc(e.report.Undecided, func(r plan.Region) bool { // it names a rule that changed
		return r.Before != nil && r.Before.Envoy() == names[0] || r.After != nil && r.After.Envoy() == names[1]
	})
}

// TestPlanMissesNoRequest edits folders at random and asks explain about requests of both: each that
// gets another answer must be in a region of the plan.
func TestPlanMissesNoRequest(t *testing.T) {
	t.Parallel() // with TestPlannedRequestsChangeOnEnvoy, which waits for Envoys
	worlds, seed := testsize.Of(t, 8), testsize.Seed(t)
	backends := &recorder{seen: map[string][]*received{}}
	with := startShared(t, backends)
	var all planTally
	batch := min(worlds, batchOfPlans)
	for first := 0; first < worlds || all.changed < provingChanges && first < 20*worlds; first += batch {
		for i, e := range editedBatch(t, seed, first, first+batch, with) {
			all.edits += len(e.edits)
			e.misses(t, rand.New(rand.NewPCG(seed, uint64(first+i)+3_000_000)), &all)
		}
		if worlds > batch {
			t.Logf("%d of %d folders: %+v", first+batch, worlds, all)
		}
	}
	t.Logf("%d edits, %d requests, of which %d change, and %d are in no region", all.edits, all.asked, all.changed, all.missed)
	if all.missed > 0 {
		t.Errorf("%d requests of %d that change are in no region", all.missed, all.changed)
	}
	if all.changed < provingChanges {
		t.Errorf("%d of %d requests change: they prove little", all.changed, all.asked)
	}
}

// provingChanges is how many requests must change before TestPlanMissesNoRequest has proved something. With few
// folders, the test edits more of them until then.
const provingChanges = 5

// batchOfPlans is how many folders are translated together.
const batchOfPlans = 16

// editedBatch returns the worlds of some numbers with edits and their plans.
func editedBatch(t *testing.T, seed uint64, first, end int, with *shared) (all []*edited) {
	t.Helper()
	var before, after []*world
	for number := first; number < end; number++ {
		e := newEdited(seed, number, with)
		all, before, after = append(all, e), append(before, e.before), append(after, e.after)
	}
	old, now := sidesOf(t, before), sidesOf(t, after)
	for i, e := range all {
		report, err := plan.Compare(t.Context(), old[i], now[i])
		if err != nil {
			t.Fatal(err)
		}
		e.sides, e.report = [2]plan.Side{old[i], now[i]}, report
	}
	return all
}

// planTally counts what was tried.
type planTally struct{ edits, asked, changed, missed int }

// misses asks for random requests of both worlds, and fails for those that change and are in no region.
func (e *edited) misses(t *testing.T, r *rand.Rand, all *planTally) {
	for n := range 500 {
		w := e.before
		if n%2 == 1 {
			w = e.after
		}
		q := w.ask(r, fmt.Sprint(n))
		query, err := explain.NewQuery(q.method, q.url(), q.headers())
		if err != nil {
			continue
		}
		query.Gateway, query.From = q.gateway, netip.MustParseAddr("127.0.0.1")
		all.asked++
		x, one := answered(t, e.before, query)
		y, other := answered(t, e.after, query)
		if reflect.DeepEqual(one, other) || len(x.Candidates)+len(y.Candidates) > 0 {
			continue
		}
		all.changed++
		if !e.covers(query.Port, query.Gateway, x, y) {
			if all.missed++; all.missed < 8 {
				t.Errorf("%s (%s): %s\n  %s (%v)\n  %s (%v)\n%s", w.namespace, strings.Join(e.edits, ", "), q, one.Outcome, nameOf(x), other.Outcome, nameOf(y), e.report.Summary)
			}
		}
	}
}

func nameOf(a explain.Answer) string {
	if a.Rule == nil {
		return "no rule"
	}
	return a.Rule.Name
}
