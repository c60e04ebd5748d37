package engine

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/expect"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/watcher"
)

const (
	// testDeadline is how much CPU time the tests of a revision may take.
	testDeadline = time.Minute
	// maxFailures bounds how many failed tests are listed as problems.
	maxFailures = 20
)

// The codes of problems that the gate reports.
const (
	testFailed  = "TestFailed"
	testsFailed = "TestsFailed"
	noTests     = "NoTests"
)

// gate implements Options.GateTests: it applies a revision of the folder only if the folder's tests pass. The
// tests are the lines of its test files. For each line, package explain computes which response the translated
// revision gives. A nil gate accepts every revision.
//
// The store and the translator process a revision before the gate tests it. If a revision fails, the Store is
// reset to what is served, and a new translator replaces the translator.
type gate struct {
	prefix string // store.Options.PathPrefix
	// The field seen has all files of the last Tree, and the field files has the test files, by path.
	seen    watcher.Files
	files   map[string]testFile
	skipped []manifest.Problem // problems of test files that cannot be read
	// restored is true if the Store started with a saved state.
	restored bool

	failures atomic.Int64 // tests that failed or could not be read in the last test run
	unjudged bool         // the store has a revision that was not tested
	failed   bool         // the last revision did not pass
	// stale has the stale objects of what is served.
	stale []store.Stale
}

// testFile is the parsed content of a test file.
type testFile struct {
	requests []expect.Request
	problems []manifest.Problem
}

// newGate returns a gate without test files.
func newGate(r *reader) *gate {
	return &gate{prefix: r.folder.Store.PathPrefix, files: map[string]testFile{}}
}

// gatedFile reports whether the watcher reads the file with this name if gatefold runs with --gate-tests: it reads
// YAML and test files.
func gatedFile(name string) bool { return watcher.Loadable(name) || isTests(name) }

// isTests reports whether a path is that of a test file.
func isTests(file string) bool { return expect.IsFile(path.Base(file)) }

// split stores the test files of a Tree (the files of the folder at one moment) in the gate. It returns the Tree
// without the test files. The result changed is true if a test file changed, or if the problems of test files that
// cannot be read changed. If the folder is missing, the gate keeps the previous test files.
func (g *gate) split(tree watcher.Tree) (rest watcher.Tree, changed bool) {
	if tree.Missing {
		return tree, false
	}
	set, gone := tree.Files.Since(g.seen)
	g.seen = tree.Files
	for _, file := range set {
		if isTests(file.Path) {
			one := testFile{}
			one.requests, one.problems = expect.Parse(path.Join(g.prefix, file.Path), file.Content)
			g.files[file.Path], changed = one, true
		}
	}
	for _, name := range gone {
		if _, known := g.files[name]; known {
			delete(g.files, name)
			changed = true
		}
	}
	tree.Files = tree.Files.With(nil, slices.Sorted(maps.Keys(g.files)))
	before := g.skipped
	g.skipped = nil
	others := tree.Skipped[:0:0]
	for _, skip := range tree.Skipped {
		if !isTests(skip.Path) {
			others = append(others, skip)
			continue
		}
		g.skipped = append(g.skipped, manifest.Problem{
			Code: string(skip.Reason), Severity: manifest.Error, File: path.Join(g.prefix, skip.Path),
			Message: "the file of tests is not read: " + skip.Detail,
		})
	}
	tree.Skipped = others
	return tree, changed || !store.SameProblems(before, g.skipped) && len(before)+len(g.skipped) > 0
}

// tests returns all lines of the test files, and the problems of files and lines that cannot be read.
func (g *gate) tests() (requests []expect.Request, problems []manifest.Problem) {
	for _, name := range slices.Sorted(maps.Keys(g.files)) {
		requests = append(requests, g.files[name].requests...)
		problems = append(problems, g.files[name].problems...)
	}
	return requests, append(problems, g.skipped...)
}

// begin is called before the store gets a new Tree of the folder. It records the stale objects (store.Stale) of the
// revision that is served now, and whether the store started with a saved state. takeBack needs both if the new
// revision fails its tests.
func (g *gate) begin(p *pipeline) {
	if !g.unjudged && !g.failed {
		g.stale = p.last.Stale
	}
	if !p.published && len(p.reader.store.Restored()) > 0 {
		g.restored = true
	}
}

// applied is called after the store got a new Tree of the folder. It sets g.unjudged, so that the tests run, if an
// object changed, if a test file changed (testsChanged), or if the last revision failed its tests. If the store
// did not apply the Tree (change.Hold), applied does nothing.
func (g *gate) applied(change store.Change, testsChanged bool) {
	if change.Hold == "" {
		g.unjudged = g.unjudged || g.failed || testsChanged || len(change.Set)+len(change.Gone)+len(change.Invalid) > 0
	}
}

// warned returns the given problems. If the folder has no test files, it adds a warning that the folder is applied
// without tests. The parameter root is the path of the folder, at which the warning is reported.
func (g *gate) warned(problems []manifest.Problem, root string) []manifest.Problem {
	if len(g.files)+len(g.skipped) > 0 {
		return problems
	}
	all := append(slices.Clone(problems), manifest.Problem{
		Code: noTests, Severity: manifest.Warning, File: root, Message: "the folder has no files of tests: with --gate-tests gatefold applies it without any",
		Hint: fmt.Sprintf("write lines into a file named %s beside the YAML, or leave out --gate-tests", expect.Name),
	})
	manifest.SortProblems(all)
	return all
}

// gateFigures returns the metrics of the gate.
func (p *pipeline) gateFigures() []prometheus.Collector {
	return []prometheus.Collector{prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "gatefold_tests_failed", Help: "Tests of the folder that failed when they ran last, with --gate-tests: the folder is not applied unless it is 0.",
	}, func() float64 { return float64(p.gate.failures.Load()) })}
}

// test runs the tests of a revision that was not tested yet. A revision without tests passes. In the following cases
// the revision does not pass, and the run continues with what is served now (see takeBack):
//   - A test fails, cannot be read, or names a Gateway that the folder does not have.
//   - The tests need more CPU time than testDeadline.
//   - The folder became frozen (store.Change.Hold) before this revision could be tested.
//
// In the last case, test adds no problems to the run. In the other cases, it adds one problem that says why the
// revision did not pass, and one for each test that fails (at most maxFailures), cannot be read, or names a Gateway
// that the folder does not have.
//
// The error means that the run was interrupted, or it is the error of takeBack.
func (p *pipeline) test(r *run) (err error) {
	g := p.gate
	switch {
	case g == nil || !g.unjudged:
		return nil
	case r.change.Hold != "": // the new Tree is not applied, and the last one was not tested
		return p.takeBack(r, nil)
	}
	requests, problems := g.tests()
	if len(requests)+len(problems) == 0 {
		g.unjudged, g.failed = false, false
		g.failures.Store(0)
		return nil
	}
	var failed []expect.LineReport
	number := 0
	facts := explain.Facts{
		View: r.result.View(), Problems: r.problems, Places: p.reader.store.Places, Outlines: p.reader.store.Outlines, Labels: p.reader.store.Labels,
	}
	known, wrong := expect.KnownGateways(facts, requests)
	problems = append(problems, wrong...)
	r.time("test", func() {
		runtime.LockOSThread() // the CPU time of this thread is measured
		defer runtime.UnlockOSThread()
		failed, number, err = expect.Failures(facts, known, maxFailures, p.yields.interrupt(testDeadline, true).Err)
	})
	late := errors.Is(err, errOverdue)
	if err != nil && !late {
		return err
	}
	failures := number + len(problems)
	if late {
		failures = max(1, failures) // the tests that did not end are a failure
	}
	g.failures.Store(int64(failures))
	if failures == 0 {
		g.unjudged, g.failed = false, false
		return nil
	}
	for _, line := range failed {
		problems = append(problems, failure(line))
	}
	manifest.SortProblems(problems)
	why := manifest.Problem{Code: testsFailed, Severity: manifest.Error, File: p.tree.Root, Hint: "fix the folder or its tests; gatefold test shows all that fail"}
	if late {
		why.Message = fmt.Sprintf("the tests of the folder take more than %s of CPU time", testDeadline)
	} else {
		first := problems[0]
		why.Message = fmt.Sprintf("%s; the first is %s: %s", failuresWords(number, len(problems)-len(failed), len(requests)), first.Position(), first.Message)
	}
	why.Message += ". With --gate-tests gatefold applies none of the folder's changes, and still serves the last revision that passed"
	return p.takeBack(r, append(problems, why))
}

// failuresWords returns a text such as "2 of 10 tests of the folder fail and 1 more cannot be read".
func failuresWords(failed, unread, all int) string {
	words := fmt.Sprintf("%d of %d tests of the folder fail", failed, all)
	if unread > 0 {
		words += fmt.Sprintf(" and %d more cannot be read", unread)
	}
	return words
}

// failure returns the problem of a test that fails.
func failure(line expect.LineReport) manifest.Problem {
	p := manifest.Problem{Code: testFailed, Severity: manifest.Error, File: line.File, Line: line.Line, Column: 1, Message: line.Text}
	for _, d := range line.Differences {
		p.Message += fmt.Sprintf("; %s: expected %s, got %s", d.Of, d.Want, d.Got)
	}
	if line.Reason != "" {
		p.Message += "; because " + line.Reason
	}
	if rule := line.Rule; rule != nil {
		p.Hint = fmt.Sprintf("the rule is %s, %s", rule.Object, rule.Field)
		if rule.File != "" {
			p.Hint += fmt.Sprintf(" (%s:%d)", rule.File, rule.Line)
		}
	}
	return p
}

// takeBack makes the run continue with what is served, because a revision did not pass its tests. It replaces the
// store and the translator, and translates what is served. The parameter problems has the reasons, the most
// important one last; it is empty if the store itself reports the reason. If nothing has been served yet and no
// state was restored, takeBack returns errWaiting. Otherwise the error is that of translate.
func (p *pipeline) takeBack(r *run, problems []manifest.Problem) error {
	g := p.gate
	g.unjudged, g.failed = false, true
	change := store.Change{Hold: r.change.Hold, Problems: r.change.Problems, Stale: g.stale, Stats: r.change.Stats}
	if len(problems) > 0 {
		why := problems[len(problems)-1]
		change.Hold = why.Message + ". Fix the folder or its tests; gatefold test shows all that fail"
		change.Problems = slices.Concat(r.change.Problems, problems)
		manifest.SortProblems(change.Problems)
	}
	p.renewStore()
	p.last = store.Change{Problems: change.Problems, Stale: change.Stale}
	r.change = change
	if !p.published && !g.restored {
		r.problems = change.Problems
		return errWaiting
	}
	return p.translate(r)
}
