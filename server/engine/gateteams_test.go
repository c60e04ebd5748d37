package engine

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
)

// teams is a folder of the teams a and b, with tests, under path policies.
type teams struct {
	*testing.T
	p *pipeline
	*recorder
	files map[string]string
	out   *bytes.Buffer
}

// newTeams makes a folder with a route of each team.
func newTeams(t *testing.T) *teams {
	t.Helper()
	p, r, out := newTestPipelineOf(t, Folder{Store: store.Options{ClusterPaths: tenancy.Globs{"platform/**"}, Save: true}})
	p.gate = newGate(p.reader, true, false)
	return &teams{t, p, r, map[string]string{
		"platform/n.yaml":       fenced("default", "platform/**") + fenced("a", "teams/a/**") + fenced("b", "teams/b/**") + fenced("open", ""),
		"platform/gateway.yaml": openGateway,
		"teams/a/routes.yaml":   teamRoute("a", "one"), "teams/b/routes.yaml": teamRoute("b", "one"),
	}, out}
}

// expecting is a test that passes if the host is served: a route without rules answers 500.
func expecting(hosts ...string) (lines string) {
	for _, host := range hosts {
		lines += fmt.Sprintf("GET http://%s.test:8080/ -> 500\n", host)
	}
	return lines
}

// edit writes files, or removes those whose text is "-", and reads the folder.
func (f *teams) edit(texts ...string) {
	f.Helper()
	for i := 0; i < len(texts); i += 2 {
		if f.files[texts[i]] = texts[i+1]; texts[i+1] == "-" {
			delete(f.files, texts[i])
		}
	}
	f.out.Reset()
	f.p.reload(teamsTree(f.files))
}

// wants fails the test unless of the hosts one to nine of both teams exactly those are served.
func (f *teams) wants(when string, hosts ...string) {
	f.Helper()
	var got []string
	for _, host := range []string{"one.a", "two.a", "one.b", "two.b"} {
		if len(f.published) > 0 && f.serves(host+".test") {
			got = append(got, host)
		}
	}
	if !slices.Equal(got, hosts) {
		f.Errorf("%s: served are %v, want %v\n%s", when, got, hosts, f.out)
	}
}

// staleNow returns the stale objects, with their places.
func (f *teams) staleNow() (all []string) {
	for _, s := range f.published[len(f.published)-1].Stale {
		all = append(all, fmt.Sprintf("%s %s:%d", s.Key, s.File, s.Line))
	}
	return all
}

// TestATeamsTestsHoldItsOwnNamespace: the other team's edits go on, and the namespace is released when the test passes or
// is removed.
func TestATeamsTestsHoldItsOwnNamespace(t *testing.T) {
	for name, release := range map[string][]string{
		"fixed":   {"teams/a/routes.yaml", teamRoute("a", "one") + teamRoute("a", "two")},
		"removed": {"teams/a/requests", "-"},
		"moved":   {"teams/a/requests", expecting("two.a")},
	} {
		t.Run(name, func(t *testing.T) {
			f := newTeams(t)
			f.edit("teams/a/requests", expecting("one.a"), "teams/b/requests", expecting("one.b"))
			f.wants("at first", "one.a", "one.b")
			f.edit("teams/a/routes.yaml", teamRoute("a", "two"), "teams/b/routes.yaml", teamRoute("b", "two")+teamRoute("b", "one"))
			f.wants("with a test of team a that fails", "one.a", "one.b", "two.b")
			if got := f.staleNow(); !slices.Equal(got, []string{"HTTPRoute a/one teams/a/requests:1"}) {
				t.Errorf("stale are %v", got)
			}
			if !f.applied() || !f.reports(testsFailed, "teams/a/requests") || !f.reports(testFailed, "teams/a/requests") || f.reports("", "teams/b/requests") {
				t.Errorf("the problems are %v", f.published[len(f.published)-1].Problems)
			}
			for _, want := range []string{"1 of 1 tests of namespace a fail; the first is teams/a/requests:1:1", "applies no change of namespace a"} {
				if !strings.Contains(f.out.String(), want) {
					t.Errorf("the log does not say %q: %s", want, f.out)
				}
			}
			for range 2 {
				f.edit("teams/b/routes.yaml", teamRoute("b", "one"))
				f.wants("with an edit of the other team", "one.a", "one.b")
			}
			f.edit(release...)
			want := []string{"two.a", "one.b"}
			if name == "fixed" {
				want = []string{"one.a", "two.a", "one.b"}
			}
			f.wants("released", want...)
			if len(f.staleNow()) > 0 || f.reports(testsFailed, "teams/a/requests") {
				t.Errorf("stale are %v", f.staleNow())
			}
		})
	}
}

// TestAFileOfTestsInNobodysPathGatesNobody: not at a start, either.
func TestAFileOfTestsInNobodysPathGatesNobody(t *testing.T) {
	f := newTeams(t)
	f.edit("nobody/requests", expecting("none.a")+"GET nonsense\n", "requests", expecting("none.b"))
	f.wants("at a start", "one.a", "one.b")
	for _, file := range []string{"nobody/requests", "requests"} {
		if !f.reports(testsIgnored, file) || f.reports(testFailed, file) || f.reports("InvalidTest", file) {
			t.Errorf("the problems are %v", f.published[0].Problems)
		}
	}
	f.edit("teams/b/routes.yaml", teamRoute("b", "two"))
	f.wants("with an edit", "one.a", "two.b")
}

// TestAtAStartATeamsTestsHoldItsOwnNamespace: without a state, nothing of it is served until they pass, whatever others
// edit.
func TestAtAStartATeamsTestsHoldItsOwnNamespace(t *testing.T) {
	f := newTeams(t)
	f.edit("teams/a/requests", expecting("two.a"))
	f.wants("at a start", "one.b")
	if !strings.Contains(f.out.String(), "serves nothing of namespace a until they pass") {
		t.Errorf("the log says %s", f.out)
	}
	f.edit("teams/b/routes.yaml", teamRoute("b", "two"))
	f.wants("with an edit of the other team", "two.b")
	f.edit("teams/a/routes.yaml", teamRoute("a", "one")+"\n")
	f.wants("with an edit that fixes nothing", "two.b")
	f.edit("teams/a/routes.yaml", teamRoute("a", "two"))
	f.wants("fixed", "two.a", "two.b")
	f.edit("teams/a/routes.yaml", teamRoute("a", "one"))
	f.wants("broken again", "two.a", "two.b")
}

// TestATestThatFailsOnWhatIsServedGatesNothing: it is told.
func TestATestThatFailsOnWhatIsServedGatesNothing(t *testing.T) {
	f := newTeams(t)
	f.edit()
	f.edit("teams/a/requests", expecting("none.a"), "teams/a/routes.yaml", teamRoute("a", "two"))
	f.wants("with such a test of a team", "two.a", "one.b")
	if !f.reports(testFailed, "teams/a/requests") || f.reports(testsFailed, "teams/a/requests") {
		t.Errorf("the problems are %v", f.published[len(f.published)-1].Problems)
	}
	f.edit("platform/requests", expecting("none.b"), "teams/a/routes.yaml", teamRoute("a", "one"))
	f.wants("with such a test of the platform", "one.a", "one.b")
	f.edit("platform/requests", expecting("none.b", "one.b"), "teams/b/routes.yaml", teamRoute("b", "two"))
	f.wants("beside one that passes there", "one.a", "one.b")
}

// TestTestsOfThePlatformHoldAll: also what has nothing to do with them.
func TestTestsOfThePlatformHoldAll(t *testing.T) {
	f := newTeams(t)
	f.edit("platform/requests", expecting("one.b"), "teams/a/requests", expecting("one.a"))
	f.edit("teams/a/routes.yaml", teamRoute("a", "one")+teamRoute("a", "two"), "teams/b/routes.yaml", teamRoute("b", "two"))
	f.wants("with a test of the platform that fails", "one.a", "one.b")
	if f.outcome() != "frozen" {
		t.Errorf("the run is %s", f.outcome())
	}
	f.edit("teams/b/routes.yaml", teamRoute("b", "one")+teamRoute("b", "two"))
	f.wants("fixed", "one.a", "two.a", "one.b", "two.b")
}

// TestATestMayDependOnWhatIsHeld: it runs on what will be served.
func TestATestMayDependOnWhatIsHeld(t *testing.T) {
	f := newTeams(t)
	f.edit("teams/a/requests", expecting("one.a"), "teams/b/requests", "GET http://two.a.test:8080/ -> 404\n")
	f.edit("teams/a/routes.yaml", teamRoute("a", "two"), "teams/b/requests", expecting("one.a"), "teams/b/routes.yaml", teamRoute("b", "two"))
	f.wants("a test that passes because the other team is held", "one.a", "two.b")
	f.edit("teams/a/routes.yaml", teamRoute("a", "one"))
	f.edit("teams/b/requests", expecting("one.a"))
	f.edit("teams/a/routes.yaml", teamRoute("a", "one")+teamRoute("a", "two"), "teams/a/requests", expecting("one.a")+"GET http://two.a.test:8080/ -> 404\n",
		"teams/b/requests", expecting("one.a", "two.a"), "teams/b/routes.yaml", teamRoute("b", "one"))
	f.wants("one that fails because the other team is held fails on what is served, too", "one.a", "one.b")
}

// TestARouteThatWaitsStaysClosedWhileTestsRun: also where its namespace is frozen first, and then released.
func TestARouteThatWaitsStaysClosedWhileTestsRun(t *testing.T) {
	f := newTeams(t)
	guard := func(target string) string {
		return fmt.Sprintf(`---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: guard, namespace: a}
spec:
  cors: {allowOrigins: ["https://a.example.com"]}
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: %s}]
`, target)
	}
	f.edit("teams/a/routes.yaml", teamRoute("a", "one")+guard("one"))
	f.edit("teams/a/requests", expecting("one.b"), "teams/b/requests", expecting("one.b"))
	mistaken := strings.Replace(teamRoute("a", "one"), "name: eg", "name: none", 1)
	f.edit("teams/a/routes.yaml", mistaken+teamRoute("a", "two")+guard("two"), "teams/b/routes.yaml", teamRoute("b", "two"))
	f.wants("with a test of team b that fails, and so one of team a", "one.a", "two.a", "one.b")
	two := manifest.Key{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute", Namespace: "a", Name: "two"}
	if closed := f.p.translation.withheld.closed(); closed[two] == nil {
		t.Errorf("the new route is not closed: closed are %v", closed)
	}
}

// TestWhatIsHeldObeysPathPolicies: a fence that is drawn closer is in force at once.
func TestWhatIsHeldObeysPathPolicies(t *testing.T) {
	f := newTeams(t)
	f.edit("teams/a/requests", expecting("one.a"), "teams/a/sub/routes.yaml", teamRoute("a", "two"))
	f.wants("at first", "one.a", "two.a", "one.b")
	f.edit("teams/a/routes.yaml", "-")
	f.wants("held", "one.a", "two.a", "one.b")
	f.edit("platform/n.yaml", fenced("default", "platform/**")+fenced("a", "teams/a/sub/**, teams/a/requests")+fenced("b", "teams/b/**"))
	f.wants("outside of its paths", "two.a", "one.b")
}

// TestAFileThatTwoTeamsShareHoldsBoth: and none else.
func TestAFileThatTwoTeamsShareHoldsBoth(t *testing.T) {
	f := newTeams(t)
	f.files["platform/n.yaml"] = fenced("default", "platform/**") + fenced("a", "teams/a/**, shared/requests") + fenced("b", "teams/b/**, shared/requests") + fenced("c", "teams/c/**")
	f.edit("shared/requests", expecting("one.a"))
	f.edit("teams/a/routes.yaml", teamRoute("a", "two"), "teams/b/routes.yaml", teamRoute("b", "two"), "teams/c/routes.yaml", teamRoute("c", "one"))
	f.wants("held", "one.a", "one.b")
	if !f.serves("one.c.test") {
		t.Error("the third team is held, too")
	}
}

// TestHeldNamespacesOverARestart: what the state has is served, and what failed before is not held.
func TestHeldNamespacesOverARestart(t *testing.T) {
	f := newTeams(t)
	f.edit("teams/a/requests", expecting("one.a"), "teams/b/requests", expecting("none.b"))
	f.edit("teams/b/requests", expecting("one.b"))
	f.edit("teams/a/routes.yaml", teamRoute("a", "two"), "teams/b/routes.yaml", teamRoute("b", "one")+teamRoute("b", "two"), "teams/b/requests", expecting("one.b", "none.b"))
	f.wants("before", "one.a", "one.b", "two.b")
	next := newTeams(t)
	if unusable := next.p.reader.store.Restore(f.p.reader.store.Saved(), false); len(unusable) > 0 {
		t.Fatal(unusable)
	}
	next.files = f.files
	next.edit("teams/b/routes.yaml", teamRoute("b", "two")+teamRoute("b", "one")+"\n")
	next.wants("after", "one.a", "one.b", "two.b")
	if got := next.staleNow(); !slices.Equal(got, []string{"HTTPRoute a/one teams/a/requests:1"}) {
		t.Errorf("stale are %v", got)
	}
	if next.reports(testsFailed, "teams/b/requests") || !next.reports(testFailed, "teams/b/requests") {
		t.Errorf("the problems are %v", next.published[0].Problems)
	}
	next.edit("teams/a/requests", "-")
	next.wants("released", "two.a", "one.b", "two.b")
}

// TestLinesThatCannotBeReadHoldTheirTeam: until they are fixed or gone; what was so before holds nothing.
func TestLinesThatCannotBeReadHoldTheirTeam(t *testing.T) {
	f := newTeams(t)
	f.edit("teams/a/requests", expecting("one.a"))
	f.edit("teams/a/requests", expecting("one.a")+"GET nonsense\n", "teams/a/routes.yaml", teamRoute("a", "one")+teamRoute("a", "two"))
	f.wants("with such a line", "one.a", "one.b")
	f.edit("teams/b/routes.yaml", teamRoute("b", "two"))
	f.wants("with an edit of the other team", "one.a", "two.b")
	f.edit("teams/a/requests", expecting("one.a"))
	f.wants("without the line", "one.a", "two.a", "two.b")
}

// TestAPolicyThatIsHeldStaysInForce: of a held namespace nothing is removed.
func TestAPolicyThatIsHeldStaysInForce(t *testing.T) {
	f := newTeams(t)
	policy := "{apiVersion: gateway.kgateway.dev/v1alpha1, kind: TrafficPolicy, metadata: {name: p, namespace: a}, spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: one}], acl: {defaultAction: deny}}}\n"
	closed := "GET http://one.a.test:8080/ -> 403\n"
	f.edit("teams/a/policy.yaml", policy, "teams/a/requests", closed)
	f.edit("teams/a/policy.yaml", "-")
	if got := f.staleNow(); !slices.Equal(got, []string{"TrafficPolicy a/p teams/a/requests:1"}) {
		t.Errorf("stale are %v: %s", got, f.out)
	}
	f.edit("teams/a/policy.yaml", strings.Replace(policy, "deny", "allow", 1))
	if got := f.staleNow(); !slices.Equal(got, []string{"TrafficPolicy a/p teams/a/requests:1"}) {
		t.Errorf("stale are %v", got)
	}
	f.edit("teams/a/policy.yaml", strings.Replace(policy, "acl", "alc", 1)) // it cannot be read: the last valid version, as without tests
	if got := f.staleNow(); len(got) != 1 || f.published[len(f.published)-1].Stale[0].Key != (manifest.Key{Group: "gateway.kgateway.dev", Kind: "TrafficPolicy", Namespace: "a", Name: "p"}) {
		t.Errorf("stale are %v", got)
	}
}

// TestTestsThatTakeTooLongHoldTheirTeam: others' edits are served without them.
func TestTestsThatTakeTooLongHoldTheirTeam(t *testing.T) {
	f := newTeams(t)
	f.edit("teams/b/requests", expecting("one.b"))
	used := time.Duration(0)
	f.p.yields.used = func() time.Duration { used += 400 * time.Millisecond; return used }
	f.edit("teams/a/requests", strings.Repeat(expecting("one.a"), 3*checkStride), "teams/a/routes.yaml", teamRoute("a", "two"), "teams/b/routes.yaml", teamRoute("b", "one")+teamRoute("b", "two"))
	f.wants("with slow tests", "one.a", "one.b", "two.b")
	if !strings.Contains(f.out.String(), "the tests of namespace a take more than 500ms of CPU time") {
		t.Errorf("the log says %s", f.out)
	}
	f.edit("teams/a/requests", "-")
	f.wants("without them", "two.a", "one.b", "two.b")
}

// TestWhoseTestsAreMany: as many problems are listed of each team, however many it has.
func TestWhoseTestsAreMany(t *testing.T) {
	f := newTeams(t)
	f.edit()
	f.edit("teams/a/requests", strings.Repeat("GET nonsense\n"+expecting("none.a"), 500))
	n := 0
	for _, p := range f.published[len(f.published)-1].Problems {
		if p.File == "teams/a/requests" {
			n++
		}
	}
	if n != 2*maxFailures+1 {
		t.Errorf("%d problems of tests", n)
	}
	if got := f.p.gate.failures.Load(); got != 1000 {
		t.Errorf("%d tests fail", got)
	}
}
