package engine

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/expect"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/watcher"
)

// gate implements Options.GateTests and Options.Strict. With GateTests, it applies what the folder says of a namespace
// only if the tests pass that are in the namespace's files. The tests are the lines of test files. For each line, package
// explain computes which response the translated revision gives. With Strict, it does so only if these files bring no
// error (trial.newErrors). A nil gate accepts every revision.
//
// The store and the translator process a revision before the gate judges it. If it is bad, the gate freezes namespaces
// (store.Store.Freeze): their objects become what they were, and the translator processes that, before anything is
// published. Then the tests run again, because others may depend on what is frozen now.
type gate struct {
	prefix string // store.Options.PathPrefix
	tests  bool   // Options.GateTests
	strict bool   // Options.Strict
	// The field seen has all files of the last Tree, and the field files has the test files, by path.
	seen    watcher.Files
	files   map[string]testFile
	skipped map[string]manifest.Problem // problems of test files that cannot be read, by path
	// restored is true if the Store started with a saved state, and the folder has what the state lacks (absent).
	restored bool
	absent   []manifest.Key // what was restored without content, before the first Tree

	failures atomic.Int64 // tests that failed or could not be read in the last test run
	frozen   *prometheus.GaugeVec
	unjudged bool // the store has a revision that was not tested
	again    bool // the tests had problems when they ran last, so that they run with each Tree
	// served returns the View of what is served. It is nil if nothing is served.
	served func() *ir.View
	// translateErrors and readErrors identify the errors of what is served (objectError, fileError), with strict.
	translateErrors, readErrors map[string]bool
	// told has the names of groups whose tests take too long, and the problems of what cannot be read (identity), if
	// these hold nothing back because they are older than what is served.
	told map[string]bool
	// foresight, if not nil, is told what the gate would hold, and the gate holds nothing. It is for `gatefold plan`.
	foresight *foresight
	// cold has the namespaces that are frozen since a start at which nothing was served.
	cold map[string]bool
}

// testFile is the parsed content of a test file.
type testFile struct {
	requests []expect.Request
	problems []manifest.Problem
}

// newGate returns a gate without test files. The parameters tests and strict are Options.GateTests and Options.Strict.
func newGate(r *reader, tests, strict bool) *gate {
	return &gate{
		prefix: r.folder.Store.PathPrefix, tests: tests, strict: strict, files: map[string]testFile{}, skipped: map[string]manifest.Problem{},
		told: map[string]bool{}, cold: map[string]bool{},
		frozen: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "gatefold_namespace_frozen", Help: "1 for each namespace whose changes are not applied, because tests fail (--gate-tests), or because they bring errors (--strict).",
		}, []string{"namespace"}),
	}
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
	g.skipped = map[string]manifest.Problem{}
	others := tree.Skipped[:0:0]
	for _, skip := range tree.Skipped {
		if !isTests(skip.Path) || skip.Reason == watcher.ReadElsewhere {
			others = append(others, skip)
			continue
		}
		g.skipped[skip.Path] = manifest.Problem{
			Code: string(skip.Reason), Severity: manifest.Error, File: path.Join(g.prefix, skip.Path),
			Message: "the file of tests is not read: " + skip.Detail,
		}
	}
	tree.Skipped = others
	return tree, changed || !maps.Equal(before, g.skipped)
}

// begin is called before the store gets a new Tree of the folder. It lets the store apply the Tree to all namespaces,
// and records whether the store started with a saved state.
func (g *gate) begin(p *pipeline) {
	p.reader.store.Thaw()
	if objects, absent := p.reader.store.Remembered(); !p.published && len(objects) > 0 {
		g.restored, g.absent = true, absent
	}
}

// applied is called after the store got a new Tree of the folder. It sets g.unjudged, so that the tests run, if an
// object changed, if a test file changed (testsChanged), or if the last revision failed its tests. With strict, every
// revision is judged, because an error of a text changes no object. If the store did not apply the Tree (change.Hold), no
// tests run. The parameter folder has what is served now: applied also records whether that has all that the state lacked.
func (g *gate) applied(change store.Change, testsChanged bool, folder *store.Store) {
	missing := func(key manifest.Key) bool { return folder.Served(key) == nil }
	g.restored = g.restored && !slices.ContainsFunc(g.absent, missing)
	if change.Hold == "" {
		g.unjudged = g.unjudged || g.again || g.strict || testsChanged || len(change.Set)+len(change.Gone)+len(change.Invalid) > 0
	}
}

// warned returns the given problems. If the folder has no test files, it adds a warning that the folder is applied
// without tests. The parameter root is the path of the folder, at which the warning is reported.
func (g *gate) warned(problems []manifest.Problem, root string) []manifest.Problem {
	if !g.tests || len(g.files)+len(g.skipped) > 0 {
		return problems
	}
	all := append(slices.Clone(problems), manifest.Problem{
		Code: noTests, Severity: manifest.Warning, File: root, Message: "the folder has no files of tests: with --gate-tests gatefold applies it without any",
		Hint: fmt.Sprintf("write lines into a file named %s beside the YAML, or leave out --gate-tests", expect.Name),
	})
	manifest.SortProblems(all)
	return all
}

// publish records what is served: the function that returns its View, and the problems of its translation.
func (g *gate) publish(view func() *ir.View, problems []manifest.Problem) {
	g.served = view
	if !g.strict {
		return
	}
	g.translateErrors = map[string]bool{}
	for _, p := range problems {
		if p.Severity == manifest.Error {
			g.translateErrors[objectError(p)] = true
		}
	}
}

// figures returns the metrics of the gate.
func (g *gate) figures() []prometheus.Collector {
	return []prometheus.Collector{g.frozen, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "gatefold_tests_failed", Help: "Tests of the folder that failed when they ran last, with --gate-tests: changes may be held back unless it is 0.",
	}, func() float64 { return float64(g.failures.Load()) })}
}

// test runs the tests of a revision that was not tested yet. Namespaces whose tests fail, or cannot be read, are frozen:
// the run continues without their changes. A test that fails on what is served, too, freezes nothing. Everything is
// frozen in these cases:
//   - A test without path policies, or in a file of --cluster-paths, fails or cannot be read.
//   - The folder became frozen (store.Change.Hold) before this revision could be tested.
//
// test adds the problems of the tests to the run. If everything is frozen and nothing has been served yet, it returns
// errWaiting. Any other error means that the run was interrupted.
func (p *pipeline) test(r *run) error {
	g := p.gate
	if g == nil || !g.unjudged {
		return nil
	}
	if r.change.Hold != "" { // the new Tree is not applied, and the last one was not tested
		problems, frozen := r.change.Problems, store.Frozen{All: &store.Reason{Message: r.change.Hold}}
		if err := p.hold(r, frozen); err != nil {
			return err
		}
		g.unjudged, g.again, r.change.Problems = false, true, problems
		return p.settle(r, frozen)
	}
	t := newTrial(p, r)
	if g.foresight != nil {
		return g.foresight.look(t)
	}
	if err := t.remember(); err != nil {
		return err
	}
	for range maxRounds {
		more, err := t.round()
		switch {
		case err != nil:
			return err
		case more:
			continue
		}
		if err := t.release(); err != nil {
			return err
		}
		return t.conclude()
	}
	t.all = &store.Reason{Message: "the tests of many namespaces fail one after the other"}
	if err := t.freeze(); err != nil {
		return err
	}
	return t.conclude()
}
