package engine

import (
	"path"
	"slices"
	"time"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
)

// standing has the list of all current problems with their places. It keeps the list from one call of located to
// the next. If no problem changed, located returns the same list (store.SameProblems) without computing it again.
type standing struct {
	all              []manifest.Problem // the result of the last call of located
	errors, warnings int
	expiry           translate.Expiry

	unhosted   []manifest.Problem // the current problems of Gateways without an Envoy on this machine
	frozen     []manifest.Problem // the current problems of frozen revisions
	vulnerable []manifest.Problem // the current problems of Envoys with published vulnerabilities

	// The last call of the method located stored the lists below. The next call compares its own lists with them.
	translated []manifest.Problem // the problems of the translation
	expired    []manifest.Problem // the problems of expired certificates
	placeless  []manifest.Problem // the list unhosted, as it was at the last call
	staged     []manifest.Problem // the list frozen, as it was at the last call
	open       []manifest.Problem // the list vulnerable, as it was at the last call
	mine       []manifest.Problem // the five lists above, joined in this order
	located    []manifest.Problem // the list mine, with the places added
	stored     []manifest.Problem // the problems of the store; located and stored together, sorted, are the list all
}

// located returns all current problems with their places, sorted. They are the problems of the store (change) and
// of the translation (result), expired certificates, Gateways without an Envoy, frozen revisions (see freeze), and Envoys with
// published vulnerabilities.
// It also sets r.errors and r.warnings to the numbers of errors and warnings.
func (r *reader) located(change store.Change, result translate.Result) []manifest.Problem {
	l := &r.standing
	expired := l.expiry.At(&result, time.Now())
	if !store.SameProblems(result.Problems, l.translated) || !store.SameProblems(expired, l.expired) ||
		!store.SameProblems(l.unhosted, l.placeless) || !store.SameProblems(l.frozen, l.staged) || !store.SameProblems(l.vulnerable, l.open) {
		l.translated, l.expired, l.placeless, l.staged, l.open, l.mine = result.Problems, expired, l.unhosted, l.frozen, l.vulnerable, result.Problems
		if len(expired)+len(l.unhosted)+len(l.frozen)+len(l.vulnerable) > 0 {
			l.mine = slices.Concat(result.Problems, expired, l.unhosted, l.frozen, l.vulnerable)
		}
	}
	located := r.secrets.locate(prefixed(r.store.Locate(l.mine), r.folder.Store.PathPrefix, ""))
	if !store.SameProblems(located, l.located) || !store.SameProblems(change.Problems, l.stored) {
		l.located, l.stored = located, change.Problems
		l.all = slices.Concat(located, change.Problems)
		manifest.SortProblems(l.all)
		l.errors, l.warnings = manifest.Count(l.all)
	}
	return l.all
}

// prefixed returns copies of the problems, with prefix in front of each file path. Problems without a file do not
// change. Problems of the folder itself do not change either: their file path is the parameter root. If prefix is "",
// prefixed returns the list unchanged.
func prefixed(problems []manifest.Problem, prefix, root string) []manifest.Problem {
	if prefix == "" {
		return problems
	}
	out := make([]manifest.Problem, len(problems))
	for i, p := range problems {
		if p.File != "" && p.File != root {
			p.File = path.Join(prefix, p.File)
		}
		out[i] = p
	}
	return out
}
