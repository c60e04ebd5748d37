package engine

import (
	"cmp"
	"slices"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
)

// maxProblemLines limits the log lines for one update of the problems. The limit applies to new problems and to
// fixed problems separately.
const maxProblemLines = 100

// problemLog logs each problem once when it appears, and once when it is fixed.
type problemLog struct {
	last  []manifest.Problem // the list of the last update
	known []manifest.Problem // the same list, sorted by orderOf
}

// update logs the problems that are new or fixed since the last update. It logs at most maxProblemLines new and
// as many fixed problems, and then the number of the others.
func (l *problemLog) update(log zerolog.Logger, problems []manifest.Problem) {
	if store.SameProblems(problems, l.last) {
		return
	}
	l.last = problems
	now := slices.SortedFunc(slices.Values(problems), orderOf)
	fresh, fixed := without(now, l.known), without(l.known, now)
	l.known = now
	manifest.SortProblems(fresh)
	manifest.SortProblems(fixed)
	for _, p := range fresh[:min(len(fresh), maxProblemLines)] {
		level := zerolog.WarnLevel
		if p.Severity == manifest.Error {
			level = zerolog.ErrorLevel
		}
		line := describe(log.WithLevel(level), p)
		if p.Hint != "" {
			line = line.Str("hint", p.Hint)
		}
		line.Msg(p.Message)
	}
	for _, p := range fixed[:min(len(fixed), maxProblemLines)] {
		if words := fixedWords(p, l.known); words != "" {
			describe(log.Info(), p).Msg("fixed: " + words)
		}
	}
	if more := max(0, len(fresh)-maxProblemLines) + max(0, len(fixed)-maxProblemLines); more > 0 {
		log.Warn().Int("more", more).Msg("more problems appeared or were fixed; gatefold status --problems shows all that are left")
	}
}

// fixedWords returns the text to log after the problem p is fixed. Usually that is the message of p. If the
// message says what gatefold did about the problem, the text is another one. If p was about a stale object, and
// other objects of the same file are still stale, the result is "". The parameter known has the current problems.
func fixedWords(p manifest.Problem, known []manifest.Problem) string {
	switch p.Code {
	case "LastGoodKept":
		if slices.ContainsFunc(known, func(o manifest.Problem) bool { return o.Code == p.Code && o.File == p.File }) {
			return ""
		}
		return "no object of the file is stale"
	case "FolderEmptied", "FolderMissing", "TooManyObjects", "RevisionInvalid", testsFailed:
		return "gatefold follows the folder again"
	}
	return p.Message
}

// describe adds the fields of a problem to a log line. The excerpt is left out: a log is kept longer and read
// by more people than the folder.
func describe(line *zerolog.Event, p manifest.Problem) *zerolog.Event {
	line = line.Str("code", p.Code)
	if p.File != "" {
		line = line.Str("file", p.File)
	}
	if p.Line > 0 {
		line = line.Int("line", p.Line).Int("column", p.Column)
	}
	if !p.Object.IsZero() {
		line = line.Stringer("object", p.Object)
	}
	if p.Field != "" {
		line = line.Str("field", p.Field)
	}
	return line
}

// without returns the problems that are not in others. Both lists are sorted by orderOf.
func without(problems, others []manifest.Problem) []manifest.Problem {
	var rest []manifest.Problem
	for _, p := range problems {
		if _, found := slices.BinarySearchFunc(others, p, orderOf); !found {
			rest = append(rest, p)
		}
	}
	return rest
}

// orderOf compares problems by file, object, field, code and message. It ignores the line, so that a problem
// that only moved is the same.
func orderOf(a, b manifest.Problem) int {
	return cmp.Or(
		cmp.Compare(a.File, b.File), manifest.CompareKeys(a.Object, b.Object), cmp.Compare(a.Field, b.Field),
		cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
}
