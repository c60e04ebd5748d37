package engine

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/translate/explain"
)

// maxRounds bounds how often the tests run on one revision. Each time, more namespaces are frozen; then all are. It also
// bounds how many groups are tried again (trial.release).
const maxRounds = 16

// trial is the test of one revision.
type trial struct {
	*pipeline
	run    *run
	groups map[string]testGroup // those that can hold something, by name
	// held has the judgement of each group that holds its namespaces, by the name of the group. passed has those of the
	// others, from the last time that their tests ran.
	held, passed map[string]*judgement
	problems     map[string][]manifest.Problem // of the groups in held
	reasons      map[string]store.Reason       // why their namespaces are frozen
	all          *store.Reason                 // why all are; nil if they are not
}

// newTrial returns the trial of a run, before its first round.
func newTrial(p *pipeline, r *run) *trial {
	t := &trial{
		pipeline: p, run: r, groups: map[string]testGroup{}, held: map[string]*judgement{},
		problems: map[string][]manifest.Problem{}, reasons: map[string]store.Reason{},
	}
	for _, group := range p.gate.groups(&p.units) {
		if !group.nobodys() {
			t.groups[group.name()] = group
		}
	}
	return t
}

// judgeAll judges all groups that hold nothing, by their tests and the errors that they bring, and sets t.passed. It
// returns the judgements of those that are to hold something, sorted by the names of the groups. The error means that it
// was interrupted.
func (t *trial) judgeAll(facts explain.Facts) (failing []*judgement, err error) {
	t.passed = map[string]*judgement{}
	brought := t.newErrors()
	for name, b := range brought {
		if _, known := t.groups[name]; !known && !b.group.nobodys() {
			t.groups[name] = b.group
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.groups)) {
		if t.held[name] != nil {
			continue
		}
		var j *judgement
		t.run.time("test", func() { j, err = t.judge(t.groups[name], facts) })
		if err != nil {
			return nil, err
		}
		if b := brought[name]; b != nil {
			j.translated, j.errors = b.translated, slices.Concat(b.read, b.translated)
			manifest.SortProblems(j.errors)
		}
		switch {
		case j.holds():
			failing = append(failing, j)
		default:
			t.passed[name] = j
		}
	}
	return failing, nil
}

// round runs the tests of all groups that hold nothing yet. If some of them fail, it freezes their namespaces, and
// translates what is left. The result more is true if it froze something. The error means that it was interrupted.
func (t *trial) round() (more bool, err error) {
	facts := t.facts()
	failing, err := t.judgeAll(facts)
	if err != nil || len(failing) == 0 {
		return false, err
	}
	for _, j := range failing {
		t.blame(j, facts)
	}
	return true, t.freeze()
}

// facts returns what explain needs to know of the revision as it is now.
func (t *trial) facts() explain.Facts {
	result, folder := t.translation.translator.Preview(), t.reader.store
	return explain.Facts{
		View: result.View(), Problems: t.reader.located(t.run.change, result), Places: folder.Places, Outlines: folder.Outlines, Labels: folder.Labels,
	}
}

// blame adds a judgement to those that hold their namespaces, with its problems. The parameter facts is about the
// revision that failed.
func (t *trial) blame(j *judgement, facts explain.Facts) {
	problems, first := j.tell(facts)
	if len(j.errors) > 0 {
		first, problems = j.errors[0], append(problems, j.translated...)
	}
	file := t.tree.Root
	switch {
	case j.group.all:
	case len(j.errors) > 0:
		file = first.File
	default:
		file = path.Join(t.gate.prefix, j.group.files[0])
	}
	name := j.group.name()
	why := j.why(first, file, !t.gate.neverServed(j.group) && !t.nothingServed())
	t.held[name], t.problems[name] = j, append(problems, why)
	t.reasons[name] = store.Reason{Place: store.Place{File: first.File, Line: first.Line, Column: first.Column}, Message: why.Message}
	if j.group.all {
		t.all = &store.Reason{Message: why.Message + ". " + strings.ToUpper(why.Hint[:1]) + why.Hint[1:]}
	}
}

// frozen returns which namespaces are frozen because of the groups in t.held.
func (t *trial) frozen() store.Frozen {
	frozen := store.Frozen{All: t.all, Namespaces: map[string]store.Reason{}}
	for _, name := range slices.Sorted(maps.Keys(t.held)) {
		for _, namespace := range t.held[name].group.namespaces {
			frozen.Namespaces[namespace] = t.reasons[name]
		}
	}
	return frozen
}

// freeze makes the run continue with what is frozen now. The error is that of pipeline.take.
func (t *trial) freeze() error { return t.freezeAs(t.frozen()) }

// freezeAs makes the run continue with what a Frozen has. New routes that wait for others stay closed, also those that were
// frozen meanwhile. The error is that of pipeline.take.
func (t *trial) freezeAs(frozen store.Frozen) error {
	if err := t.hold(t.run, frozen); err != nil {
		return err
	}
	return t.take(t.run, t.translation.close(t.versions.closing, t.reader.store.Served))
}

// nothingServed reports whether this is a start without a saved state.
func (t *trial) nothingServed() bool { return !t.published && !t.gate.restored }

// remember finds out what the saved state gives, before the first publication: tests that fail on that, too, hold
// nothing back.
func (t *trial) remember() error {
	if t.published || !t.gate.restored || t.gate.served != nil || len(t.groups) == 0 && !t.gate.strict {
		return nil
	}
	if err := t.hold(t.run, store.Frozen{All: &store.Reason{}}); err != nil {
		return err
	}
	restored := t.translation.translator.Preview()
	t.gate.publish(restored.View, restored.Problems)
	return t.freeze()
}

// release finds groups whose tests failed only because of changes that are held now, such as those of another team, and
// holds them no longer. It tries each group alone, and at most maxRounds of them.
func (t *trial) release() error {
	names := slices.Sorted(maps.Keys(t.held))
	if len(names) < 2 || t.all != nil {
		return nil
	}
	for _, name := range names[:min(len(names), maxRounds)] {
		was, passed := t.held[name], t.passed
		if was.late {
			continue // it took its time already
		}
		delete(t.held, name)
		if err := t.freeze(); err != nil {
			return err
		}
		failing, err := t.judgeAll(t.facts())
		if err != nil {
			return err
		}
		if len(failing) > 0 {
			t.held[name], t.passed = was, passed
		}
	}
	return t.freeze()
}

// conclude ends the trial: it adds the problems of all tests to the run, and records what is frozen.
func (t *trial) conclude() error {
	g, r := t.gate, t.run
	told, failures := map[string]bool{}, 0
	var facts explain.Facts // of what will be published; it takes time, and is seldom needed
	var problems []manifest.Problem
	for _, j := range t.passed {
		if len(j.known) > 0 && facts.View == nil {
			facts = t.facts()
		}
		failures += j.failures()
		j.remember(told, 0, true)
		own, _ := j.tell(facts)
		problems = append(problems, own...)
	}
	for name, j := range t.held {
		failures += j.failures()
		j.remember(told, j.fresh, j.old)
		problems = append(problems, t.problems[name]...)
	}
	if g.tests {
		problems = append(problems, g.ignored(&t.units)...)
	}
	t.accept()
	g.told, g.unjudged, g.again = told, false, len(problems) > 0
	g.failures.Store(int64(failures))
	frozen := t.frozen()
	g.note(frozen, t.nothingServed())
	r.change.Problems = slices.Concat(r.change.Problems, problems)
	manifest.SortProblems(r.change.Problems)
	return t.settle(r, frozen)
}

// settle ends the tests of a run, of which some or all namespaces are frozen. It returns errWaiting if all are, and
// nothing has been served yet.
func (p *pipeline) settle(r *run, frozen store.Frozen) error {
	r.change.Set = slices.DeleteFunc(slices.Clone(r.change.Set), func(o *manifest.Object) bool { return frozen.Holds(o.Key) })
	r.change.Gone = slices.DeleteFunc(slices.Clone(r.change.Gone), frozen.Holds)
	r.change.Invalid = slices.DeleteFunc(slices.Clone(r.change.Invalid), func(i *store.Invalid) bool { return frozen.Holds(i.Key) })
	p.last = store.Change{Problems: r.change.Problems, Stale: r.change.Stale}
	if frozen.All == nil {
		return nil
	}
	r.change.Hold = frozen.All.Message
	if !p.published && !p.gate.restored {
		r.problems = r.change.Problems
		return errWaiting
	}
	return nil
}

// remember adds to told what cannot be read of the group's files, without the first problems of j.unread, and whether
// the tests take too long.
func (j *judgement) remember(told map[string]bool, without int, late bool) {
	for _, p := range j.unread[without:] {
		told[identity(p)] = true
	}
	if j.late && late {
		told[j.group.name()] = true
	}
}

// ignored returns a warning for each test file that belongs to nobody, at most maxFailures.
func (g *gate) ignored(of *units) (problems []manifest.Problem) {
	for _, group := range g.groups(of) {
		if !group.nobodys() {
			continue
		}
		for _, file := range group.files[:min(len(group.files), maxFailures)] {
			problems = append(problems, manifest.Problem{
				Code: testsIgnored, Severity: manifest.Warning, File: path.Join(g.prefix, file),
				Message: "the file belongs to no namespace: its tests do not run, and hold nothing back",
				Hint:    "move it to files of a namespace (" + tenancy.AnnotationPaths + " of its Namespace) or to those of --cluster-paths",
			})
		}
	}
	return problems
}

// note records which namespaces are frozen, for the metric, and which of them were never served. The parameter nothing
// says that nothing was served before this run.
func (g *gate) note(frozen store.Frozen, nothing bool) {
	g.frozen.Reset()
	cold := map[string]bool{}
	for namespace := range frozen.Namespaces {
		g.frozen.WithLabelValues(namespace).Set(1)
		if g.cold[namespace] || nothing {
			cold[namespace] = true
		}
	}
	g.cold = cold
}
