package engine

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/expect"
	"github.com/gatefold/gatefold/translate/explain"
)

const (
	// testDeadline is how much CPU time the tests may take that hold everything if they fail.
	testDeadline = time.Minute
	// teamTestDeadline is how much CPU time the tests of one team may take, so that others' edits do not wait long.
	teamTestDeadline = time.Second / 2
	// maxFailures bounds how many failed tests of a group are listed as problems.
	maxFailures = 20
)

// The codes of problems that the gate reports.
const (
	testFailed   = "TestFailed"
	testsFailed  = "TestsFailed"
	testsIgnored = "TestsIgnored"
	noTests      = "NoTests"
)

// testGroup has the test files that hold the same namespaces if one of their tests fails.
type testGroup struct {
	all        bool     // they hold everything
	namespaces []string // otherwise, sorted; none if the files belong to nobody
	files      []string // sorted
}

// groups returns the test files in groups. Without path policies there is one group, which holds everything. With path
// policies, a group's files belong to the same namespaces, and those of --cluster-paths hold everything.
func (g *gate) groups(of *units) (groups []testGroup) {
	byUnit := map[string][]string{}
	for _, file := range slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(slices.Collect(maps.Keys(g.files)), maps.Keys(g.skipped))))) {
		unit := of.unit(file)
		byUnit[unit] = append(byUnit[unit], file)
	}
	for _, unit := range slices.Sorted(maps.Keys(byUnit)) {
		groups = append(groups, groupOf(unit, byUnit[unit]))
	}
	return groups
}

// groupOf returns the group of a unit (units.unit), with these test files.
func groupOf(unit string, files []string) testGroup {
	group := testGroup{all: unit == platformUnit, files: files}
	if !group.all {
		group.namespaces = strings.Fields(unit)
	}
	return group
}

// name says whose tests these are.
func (g testGroup) name() string {
	switch len(g.namespaces) {
	case 0:
		return "the folder"
	case 1:
		return "namespace " + g.namespaces[0]
	}
	return "namespaces " + strings.Join(g.namespaces, ", ")
}

// nobodys reports whether the files belong to nobody: their tests hold nothing, and do not run.
func (g testGroup) nobodys() bool { return !g.all && len(g.namespaces) == 0 }

// deadline returns how much CPU time the tests of the group may take.
func (g testGroup) deadline() time.Duration {
	if g.all {
		return testDeadline
	}
	return teamTestDeadline
}

// judgement is what the tests of a group say about a revision.
type judgement struct {
	group testGroup
	tests int
	// failed are the lines that fail, and do not fail on what is served. The lines in known fail there, too.
	failed, known []expect.Request
	// unread are the problems of lines and files that cannot be read. The first fresh of them are new.
	unread []manifest.Problem
	fresh  int
	// errors are those that the group's files bring, sorted. Those in translated are of the translation, which no longer
	// reports them when the group's namespaces are held.
	errors, translated []manifest.Problem
	late               bool // the tests take too long
	old                bool // they did so before
}

// holds reports whether tests or errors hold the group's namespaces.
func (j *judgement) holds() bool { return len(j.failed)+j.fresh+len(j.errors) > 0 || j.late && !j.old }

// failures returns the number of tests that fail or cannot be read.
func (j *judgement) failures() int {
	n := len(j.failed) + len(j.known) + len(j.unread)
	if j.late {
		n = max(1, n)
	}
	return n
}

// judge runs the tests of a group on a revision, which the parameter facts is about. The error means that the run was
// interrupted.
func (p *pipeline) judge(group testGroup, facts explain.Facts) (*judgement, error) {
	g, j := p.gate, &judgement{group: group}
	var requests []expect.Request
	var told []manifest.Problem
	for _, file := range group.files {
		requests = append(requests, g.files[file].requests...)
		for _, problem := range g.unreadOf(file) {
			if g.told[identity(problem)] {
				told = append(told, problem)
			} else {
				j.unread = append(j.unread, problem)
			}
		}
	}
	j.tests, j.fresh, j.unread = len(requests), len(j.unread), append(j.unread, told...)
	runtime.LockOSThread() // the CPU time of this thread is measured
	defer runtime.UnlockOSThread()
	stop := p.yields.interrupt(group.deadline()).Err
	missed, err := expect.Failing(facts, requests, stop)
	if err == nil && len(missed) > 0 && g.served != nil && !g.neverServed(group) {
		facts.View = g.served()
		j.known, err = expect.Failing(facts, missed, stop)
	}
	if errors.Is(err, errOverdue) {
		j.late, j.old = true, g.told[group.name()]
		return j, nil
	}
	at := func(r expect.Request) string { return r.Place() }
	known := map[string]bool{}
	for _, r := range j.known {
		known[at(r)] = true
	}
	j.failed = slices.DeleteFunc(missed, func(r expect.Request) bool { return known[at(r)] })
	return j, err
}

// unreadOf returns the problems of a test file and of its lines that cannot be read.
func (g *gate) unreadOf(file string) []manifest.Problem {
	problems := slices.Clone(g.files[file].problems)
	if p, skipped := g.skipped[file]; skipped {
		problems = append(problems, p)
	}
	return problems
}

// identity identifies the problem of a line or file, wherever the line is in its file.
func identity(p manifest.Problem) string { return p.File + "\n" + p.Code + "\n" + p.Message }

// neverServed reports whether a namespace of the group is frozen since a start at which nothing was served. What is
// served now then says nothing about its tests.
func (g *gate) neverServed(group testGroup) bool {
	return slices.ContainsFunc(group.namespaces, func(namespace string) bool { return g.cold[namespace] })
}

// tell returns the problems of the group's tests, sorted: one for each line that fails (at most maxFailures), and one
// for each line or file that cannot be read (as many). The parameter facts is about the revision that failed. The result first is
// the first of those problems because of which the group holds something.
func (j *judgement) tell(facts explain.Facts) (problems []manifest.Problem, first manifest.Problem) {
	problems = append(failures(facts, j.failed), j.unread[:min(j.fresh, maxFailures)]...)
	manifest.SortProblems(problems)
	if len(problems) > 0 {
		first = problems[0]
	}
	for _, p := range failures(facts, j.known) {
		p.Message += ". It fails on what is served, too, so that it holds nothing back"
		problems = append(problems, p)
	}
	return append(problems, j.unread[j.fresh:min(len(j.unread), j.fresh+maxFailures)]...), first
}

// failures returns a problem for each of the requests, at most maxFailures, whose lines fail.
func failures(facts explain.Facts, requests []expect.Request) (problems []manifest.Problem) {
	lines, unknown := expect.Reports(facts, requests[:min(len(requests), maxFailures)])
	for _, line := range lines {
		problems = append(problems, failure(line))
	}
	return append(problems, unknown...)
}

// why returns the problem that says what the tests or the errors of the group hold. The parameter first is the first problem
// because of which they do. The parameter
// file is the file of the problem. If serves is false, nothing is served of what they hold.
func (j *judgement) why(first manifest.Problem, file string, serves bool) manifest.Problem {
	if len(j.errors) > 0 {
		return j.strictWhy(first, file, serves)
	}
	p := manifest.Problem{Code: testsFailed, Severity: manifest.Error, File: file, Hint: "fix the folder or its tests; gatefold test shows all that fail"}
	name := j.group.name()
	p.Message = fmt.Sprintf("the tests of %s take more than %s of CPU time", name, j.group.deadline())
	if !j.late {
		p.Message = fmt.Sprintf("%s; the first is %s: %s", j.words(), first.Position(), first.Message)
	}
	switch {
	case j.group.all && !serves:
		p.Message += ". With --gate-tests gatefold serves nothing until they pass"
	case j.group.all:
		p.Message += ". With --gate-tests gatefold applies none of the folder's changes, and still serves the last revision that passed"
	case serves:
		p.Message += fmt.Sprintf(". With --gate-tests gatefold applies no change of %s, and still serves its last revision that passed", name)
	default:
		p.Message += fmt.Sprintf(". With --gate-tests gatefold serves nothing of %s until they pass", name)
	}
	return p
}

// words returns a text such as "2 of 10 tests of the folder fail and 1 more cannot be read".
func (j *judgement) words() string {
	words := fmt.Sprintf("%d of %d tests of %s fail", len(j.failed)+len(j.known), j.tests, j.group.name())
	if len(j.unread) > 0 {
		words += fmt.Sprintf(" and %d more cannot be read", len(j.unread))
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
