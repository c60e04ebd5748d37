package engine

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
)

// revisionInvalid is the code of the problem that a revision brings errors, with Options.Strict.
const revisionInvalid = "RevisionInvalid"

// brought are the errors that the files of one group bring, with their places: those about the text of a file, and those
// of the translation.
type brought struct {
	group            testGroup
	read, translated []manifest.Problem
}

// newErrors returns the errors that a revision brings, by the name of the group that they hold: errors that what is
// served does not have. The result has nothing without Options.Strict. An error about the text of a file holds the group
// of this file. An error of the translation holds the group of its object's file if something of this group changed.
// Otherwise an edit elsewhere brought the error: it holds all groups of which something changed.
func (t *trial) newErrors() map[string]*brought {
	g, all := t.gate, map[string]*brought{}
	if !g.strict {
		return all
	}
	in := func(unit string) *brought {
		group := groupOf(unit, nil)
		if all[group.name()] == nil {
			all[group.name()] = &brought{group: group}
		}
		return all[group.name()]
	}
	for _, p := range t.reader.errorsOfFiles(t.tree.Root) {
		if g.brings(p, g.readErrors, fileError(p)) {
			b := in(t.unitOf(p.File))
			b.read = append(b.read, p)
		}
	}
	errs := slices.DeleteFunc(slices.Clone(t.translation.translator.Preview().Problems), func(p manifest.Problem) bool {
		return !g.brings(p, g.translateErrors, objectError(p))
	})
	if len(errs) == 0 {
		return all
	}
	changed := map[string]bool{}
	for _, file := range t.reader.store.ChangedFiles() {
		changed[t.units.unit(file)] = true
	}
	for _, p := range t.reader.secrets.locate(prefixed(t.reader.store.Locate(errs), g.prefix, "")) {
		units := []string{t.unitOf(p.File)}
		if !changed[units[0]] {
			units = slices.Collect(maps.Keys(changed))
		}
		for _, unit := range units {
			b := in(unit)
			b.translated = append(b.translated, p)
		}
	}
	return all
}

// unitOf returns the unit of a file as problems name it.
func (t *trial) unitOf(file string) string {
	if file == "" {
		return platformUnit
	}
	if t.gate.prefix != "" {
		file = strings.TrimPrefix(file, t.gate.prefix+"/")
	}
	return t.units.unit(file)
}

// brings reports whether a problem is an error that an edit can bring, and that is not among those of what is served.
func (g *gate) brings(p manifest.Problem, served map[string]bool, identity string) bool {
	return p.Severity == manifest.Error && !ofSurroundings(p.Code) && !served[identity]
}

// ofSurroundings reports whether errors of a code come from Envoys, other machines, tests or gatefold itself, and not
// from the text of the folder.
func ofSurroundings(code string) bool {
	switch code {
	case "EnvoyTooOld", "IssuerNoAnswer", "RejectedByEnvoy", "RevisionFrozen", "TooManyEnvoys", store.InternalError, revisionInvalid, testFailed, testsFailed:
		return true
	}
	return false
}

// objectError identifies an error of the translation, wherever the object's file is, and at whichever place of a list.
func objectError(p manifest.Problem) string {
	return p.Code + "\n" + p.Object.String() + "\n" + anIndex.ReplaceAllString(p.Field, "[]") + "\n" + p.Message
}

// fileError identifies an error about the text of a file.
func fileError(p manifest.Problem) string { return p.File + "\n" + objectError(p) }

// anIndex matches the place of an item in a list, as in spec.rules[2].
var anIndex = regexp.MustCompile(`\[\d+\]`)

// accept records which errors are those of what is served, after a trial. An error that holds a unit is none of them.
func (t *trial) accept() {
	if !t.gate.strict || t.all != nil {
		return
	}
	accepted := map[string]bool{}
	for _, p := range t.reader.errorsOfFiles(t.tree.Root) {
		if id := fileError(p); t.gate.readErrors[id] || t.held[groupOf(t.unitOf(p.File), nil).name()] == nil {
			accepted[id] = true
		}
	}
	t.gate.readErrors = accepted
}

// strictWhy returns the problem that says what errors of the group hold. The parameters are those of why.
func (j *judgement) strictWhy(first manifest.Problem, file string, serves bool) manifest.Problem {
	p := manifest.Problem{
		Code: revisionInvalid, Severity: manifest.Error, File: file,
		Hint: "fix the errors listed here; without --strict, gatefold applies everything else",
	}
	name, number := j.group.name(), "an error"
	if n := len(j.errors); n > 1 {
		number = fmt.Sprintf("%d errors", n)
	}
	p.Message = fmt.Sprintf("the newest change of %s brings %s; the first is %s: %s", name, number, first.Position(), first.Message)
	switch {
	case j.group.all && serves:
		p.Message += ". With --strict gatefold applies none of the folder's changes, and still serves the last revision"
	case j.group.all:
		p.Message += ". With --strict gatefold serves nothing until it is fixed"
	case serves:
		p.Message += fmt.Sprintf(". With --strict gatefold applies no change of %s, and still serves its last revision", name)
	default:
		p.Message += fmt.Sprintf(". With --strict gatefold serves nothing of %s until it is fixed", name)
	}
	return p
}
