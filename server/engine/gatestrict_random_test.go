package engine

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/watcher"
)

// errorsAlone returns which errors a folder has at a start without a state, and which status each request gets there.
func errorsAlone(t *testing.T, folder watcher.Tree) (errs map[string]bool, status map[string]uint32) {
	t.Helper()
	p, r, _ := newTestPipelineOf(t, Folder{})
	p.log = zerolog.Nop()
	p.reload(folder)
	return errorsOf(r.published[len(r.published)-1].Problems), answered(p.translation.translator.Preview().View())
}

// errorsOf returns the problems that are errors, by what identifies them.
func errorsOf(problems []manifest.Problem) map[string]bool {
	errs := map[string]bool{}
	for _, p := range problems {
		if p.Severity == manifest.Error {
			errs[objectError(p)] = true
		}
	}
	return errs
}

// TestStrictAppliesWhatBringsNoError edits random folders under --strict, of which half are served from a saved state
// that has errors. A revision is applied as a whole if it has no error that what is served does not have. Otherwise
// nothing of it is applied.
func TestStrictAppliesWhatBringsNoError(t *testing.T) {
	seeds, first := testsize.Of(t, 8), testsize.Seed(t)
	outcomes := map[bool]int{}
	for seed := range uint64(seeds) {
		m := &spoiltFolder{random: rand.New(rand.NewPCG(first, seed)), right: map[string]string{}, wrong: map[string]string{}}
		s := startStrict(t, m, seed%2 == 1)
		for step := range 25 {
			right, wrong := maps.Clone(m.right), maps.Clone(m.wrong)
			m.edit()
			if m.random.IntN(2) == 0 {
				m.wrong = maps.Clone(wrong) // edits without mistakes
			}
			folder := m.tree(false, false)
			errs, status := errorsAlone(t, folder)
			brings := slices.Sorted(maps.Keys(errs))
			brings = slices.DeleteFunc(brings, func(e string) bool { return s.errs[e] })
			s.p.reload(folder)
			applied := s.r.reloads[len(s.r.reloads)-1].Result != "frozen"
			outcomes[applied]++
			if len(brings) > 0 {
				status = s.status
				m.right, m.wrong = right, wrong // the next edit is one of the last revision that was applied
			} else {
				s.errs, s.status = errs, status
			}
			now := answered(s.p.translation.translator.Preview().View())
			if applied == (len(brings) > 0) || !maps.Equal(now, status) {
				t.Fatalf("seed %d, step %d: it is %t that the revision is applied (%s); it brings %q; the responses are\n%v, want\n%v\nthe folder is\n%s",
					seed, step, applied, s.r.reloads[len(s.r.reloads)-1].Hold, brings, now, status, filesText(folder))
			}
		}
	}
	t.Logf("%d revisions are applied, %d are not", outcomes[true], outcomes[false])
	if all := seeds * 25; outcomes[true] < all/5 || outcomes[false] < all/5 {
		t.Error("the revisions are too much alike")
	}
}

// strictServed is a folder that is served with --strict.
type strictServed struct {
	p      *pipeline
	r      *recorder
	errs   map[string]bool // the errors of what is served
	status map[string]uint32
}

// startStrict serves a random folder with --strict. If saved is true, it starts with a state, in which objects have errors.
func startStrict(t *testing.T, m *spoiltFolder, saved bool) *strictServed {
	t.Helper()
	s := &strictServed{}
	for s.status == nil || len(s.errs) > 0 {
		for _, what := range spoiltNames() {
			m.right[what] = m.write(what)
		}
		s.errs, s.status = errorsAlone(t, m.tree(false, false))
	}
	if !saved {
		s.p, s.r, _ = newTestPipelineOf(t, Folder{})
	} else {
		delete(m.right, "Backend b1")
		s.errs, s.status = errorsAlone(t, m.tree(false, false))
		dir := t.TempDir()
		p, end := runOnState(t, dir)
		p.reload(m.tree(false, false))
		end()
		s.p, end = runOnState(t, dir)
		t.Cleanup(end)
		s.r = s.p.server.(*recorder)
		s.p.observers = append(s.p.observers, reports{s.r})
		s.p.expect()
	}
	s.p.log, s.p.gate = zerolog.Nop(), newGate(s.p.reader, false, true)
	s.p.reload(m.tree(false, false))
	return s
}

// filesText returns the texts of a folder.
func filesText(folder watcher.Tree) (all string) {
	for file := range folder.Files.All() {
		all += fmt.Sprintf("-- %s --\n%s", file.Path, file.Content)
	}
	return all
}
