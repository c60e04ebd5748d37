package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
)

// newGated is newTestPipeline with a gate.
func newGated(t *testing.T) (*pipeline, *recorder, func(files map[string]string) string) {
	p, r, log := newTestPipeline(t)
	p.gate = newGate(p.reader, true, false)
	return p, r, func(files map[string]string) string {
		log.Reset()
		p.reload(teamsTree(files))
		return log.String()
	}
}

// serves reports whether what is published last has a host.
func (r *recorder) serves(host string) bool {
	for _, gateway := range r.published[len(r.published)-1].View().Gateways {
		for _, port := range gateway.Ports {
			for _, one := range port.Hosts {
				if one.Domain == host {
					return true
				}
			}
		}
	}
	return false
}

// applied reports whether the last reload was.
func (r *recorder) applied() bool { return r.reloads[len(r.reloads)-1].OK }

// reports reports whether what is published last has a problem of a code ("" for any) in a file.
func (r *recorder) reports(code, file string) bool {
	return slices.ContainsFunc(r.published[len(r.published)-1].Problems, func(p manifest.Problem) bool {
		return p.File == file && (code == "" || p.Code == code)
	})
}

const aTest = "GET http://first.b.test:8080/ -> 500\n"

func gatedFolder(routes ...string) map[string]string {
	files := map[string]string{"gateway.yaml": openGateway, "requests": aTest}
	for _, name := range routes {
		files["b.yaml"] += teamRoute("b", name)
	}
	return files
}

// TestARevisionWhoseTestsFailIsNotApplied: what served before is served, until the folder or its tests
// are fixed.
func TestARevisionWhoseTestsFailIsNotApplied(t *testing.T) {
	_, r, reload := newGated(t)
	reload(gatedFolder("first"))
	if !r.applied() || !r.serves("first.b.test") {
		t.Fatalf("at first: %+v", r.reloads)
	}
	log := reload(gatedFolder("other"))
	last := r.reloads[len(r.reloads)-1]
	if last.Result != "frozen" || !strings.Contains(last.Hold, "1 of 1 tests of the folder fail; the first is requests:1:1: GET http://first.b.test:8080/ -> 500; outcome: expected 500, got 404") {
		t.Errorf("with a test that fails: %+v", last)
	}
	if !r.serves("first.b.test") || r.serves("other.b.test") {
		t.Error("the revision is served")
	}
	if problems := r.published[len(r.published)-1].Problems; !slices.ContainsFunc(problems, func(p manifest.Problem) bool { return p.Code == testFailed && p.File == "requests" && p.Line == 1 }) {
		t.Errorf("problems: %+v", problems)
	}
	if !strings.Contains(log, "the folder is frozen") {
		t.Errorf("the log has %s", log)
	}
	reload(gatedFolder("other", "third")) // still wrong
	if r.outcome() != "frozen" || r.serves("third.b.test") {
		t.Errorf("with another edit: %s", r.outcome())
	}
	reload(gatedFolder("first", "third"))
	if !r.applied() || !r.serves("first.b.test") || !r.serves("third.b.test") {
		t.Errorf("fixed: %+v", r.reloads[len(r.reloads)-1])
	}
}

// TestAnEditOfTestsAloneIsJudged: what cannot be read holds everything, and a test that fails on what is served nothing.
func TestAnEditOfTestsAloneIsJudged(t *testing.T) {
	_, r, reload := newGated(t)
	files := gatedFolder("first")
	reload(files)
	for _, wrong := range []string{strings.Replace(aTest, "500", "404", 1), strings.Replace(aTest, "8080/", "8080/ GATEWAY:default/ge", 1)} {
		files["requests"] = wrong
		for range 2 { // as often as the folder is read
			if reload(files); !r.applied() || !r.reports("", "requests") {
				t.Errorf("a wrong test: %+v", r.reloads[len(r.reloads)-1])
			}
		}
	}
	files["requests"] = "GET nonsense\n"
	for range 2 {
		if reload(files); r.outcome() != "frozen" || !r.reports(testsFailed, "folder") {
			t.Errorf("a test that cannot be read: %s", r.outcome())
		}
	}
	delete(files, "requests")
	if reload(files); !r.applied() || !r.serves("first.b.test") {
		t.Errorf("without tests: %+v", r.reloads[len(r.reloads)-1])
	}
	files["requests"] = aTest
	if reload(files); !r.applied() {
		t.Errorf("fixed: %s", r.outcome())
	}
}

// TestAStartWithTestsThatFailServesNothing: no Envoy is told to serve less than it does.
func TestAStartWithTestsThatFailServesNothing(t *testing.T) {
	_, r, reload := newGated(t)
	log := reload(gatedFolder("other"))
	if r.outcome() != "frozen" || len(r.published) > 0 {
		t.Fatalf("%+v with %d published", r.reloads, len(r.published))
	}
	if !strings.Contains(log, "ALARM: the folder is frozen: gatefold serves nothing yet") || !strings.Contains(log, "gatefold serves nothing until they pass") {
		t.Errorf("the log says %s", log)
	}
	reload(gatedFolder("first"))
	if !r.applied() || !r.serves("first.b.test") {
		t.Errorf("fixed: %+v", r.reloads)
	}
}

// TestAStartWithTestsThatFailServesTheState: what the state folder has is served meanwhile.
func TestAStartWithTestsThatFailServesTheState(t *testing.T) {
	saving, err := store.New(store.Options{Save: true})
	if err != nil {
		t.Fatal(err)
	}
	files := gatedFolder("first")
	delete(files, "requests")
	saving.Apply(teamsTree(files))
	p, r, reload := newGated(t)
	if unusable := p.reader.store.Restore(saving.Saved(), false); len(unusable) > 0 {
		t.Fatal(unusable)
	}
	reload(gatedFolder("other"))
	if r.outcome() != "frozen" || len(r.published) != 1 || !r.serves("first.b.test") || r.serves("other.b.test") {
		t.Fatalf("%+v with %d published", r.reloads, len(r.published))
	}
	reload(gatedFolder("first", "third"))
	if !r.applied() || !r.serves("third.b.test") {
		t.Errorf("fixed: %+v", r.reloads)
	}
}

// TestWhatEnvoysRejectIsAppliedWhileTestsFail: it does not bring the revision that is not applied.
func TestWhatEnvoysRejectIsAppliedWhileTestsFail(t *testing.T) {
	p, r, reload := newGated(t)
	reload(gatedFolder("first"))
	reload(gatedFolder("other"))
	n := len(r.published)
	p.quarantine(translate.Quarantine{})
	if len(r.published) != n+1 || !r.serves("first.b.test") || r.serves("other.b.test") {
		t.Errorf("%d published after %d", len(r.published), n)
	}
}

// TestARunThatComesToNoEndLeavesNothingUnjudged: not for what publishes next, either.
func TestARunThatComesToNoEndLeavesNothingUnjudged(t *testing.T) {
	p, r, reload := newGated(t)
	reload(gatedFolder("first"))
	observed := p.yields.used
	p.yields.used = func() time.Duration { panic("out of luck") }
	reload(gatedFolder("other"))
	p.yields.used = observed
	if r.outcome() != "failed" || r.serves("other.b.test") {
		t.Errorf("after a panic: %+v", r.reloads[len(r.reloads)-1])
	}
	p.quarantine(translate.Quarantine{})
	if !r.serves("first.b.test") || r.serves("other.b.test") {
		t.Error("what was not judged is served")
	}
}
