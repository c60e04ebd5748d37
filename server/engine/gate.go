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
	// testDeadline is the CPU time that the tests of a revision may take.
	testDeadline = time.Minute
	// maxFailures bounds the tests that are listed as problems.
	maxFailures = 20
)

// The codes of problems of the gate.
const (
	testFailed  = "TestFailed"
	testsFailed = "TestsFailed"
	noTests     = "NoTests"
)

// gate applies a revision of the folder only if its tests pass. The tests are the lines of its test
// files; the answers come from the translated revision. A nil gate accepts every revision.
//
// The store and the translator process a revision before the gate. If a revision fails, the Store
// continues from what is served, and the translator is replaced by a new one.
type gate struct {
	prefix string // store.Options.PathPrefix
	// seen are all files of the last Tree, and files those with tests.
	seen    watcher.Files
	files   map[string]testFile
	skipped []manifest.Problem // files of tests that are not read
	// restored is true if the Store has begun with all that was served before the start.
	restored bool

	failures atomic.Int64 // tests that failed or could not be read when they ran last
	unjudged bool         // the store has a revision that is not judged
	failed   bool         // the last one did not pass
	stale    []store.Stale
}

// testFile is a file of tests as it was read.
type testFile struct {
	requests []expect.Request
	problems []manifest.Problem
}

func newGate(r *reader) *gate {
	return &gate{prefix: r.folder.Store.PathPrefix, files: map[string]testFile{}}
}

// gatedFile reports whether the watcher reads a file if there is a gate.
func gatedFile(name string) bool { return watcher.Loadable(name) || isTests(name) }

func isTests(file string) bool { return expect.IsFile(path.Base(file)) }

// split returns a Tree without its test files, which the gate keeps, and whether these changed. If
// the folder is missing, the gate keeps the previous test files.
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

// tests returns all lines, and the problems of files that cannot be read.
func (g *gate) tests() (requests []expect.Request, problems []manifest.Problem) {
	for _, name := range slices.Sorted(maps.Keys(g.files)) {
		requests = append(requests, g.files[name].requests...)
		problems = append(problems, g.files[name].problems...)
	}
	return requests, append(problems, g.skipped...)
}

// begin notes what was served before a Tree. It is called before the store gets the Tree.
func (g *gate) begin(p *pipeline) {
	if !g.unjudged && !g.failed {
		g.stale = p.last.Stale
	}
	if !p.published && len(p.reader.store.Restored()) > 0 {
		g.restored = true
	}
}

// applied notes the result of the store for a Tree.
func (g *gate) applied(change store.Change, testsChanged bool) {
	if change.Hold == "" {
		g.unjudged = g.unjudged || g.failed || testsChanged || len(change.Set)+len(change.Gone)+len(change.Invalid) > 0
	}
}

// warned adds a warning to the problems if a folder has no tests.
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

// gateFigures are the metrics of the gate.
func (p *pipeline) gateFigures() []prometheus.Collector {
	return []prometheus.Collector{prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "gatefold_tests_failed", Help: "Tests of the folder that failed when they ran last, with --gate-tests: the folder is not applied unless it is 0.",
	}, func() float64 { return float64(p.gate.failures.Load()) })}
}

// test runs the tests of a revision. If they fail, it takes the revision back, and the run
// continues with what is served.
func (p *pipeline) test(r *run) (err error) {
	g := p.gate
	switch {
	case g == nil || !g.unjudged:
		return nil
	case r.change.Hold != "": // the next Tree is not applied, and the one before was not judged
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
		runtime.LockOSThread() // its CPU time is read
		defer runtime.UnlockOSThread()
		failed, number, err = expect.Failures(facts, known, maxFailures, p.interrupt(testDeadline, true).Err)
	})
	if err == nil {
		g.failures.Store(int64(number + len(problems)))
	}
	late := errors.Is(err, errOverdue)
	switch {
	case err != nil && !late:
		return err
	case !late && number+len(problems) == 0:
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

// failuresWords returns "2 of 10 tests of the folder fail and 1 more cannot be read".
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

// takeBack resets the store and the translator to what is served. problems are the reasons, the
// most important one last. It is empty if the store itself reports the reason.
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
