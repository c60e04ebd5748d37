package plan

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// pair has a rule of the old configuration (before) and a rule of the new configuration (after). A request meets the
// pair if Envoy chooses the rule before for it in the old configuration, and the rule after in the new one. A rule
// is nil if Envoy finds no rule for the request in that configuration.
type pair struct{ before, after *entry }

// found is a pair with an example request that meets the pair: for this request, Envoy chooses pair.before in the old
// configuration, and pair.after in the new configuration.
type found struct {
	pair
	request request
}

// request is an example of a request. It has only the parts that the matches of rules compare, and no host.
type request struct {
	method, path string
	headers      http.Header
	query        []parameter
}

type parameter struct{ name, value string }

// unfound is a pair for which no request was found, although there may be one. The field why has the reason.
type unfound struct {
	pair
	why string
}

// maxPairs bounds the pairs that one finder tries.
const maxPairs = 2_000_000

// finder looks for pairs of rules with different effects (see the type effect). Each pair has one rule of the old
// table and one rule of the new table. For each pair, finder looks for an example request that meets the pair (see
// the type pair).
type finder struct {
	classes  *pathClasses
	always   bool // all effects count as different
	found    map[pair]request
	order    []pair
	open     map[pair]string   // pairs that may be possible, but have no request; the value is why
	unsure   map[*entry]string // why not all paths of an entry were tried
	attempts int
	budget   *budget
	sampler  *sampler
}

// pairsOf returns the pairs of rules that have different effects, one rule from each table. Each pair has an example
// request that meets it (see the type pair). The result open has the pairs for which a request may exist but was not
// found. The result whole is false if the search ended early, so that pairs may be missing. If the parameter
// allDiffer is true, all effects count as different. The caller must call align for the two tables first.
func (c *comparison) pairsOf(before, after *table, allDiffer bool) (all []found, open []unfound, whole bool) {
	f := &finder{classes: newPathClasses(before, after, c.patterns), always: allDiffer, budget: c.budget, sampler: c.sampler, found: map[pair]request{}, open: map[pair]string{}, unsure: map[*entry]string{}}
	var changed []*entry
	for _, list := range [][]*entry{before.entries, after.entries} {
		for _, e := range list {
			if e.changed {
				changed = append(changed, e)
			}
		}
	}
	for _, path := range f.classes.around(changed, f.budget) {
		if f.spent() {
			break
		}
		f.at(path)
	}
	f.byExpressions(changed)
	for _, p := range f.order {
		all = append(all, found{p, f.found[p]})
	}
	f.addUnfound(changed)
	for p, why := range f.open {
		if _, known := f.found[p]; !known {
			open = append(open, unfound{p, why})
		}
	}
	slices.SortFunc(open, func(a, b unfound) int { return placeOf(a.pair) - placeOf(b.pair) })
	return all, open, !f.spent()
}

// placeOf returns a number to sort pairs by: the index of the pair's rule in the new table (after the change). If
// the new table has no rule of the pair, the number is the index of the pair's rule in the old table.
func placeOf(p pair) int {
	if p.after != nil {
		return p.after.place
	}
	return p.before.place
}

// addUnfound adds to f.open each changed entry for which no request was found, together with its twin (the rule with
// the same match in the other table, or nil). An entry is changed if only one table has the rule, or if the rule's
// effect differs between the tables. If the search for requests of an entry was complete (see whyUnfound), the change
// affects no request, and addUnfound leaves out the entry.
func (f *finder) addUnfound(changed []*entry) {
	known := map[*entry]bool{}
	for p := range f.found {
		known[p.before], known[p.after] = true, true
	}
	for _, e := range changed {
		why := f.whyUnfound(e)
		if known[e] || why == "" {
			continue
		}
		known[e] = true
		if e.twin != nil {
			known[e.twin] = true
		}
		f.open[f.sideOf(e)] = why
	}
}

// at tries the pairs of one rule from each table that apply to requests with this path. For each pair, it looks for a
// request with this path that meets the pair (see the type pair and try).
func (f *finder) at(path string) {
	l := lists{before: f.classes.before.at(path, f.classes.patterns), after: f.classes.after.at(path, f.classes.patterns), patterns: f.classes.patterns, sampler: f.sampler}
	for _, a := range l.before {
		if a.twin != nil && a.changed {
			f.try(path, l, pair{a, a.twin})
		}
		if a.twin == nil {
			f.try(path, l, pair{a, nil})
			for _, b := range l.after {
				f.try(path, l, pair{a, b})
			}
		}
	}
	for _, b := range l.after {
		if b.twin != nil {
			continue
		}
		f.try(path, l, pair{nil, b})
		for _, a := range l.before {
			f.try(path, l, pair{a, b})
		}
	}
}

// lists has the results of index.at for one path: the entries of the old table (before) and of the new table (after)
// whose path match covers the path.
type lists struct {
	before, after []*entry
	patterns      patterns
	sampler       *sampler
}

// try looks for a request with this path that meets the pair p (see the type pair), and stores it in f.found. There
// are these other cases:
//   - If a request was found for the pair before, if no request can meet the pair (see possible), or if both rules
//     have the same effect, try does nothing.
//   - If no request can match one of the rules (see unsendable), try stores the reason in f.open.
//   - If try finds no request, and the method requests could not list all requests (for example, not all values of a
//     header), try stores the reason in f.open.
//   - If try finds no request among all possible requests with this path, try stores nothing.
//   - If a limit of the whole finder is exceeded (see spent), try stores nothing. pairsOf then reports that pairs may
//     be missing.
func (f *finder) try(path string, l lists, p pair) {
	if _, known := f.found[p]; known || !f.differs(p) || !possible(p) {
		return
	}
	for _, e := range []*entry{p.before, p.after} {
		if e == nil {
			continue
		}
		if why := unsendable(&e.rule.Match); why != "" {
			f.open[f.sideOf(e)] = why
			return
		}
	}
	if f.attempts++; f.attempts > maxPairs || !f.budget.spend(1+len(l.before)+len(l.after)) {
		return
	}
	requests, why := l.requests(path, p)
	for _, r := range requests {
		if !f.budget.spend(1 + len(l.before) + len(l.after)) {
			return
		}
		if l.pairOf(r) == p {
			f.found[p] = r
			f.order = append(f.order, p)
			delete(f.open, p)
			return
		}
	}
	if why != "" {
		f.open[p] = why
	}
}

// differs reports whether the rules of a pair have different effects. A pair with only one rule differs.
func (f *finder) differs(p pair) bool {
	return p.before == nil || p.after == nil || f.always || p.before.effect != p.after.effect
}

// possible reports whether a request can meet the pair (see the type pair), judged by the order of the rules alone.
// The twin of a rule is the rule with the same match in the other table. A request that matches a rule also matches
// its twin. If the twin of p.before has a higher precedence than p.after in the new table, Envoy chooses the twin
// there, so no request can meet the pair. The same holds for the twin of p.after and the rule p.before in the old
// table.
func possible(p pair) bool {
	a, b := p.before, p.after
	switch {
	case a == nil:
		return b.twin == nil
	case b == nil:
		return a.twin == nil
	case a.twin == b:
		return true
	case a.twin != nil && b.twin != nil:
		return false
	case a.twin != nil:
		return a.twin.place > b.place
	case b.twin != nil:
		return b.twin.place > a.place
	}
	return true
}

// pairOf returns the pair that a request meets: of each list, the first entry whose method, headers and query
// match the request. An entry is nil if none matches. The paths of all entries already match.
func (l lists) pairOf(r request) (p pair) {
	first := func(list []*entry) *entry {
		i := slices.IndexFunc(list, func(e *entry) bool { return l.patterns.takes(&e.rule.Match, r) })
		if i < 0 {
			return nil
		}
		return list[i]
	}
	return pair{first(l.before), first(l.after)}
}

// takes reports whether the method, headers and query of a request match m. It does not compare the path.
func (p patterns) takes(m *ir.Match, r request) bool {
	if m.Method != "" && m.Method != r.method {
		return false
	}
	for _, want := range m.Headers {
		if !slices.ContainsFunc(r.headers[http.CanonicalHeaderKey(want.Name)], func(value string) bool { return p.equal(want, value) }) {
			return false
		}
	}
	for _, want := range m.Query {
		i := slices.IndexFunc(r.query, func(one parameter) bool { return one.name == want.Name })
		if i < 0 || !p.equal(want, r.query[i].value) {
			return false
		}
	}
	return true
}

// equal reports whether a value fulfils a match of a header or query parameter.
func (p patterns) equal(want ir.ValueMatch, value string) bool {
	if want.Regex {
		return p.match(want.Value, value)
	}
	return want.Value == value
}

// requests returns example requests with this path that both rules of the pair match. Each request has only the
// headers and query parameters that the two rules require, because additional ones could only make an earlier
// rule match. out is nil if the rules require different methods. If the search was not complete, why has the
// reason.
func (l lists) requests(path string, p pair) (out []request, why string) {
	matches := p.matches()
	method, ok := l.method(matches)
	if !ok {
		return nil, ""
	}
	out = []request{{path: path, headers: http.Header{}}}
	most := 0 // the largest number of requests on the way
	for _, m := range matches {
		for _, want := range m.Headers {
			values, free := l.values(want, func(m *ir.Match) []ir.ValueMatch { return m.Headers }, valueCharacters)
			if out = l.withHeader(out, want, values); !free {
				why = "not all values of header " + want.Name + " were tried"
			}
			most = max(most, len(out))
		}
		for _, want := range m.Query {
			values, free := l.values(want, func(m *ir.Match) []ir.ValueMatch { return m.Query }, queryCharacters)
			if out = l.withParameter(out, want, values); !free {
				why = "not all values of query parameter " + want.Name + " were tried"
			}
			most = max(most, len(out))
		}
	}
	if most == maxChoices*maxChoices && why == "" { // some may have been left out
		why = tooMany
	}
	var all []request
	for _, r := range out {
		for _, one := range method {
			r.method = one
			all = append(all, r)
		}
	}
	return all, why
}

// unsendable returns why no request can fulfil a match. It returns "" if a request may exist.
func unsendable(m *ir.Match) string {
	for _, want := range m.Query {
		if !want.Regex && !inURL(want.Value) {
			return fmt.Sprintf("no request has the value %q of query parameter %s: Envoy compares parameters as they are in the URL, where it would be escaped", want.Value, want.Name)
		}
	}
	return ""
}

// inURL reports whether a value of a query parameter can be in a URL without an escape.
func inURL(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '#' || r == '&' })
}

// matches returns the matches of the rules of a pair, at most two.
func (p pair) matches() (out []*ir.Match) {
	for _, e := range []*entry{p.before, p.after} {
		if e != nil {
			out = append(out, &e.rule.Match)
		}
	}
	return out
}

// method returns the methods to try for a request that all matches accept. If a match requires a method, the result
// has only this method. Otherwise the result has only one method that no rule in the lists requires. If the rules
// require all known methods, the result has all of these. ok is false if the matches require different methods.
func (l lists) method(matches []*ir.Match) (methods []string, ok bool) {
	var want string
	for _, m := range matches {
		switch {
		case m.Method == "":
		case want != "" && want != m.Method:
			return nil, false
		default:
			want = m.Method
		}
	}
	if want != "" {
		return []string{want}, true
	}
	wanted := map[string]bool{}
	for _, list := range [][]*entry{l.before, l.after} {
		for _, e := range list {
			wanted[e.rule.Match.Method] = true
		}
	}
	all := []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodHead, http.MethodOptions, http.MethodTrace, "PURGE", "MKCOL"}
	if slices.ContainsFunc(matches, func(m *ir.Match) bool { return m.Path.RPC.Is }) {
		all[0], all[1] = all[1], all[0]
	}
	for _, method := range all {
		if !wanted[method] {
			return []string{method}, true
		}
	}
	return all, true
}
