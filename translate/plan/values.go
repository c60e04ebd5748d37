package plan

import (
	"net/http"
	"regexp"
	"slices"

	"github.com/gatefold/gatefold/translate/ir"
)

// maxChoices bounds how many values of one regular expression are tried.
const maxChoices = 8

// withHeader changes requests so that they meet a header match (the parameter want). Each request becomes one or
// more requests:
//   - A request that does not meet the match is replaced by copies: one for each of the values, which is added to
//     the header.
//   - A request that already meets the match is kept. If the match is a regular expression, the copies are returned
//     too.
//
// withHeader returns at most maxChoices*maxChoices requests.
func (l lists) withHeader(requests []request, want ir.ValueMatch, values []string) (out []request) {
	name := http.CanonicalHeaderKey(want.Name)
	for _, r := range requests {
		if slices.ContainsFunc(r.headers[name], func(value string) bool { return l.patterns.equal(want, value) }) {
			out = append(out, r)
			if !want.Regex {
				continue
			}
		}
		for _, value := range values {
			headers := r.headers.Clone()
			headers.Add(name, value)
			with := r
			with.headers = headers
			out = append(out, with)
		}
	}
	return out[:min(len(out), maxChoices*maxChoices)]
}

// withParameter returns variants of the requests that meet the match of a query parameter (the argument want). For
// a request without the query parameter, it returns one copy for each of the values. A request whose value meets
// the match stays as it is. A request with another value is left out: Envoy compares only the first value, so that
// to add a value does not help. withParameter returns at most maxChoices*maxChoices requests.
func (l lists) withParameter(requests []request, want ir.ValueMatch, values []string) (out []request) {
	for _, r := range requests {
		if i := slices.IndexFunc(r.query, func(one parameter) bool { return one.name == want.Name }); i >= 0 {
			if l.patterns.equal(want, r.query[i].value) {
				out = append(out, r)
			}
			continue
		}
		for _, value := range values {
			with := r
			with.query = append(slices.Clone(r.query), parameter{want.Name, value})
			out = append(out, with)
		}
	}
	return out[:min(len(out), maxChoices*maxChoices)]
}

// values returns values that meet a match of a header or query parameter (the parameter want). For a match of an
// exact value, it returns this value. For a regular expression, it returns several values. They differ in which
// matches of other rules they also meet. The values that meet the fewest of these other matches come first.
//
// The function matches returns all header matches, or all query matches, of a rule. The parameter characters has the
// characters of which the values may consist. The result free is true if the caller need not try other values: no
// other value would lead to another pair of an old and a new rule (see pair).
func (l lists) values(want ir.ValueMatch, matches func(*ir.Match) []ir.ValueMatch, characters string) (values []string, free bool) {
	if !want.Regex {
		return []string{want.Value}, true
	}
	var others []string
	for _, list := range [][]*entry{l.before, l.after} {
		for _, e := range list {
			for _, other := range matches(&e.rule.Match) {
				switch {
				case other.Name != want.Name || other == want:
				case other.Regex:
					others = append(others, other.Value)
				case l.patterns.match(want.Value, other.Value):
					others = append(others, regexp.QuoteMeta(other.Value))
				}
			}
		}
	}
	slices.Sort(others)
	others = slices.Compact(others)
	if len(others) > maxOthers {
		values = l.sampler.samplesOf(want.Value, others[:maxOthers], characters).values
		return values[:min(len(values), maxChoices)], false
	}
	all := l.sampler.samplesOf(want.Value, others, characters)
	values = all.values[:min(len(all.values), maxChoices)]
	return values, len(values) > 0 && l.patterns.count(others, values[0]) == 0 || all.whole && len(values) == len(all.values)
}

// maxOthers bounds how many other values of the same header or parameter a value is compared with.
const maxOthers = 64

// sideOf returns the pair of an entry and its twin: the entry with the same match in the table of the other
// configuration (see entry.twin). The twin may be nil.
func (f *finder) sideOf(e *entry) pair {
	if f.isBefore(e) {
		return pair{e, e.twin}
	}
	return pair{e.twin, e}
}
