package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/watcher"
)

// mistakenTranslator is a translator with a mistake: it fails as long as it has certain objects.
type mistakenTranslator struct {
	translator
	fails   func(*manifest.Object) bool
	torn    bool // it panics itself, and must not be used afterwards
	unnamed bool // the mistake names no object
	lost    bool
	bad     map[manifest.Key]bool
}

// Take takes a Change, and fails in the middle of its work.
func (f *mistakenTranslator) Take(stop memo.Stop, change store.Change) error {
	if f.lost {
		panic("used after it was torn")
	}
	for _, key := range change.Gone {
		delete(f.bad, key)
	}
	for _, o := range change.Set {
		if delete(f.bad, o.Key); f.fails(o) {
			f.bad[o.Key] = true
		}
	}
	if len(f.bad) == 0 {
		return f.translator.Take(stop, change)
	}
	_ = f.translator.Take(ended{errOverdue}, change)
	if f.lost = f.torn; f.lost {
		panic("a mistake")
	}
	fault := &translate.Fault{Cause: errors.New("a mistake")}
	if !f.unnamed {
		fault.Objects = slices.SortedFunc(maps.Keys(f.bad), manifest.CompareKeys)[:1]
	}
	return fault
}

// ended is a memo.Stop that ends at once.
type ended struct{ error }

func (e ended) Err() error { return e.error }

// withMistake gives a pipeline a translator that fails at the objects of which fails is true.
func withMistake(p *pipeline, fails func(*manifest.Object) bool, change ...func(*mistakenTranslator)) {
	p.translation.translators = func(options translate.Options) translator {
		f := &mistakenTranslator{translator: translate.New(options), fails: fails, bad: map[manifest.Key]bool{}}
		for _, c := range change {
			c(f)
		}
		return f
	}
	p.translation.restart()
}

// marked reports whether an object has the annotation that a mistakenTranslator fails at.
func marked(o *manifest.Object) bool {
	route, ok := o.Value.(*api.HTTPRoute)
	return o.Value.GetAnnotations()["bad"] == "true" && !(ok && len(route.Spec.Rules[0].Filters) == 0)
}

// object is one document; with bad, one at which a mistakenTranslator fails.
func object(kind, name string, bad bool, spec string) string {
	group, annotations := "gateway.networking.k8s.io/v1", ""
	if kind == "TrafficPolicy" {
		group = "gateway.kgateway.dev/v1alpha1"
	}
	if bad {
		annotations = `, annotations: {bad: "true"}`
	}
	return fmt.Sprintf("---\n{apiVersion: %s, kind: %s, metadata: {name: %s%s}, spec: {%s}}\n", group, kind, name, annotations, spec)
}

func routeTo(host string) string {
	return "parentRefs: [{name: eg}], hostnames: [" + host + "], rules: [{filters: [{type: RequestRedirect, requestRedirect: {hostname: elsewhere.test, statusCode: 301}}]}]"
}

// answers are the statuses that hosts answer with for /, by the last View.
func answers(r *recorder) map[string]string { return answersOf(r.published[len(r.published)-1]) }

func answersOf(result translate.Result) map[string]string {
	out := map[string]string{}
	for domain, rule := range rulesOf(result.View()) {
		switch {
		case rule.Action.Redirect != nil:
			out[domain] = "redirect"
		case rule.Action.Forward != nil && len(rule.Action.Forward.Backends) == 0:
			out[domain] = "500"
		case rule.Action.Respond != nil:
			out[domain] = fmt.Sprint(rule.Action.Respond.Status)
		}
	}
	return out
}

// rulesOf yields the rules of all hosts, each with the domain of its host.
func rulesOf(view *ir.View) iter.Seq2[string, *ir.Rule] {
	return func(yield func(string, *ir.Rule) bool) {
		for _, gateway := range view.Gateways {
			for _, port := range gateway.Ports {
				for _, host := range port.Hosts {
					for rule := range host.Rules {
						if !yield(host.Domain, rule) {
							return
						}
					}
				}
			}
		}
	}
}

func internalErrors(p *pipeline) (names []string) {
	for _, o := range p.reader.standing.all {
		if o.Code == store.InternalError {
			names = append(names, fmt.Sprintf("%s %s:%d", o.Object.Name, o.File, o.Line))
		}
	}
	slices.Sort(names)
	return names
}

// A mistake in gatefold costs the object that causes it: a new route answers 500, an edit of one that served is not
// applied, and all others follow their edits.
func TestAMistakeCostsItsObject(t *testing.T) {
	p, r, log := newTestPipeline(t)
	withMistake(p, marked)
	folder := func(edit int, bad bool) string {
		text := oneGateway + "\n"
		for i := range 20 {
			text += object("HTTPRoute", fmt.Sprint("r", i), bad && (i == 3 || i == 11), routeTo(fmt.Sprintf("r%d-%d.test", i, edit)))
		}
		return text
	}
	fresh := func(bad bool) string { return object("HTTPRoute", "fresh", bad, routeTo("fresh.test")) }
	p.reload(tree(folder(1, false)))
	p.reload(tree(folder(2, true) + fresh(true)))
	if got := r.outcome(); got != "problems" {
		t.Fatalf("outcome %s\n%s", got, log)
	}
	got := answers(r)
	if got["r3-1.test"] != "redirect" || got["r11-1.test"] != "redirect" || got["fresh.test"] != "500" {
		t.Errorf("the bad ones answer %v", got)
	}
	for i := range 20 {
		if i != 3 && i != 11 && got[fmt.Sprintf("r%d-2.test", i)] != "redirect" {
			t.Errorf("r%d does not follow its edit: %v", i, got)
		}
	}
	if named := internalErrors(p); len(named) != 3 || !strings.HasPrefix(named[0], "fresh a.yaml:") {
		t.Errorf("problems at %q", named)
	}
	if stale := r.published[1].Stale; len(stale) != 2 || stale[0].Key.Name != "r11" || stale[0].Line == 0 {
		t.Errorf("stale: %+v", stale)
	}
	if c := accepted(t, r, "fresh"); c.Status != "False" || !strings.Contains(c.Message, "mistake in gatefold") {
		t.Errorf("fresh is %+v", c)
	}
	p.reload(tree(folder(3, true) + fresh(true))) // the others go on
	if got := answers(r); got["r3-1.test"] != "redirect" || got["r4-3.test"] != "redirect" || got["fresh.test"] != "500" || len(got) != 21 {
		t.Errorf("a later edit: %v", got)
	}
	p.reload(tree(folder(2, false) + fresh(false))) // they are fixed
	if got := answers(r); got["r3-2.test"] != "redirect" || got["fresh.test"] != "redirect" || len(internalErrors(p)) > 0 {
		t.Errorf("after the fix: %v, %q", got, internalErrors(p))
	}
	if c := accepted(t, r, "fresh"); c.Status != "True" {
		t.Errorf("after the fix, fresh is %+v", c)
	}
}

// An edit that is held for an error of its own stays held when gatefold fails at another one, also after the edits were
// judged: in publishing.
func TestAMistakeReleasesNoOtherEdit(t *testing.T) {
	p, r, log := newTestPipeline(t)
	r.panicsAt = "bad.test"
	folder := func(host, gateway string) watcher.Tree {
		typo := strings.Replace(teamRoute("elsewhere", "typo"), "name: eg", "name: "+gateway, 1)
		other := strings.NewReplacer("{name: a}", "{name: a, namespace: other}", "{name: eg}", "{name: eg, namespace: default}").Replace(object("HTTPRoute", "a", false, routeTo(host)))
		return tree(openGateway + "\n---\n" + typo + other)
	}
	p.reload(folder("1.test", "eg"))
	p.reload(folder("1.test", "misspelt"))
	p.reload(folder("bad.test", "misspelt"))
	if got := answers(r); got["typo.elsewhere.test"] != "500" || got["1.test"] != "redirect" || len(p.reader.store.Held()) != 2 {
		t.Errorf("%v, held: %v\n%s", got, p.reader.store.Held(), log)
	}
}

// A mistake that names no object costs the edits of the revision, new objects included: they are applied when a later
// revision is without the one that causes it. One that leaves the translator between two states costs no more.
func TestAMistakeThatNamesNobodyCostsTheRevision(t *testing.T) {
	for name, how := range map[string]func(*mistakenTranslator){
		"unnamed": func(f *mistakenTranslator) { f.unnamed = true },
		"torn":    func(f *mistakenTranslator) { f.torn = true },
	} {
		t.Run(name, func(t *testing.T) {
			p, r, log := newTestPipeline(t)
			withMistake(p, marked, how)
			folder := func(edit int, bad bool) string {
				return oneGateway + "\n" + object("HTTPRoute", "a", false, routeTo(fmt.Sprintf("a%d.test", edit))) +
					object("HTTPRoute", "b", bad, routeTo(fmt.Sprintf("b%d.test", edit)))
			}
			p.reload(tree(folder(1, false)))
			p.reload(tree(folder(2, true) + object("HTTPRoute", "fresh", false, routeTo("fresh.test"))))
			if got := answers(r); got["a1.test"] != "redirect" || got["b1.test"] != "redirect" || len(got) != 2 || len(internalErrors(p)) != 3 {
				t.Errorf("%v, %q\n%s", got, internalErrors(p), log)
			}
			p.reload(tree(folder(2, false) + object("HTTPRoute", "fresh", false, routeTo("fresh.test"))))
			if got := answers(r); got["a2.test"] != "redirect" || got["b2.test"] != "redirect" || got["fresh.test"] != "redirect" || len(internalErrors(p)) > 0 {
				t.Errorf("after the fix: %v, %q", got, internalErrors(p))
			}
		})
	}
}

// At a start, a mistake that names no object but a Gateway costs the Gateway.
func TestAMistakeOfAGatewayAtAStart(t *testing.T) {
	p, r, log := newTestPipeline(t)
	other := strings.NewReplacer("eg", "other", "8080", "8081").Replace(oneGateway)
	p.translation.translators = func(options translate.Options) translator {
		return &mistakenGateway{translator: translate.New(options)}
	}
	p.translation.restart()
	p.reload(tree(oneGateway + "\n---\n" + other + "\n" + object("HTTPRoute", "a", false, strings.Replace(routeTo("a.test"), "eg", "other", 1))))
	if got := answers(r); got["a.test"] != "redirect" || len(internalErrors(p)) != 1 || !strings.HasPrefix(internalErrors(p)[0], "eg ") {
		t.Errorf("%v, %q\n%s", got, internalErrors(p), log)
	}
}

// mistakenGateway fails as long as it has the Gateway eg.
type mistakenGateway struct {
	translator
	has bool
}

func (f *mistakenGateway) Take(stop memo.Stop, change store.Change) error {
	of := manifest.Key{Group: gwv1.GroupName, Kind: "Gateway", Namespace: "default", Name: "eg"}
	f.has = f.has || slices.ContainsFunc(change.Set, func(o *manifest.Object) bool { return o.Key == of })
	if f.has = f.has && !slices.Contains(change.Gone, of); f.has {
		_ = f.translator.Take(ended{errOverdue}, change)
		return &translate.Fault{Gateway: of, Cause: errors.New("a mistake")}
	}
	return f.translator.Take(stop, change)
}

// accepted is the newest Accepted condition of a route that was published.
func accepted(t *testing.T, r *recorder, name string) (c struct{ Status, Message string }) {
	t.Helper()
	for _, result := range r.published {
		for _, u := range result.Status {
			routes, ok := u.Status.(*gwv1.RouteStatus)
			if !ok || u.Key.Name != name {
				continue
			}
			for _, condition := range routes.Parents[0].Conditions {
				if condition.Type == string(gwv1.RouteConditionAccepted) {
					c.Status, c.Message = string(condition.Status), condition.Message
				}
			}
		}
	}
	return c
}

// A policy that cannot be translated closes its targets, as any invalid one does.
func TestAWithheldPolicyCloses(t *testing.T) {
	p, r, log := newTestPipeline(t)
	withMistake(p, marked)
	text := oneGateway + "\n" + object("HTTPRoute", "a", false, routeTo("a.test")) + object("HTTPRoute", "b", false, routeTo("b.test"))
	policy := "targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: a}], timeouts: {request: 1s}"
	p.reload(tree(text + object("TrafficPolicy", "p", true, policy)))
	if got := answers(r); got["a.test"] != "500" || got["b.test"] != "redirect" || len(internalErrors(p)) != 1 {
		t.Errorf("%v, %q\n%s", got, internalErrors(p), log)
	}
	p.reload(tree(text + object("TrafficPolicy", "p", false, policy)))
	if got := answers(r); got["a.test"] != "redirect" || len(internalErrors(p)) != 0 {
		t.Errorf("fixed: %v, %q", got, internalErrors(p))
	}
}

// At a start, each of many objects at which gatefold fails costs itself.
func TestManyMistakesCostTheirObjects(t *testing.T) {
	p, r, _ := newTestPipeline(t)
	withMistake(p, marked)
	text := oneGateway + "\n"
	for i := range 600 {
		text += object("HTTPRoute", fmt.Sprint("r", i), i%2 == 0, routeTo(fmt.Sprintf("r%d.test", i)))
	}
	p.reload(tree(text))
	count := map[string]int{}
	for _, answer := range answers(r) {
		count[answer]++
	}
	if r.outcome() != "problems" || count["redirect"] != 300 || count["500"] != 300 {
		t.Errorf("%s: the hosts answer %v", r.outcome(), count)
	}
}

// A route without a last valid version stays closed, at the hosts that it has now, when an edit
// leaves the mistake in.
func TestAWithheldRouteStaysClosed(t *testing.T) {
	p, r, _ := newTestPipeline(t)
	withMistake(p, marked)
	for _, host := range []string{"one.test", "two.test"} {
		p.reload(tree(oneGateway + "\n" + object("HTTPRoute", "a", true, routeTo(host))))
		if got := answers(r); len(got) != 1 || got[host] != "500" {
			t.Errorf("%s: %v", host, got)
		}
		if stale := r.published[len(r.published)-1].Stale; len(stale) > 0 {
			t.Errorf("%s: stale is %+v", host, stale)
		}
		if c := accepted(t, r, "a"); c.Status != "False" {
			t.Errorf("%s: %+v", host, c)
		}
	}
}

// A mistake in publishing costs the edits of the revision.
func TestAPanicInPublishingCostsTheRevision(t *testing.T) {
	folder := func(edit int, third string) watcher.Tree {
		text := oneGateway + "\n"
		for i := range 9 {
			host := fmt.Sprintf("r%d-%d.test", i, edit)
			if i == 3 && third != "" {
				host = third
			}
			text += object("HTTPRoute", fmt.Sprint("r", i), false, routeTo(host))
		}
		return tree(text)
	}
	p, r, log := newTestPipeline(t)
	r.panicsAt = "bad.test"
	p.reload(folder(1, ""))
	p.reload(folder(2, "bad.test"))
	got := answers(r)
	for i := range 9 {
		if got[fmt.Sprintf("r%d-1.test", i)] != "redirect" {
			t.Errorf("r%d does not serve on: %v", i, got)
		}
	}
	if named := internalErrors(p); len(named) != 9 || r.outcome() != "problems" {
		t.Errorf("%s, problems at %q\n%s", r.outcome(), named, log)
	}
	p.reload(folder(4, ""))
	if got := answers(r); got["r3-4.test"] != "redirect" || len(got) != 9 || len(internalErrors(p)) > 0 {
		t.Errorf("after the fix: %v, %q", got, internalErrors(p))
	}
}

// A panic of the store in the middle of a Change loses nothing: the next Tree is taken as a whole.
func TestAPanicOfTheStoreLosesNoChange(t *testing.T) {
	p, r, log := newTestPipeline(t)
	text := func(edit int) string {
		return oneGateway + "\n" + object("HTTPRoute", "a", false, routeTo(fmt.Sprintf("a%d.test", edit))) + object("HTTPRoute", "b", false, routeTo(fmt.Sprintf("b%d.test", edit)))
	}
	p.reload(tree(text(1)))
	ctx := p.yields.ending
	p.yields.ending = nil // ApplyUntil asks it, which is a panic
	p.reload(tree(text(2) + object("HTTPRoute", "lost", false, routeTo("lost.test"))))
	p.yields.ending = ctx
	if r.outcome() != "failed" || len(r.published) != 1 || !strings.Contains(log.String(), "ALARM") {
		t.Fatalf("%s, %d published\n%s", r.outcome(), len(r.published), log)
	}
	p.reload(tree(text(3)))
	if got := answers(r); r.outcome() != "ok" || len(got) != 2 || got["a3.test"] != "redirect" || got["b3.test"] != "redirect" {
		t.Errorf("%s, %v\n%s", r.outcome(), got, log)
	}
}

// tornAtApply is a translator that panics, once, when it is asked for its Result.
type tornAtApply struct {
	translator
	once *bool
}

func (f *tornAtApply) Apply(change store.Change) translate.Result {
	if *f.once {
		*f.once = false
		panic("a mistake")
	}
	return f.translator.Apply(change)
}

// After a panic while a Result is made, the next Tree begins with a fresh translator.
func TestAPanicOfApplyBeginsAnew(t *testing.T) {
	p, r, _ := newTestPipeline(t)
	p.reload(tree(oneGateway))
	once := true
	made := 0
	p.translation.translators = func(options translate.Options) translator {
		made++
		return &tornAtApply{translate.New(options), &once}
	}
	p.translation.phase = ahead
	p.reload(tree(oneGateway + "\n" + object("HTTPRoute", "a", false, routeTo("a.test"))))
	if r.outcome() != "failed" || made != 1 {
		t.Fatalf("%s, %d translators", r.outcome(), made)
	}
	p.reload(tree(oneGateway + "\n#\n" + object("HTTPRoute", "a", false, routeTo("a.test"))))
	if got := answers(r); r.outcome() != "ok" || got["a.test"] != "redirect" || made != 2 {
		t.Errorf("%s, %v, %d translators", r.outcome(), got, made)
	}
}

// What is withheld or held is tried again when a user asks for a reload.
func TestAReloadTriesAgain(t *testing.T) {
	p, r, _ := newTestPipeline(t)
	broken := true
	served := func(bad bool, host string) string { return object("HTTPRoute", "served", bad, routeTo(host)) }
	withMistake(p, func(o *manifest.Object) bool { return broken && marked(o) })
	p.reload(tree(oneGateway + "\n" + served(false, "1.test")))
	text := oneGateway + "\n" + object("HTTPRoute", "a", true, routeTo("a.test")) + served(true, "2.test")
	p.reload(tree(text))
	broken = false
	p.reload(tree(text + "#\n"))
	if got := answers(r); got["a.test"] != "500" || got["1.test"] != "redirect" {
		t.Fatalf("without a reload: %v", got)
	}
	p.asked = append(p.asked, new(admin.Changes)) // as pipeline.again does
	p.translation.retry()
	p.reload(tree(text))
	if got := answers(r); got["a.test"] != "redirect" || got["2.test"] != "redirect" || len(internalErrors(p)) > 0 {
		t.Errorf("after a reload: %v, %q", got, internalErrors(p))
	}
}

// A reload waits for the run that is under way no longer than its client, or gatefold, is there.
func TestAReloadWaitsNoLongerThanItsClient(t *testing.T) {
	for _, end := range []string{"client", "gatefold"} {
		p, _, _ := newTestPipeline(t)
		client, leave := context.WithCancel(t.Context())
		ending, stop := context.WithCancel(t.Context())
		defer leave()
		defer stop()
		p.yields.ending = ending
		p.mu.Lock() // a long run
		if end == "client" {
			leave()
		} else {
			stop()
		}
		if _, err := p.again(client, false); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", end, err)
		}
		p.mu.Unlock()
		if _, err := p.again(client, false); !errors.Is(err, context.Canceled) { // nobody reads the folder
			t.Errorf("%s: %v", end, err)
		}
	}
}

// The end of gatefold ends the run that is under way, and publishes nothing of it.
func TestTheEndInterruptsARun(t *testing.T) {
	p, r, _ := newTestPipeline(t)
	p.reload(tree(oneGateway))
	ctx, cancel := context.WithCancel(t.Context())
	p.yields.ending = ctx
	withMistake(p, func(*manifest.Object) bool { cancel(); return false })
	p.translation.phase = ahead
	p.reload(tree(oneGateway + "\n" + object("HTTPRoute", "a", false, routeTo("a.test"))))
	if len(r.published) != 1 || len(r.reloads) != 1 {
		t.Errorf("published %d times, %+v", len(r.published), r.reloads)
	}
}

// A newer state of the folder interrupts a long run, which continues with it: nothing is lost, and
// after a few times a run is not interrupted any more.
func TestANewerFolderInterruptsALongRun(t *testing.T) {
	p, r, log := newTestPipeline(t)
	var used time.Duration
	p.yields.used = func() time.Duration { used += 6 * time.Second; return used }
	p.reload(tree(oneGateway))
	edits := 0
	p.translation.translators = func(options translate.Options) translator {
		return &restless{translate.New(options), p, &edits}
	}
	p.translation.restart()
	p.translation.phase = ahead
	for i := range maxYields + 1 {
		p.reload(tree(oneGateway + "\n" + object("HTTPRoute", fmt.Sprint("r", i), false, routeTo(fmt.Sprintf("r%d.test", i)))))
	}
	if got := strings.Count(log.String(), "has changed again"); got != maxYields {
		t.Errorf("%d runs gave way, want %d\n%s", got, maxYields, log)
	}
	if got := answers(r); len(r.published) != 2 || got[fmt.Sprintf("r%d.test", maxYields)] != "redirect" || len(got) != 1 {
		t.Errorf("published %d times, %v", len(r.published), got)
	}
}

// restless has another state of the folder arrive during each run, and looks at the clock often.
type restless struct {
	translator
	p     *pipeline
	edits *int
}

func (f *restless) Take(stop memo.Stop, change store.Change) error {
	*f.edits++
	f.p.yields.arriving(tree(fmt.Sprint("# ", *f.edits)))
	for range 3 * checkStride {
		if err := stop.Err(); err != nil {
			_ = f.translator.Take(ended{err}, change)
			return err
		}
	}
	return f.translator.Take(nil, change)
}

// Tests over their deadline end by their CPU time, however long they wait.
func TestTheDeadlineIsCPUTime(t *testing.T) {
	p, _, _ := newTestPipeline(t)
	var used time.Duration
	p.yields.used = func() time.Duration { return used }
	stop := p.yields.interrupt(time.Second)
	if err := stop.Err(); err != nil {
		t.Fatal(err)
	}
	used = 2 * time.Second
	var err error
	for range checkStride {
		if err = stop.Err(); err != nil {
			break
		}
	}
	if !errors.Is(err, errOverdue) {
		t.Errorf("got %v", err)
	}
}
