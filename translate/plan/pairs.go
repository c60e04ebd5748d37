package plan

import (
	"net/http"
	"regexp"
	"slices"

	"github.com/gatefold/gatefold/translate/ir"
)

// pair is a rule before and a rule after that the same request can have; nil is no rule.
type pair struct{ before, after *entry }

// found is a pair with a request that has it.
type found struct {
	pair
	request request
}

// request is what a match looks at.
type request struct {
	method, path string
	headers      http.Header
	query        []parameter
}

type parameter struct{ name, value string }

// maxPairs bounds the pairs that are tried for one table.
const maxPairs = 2_000_000

// finder finds the pairs of two tables whose effects differ.
type finder struct {
	classes  *pathClasses
	always   bool // all effects differ
	found    map[pair]request
	order    []pair
	open     map[pair]bool // pairs that may be possible
	attempts int
	*comparison
}

// pairsOf returns the pairs of two aligned tables, and those for which no request was found, but may
// be there. whole is false if not all were tried.
func (c *comparison) pairsOf(before, after *table, always bool) (all []found, open []pair, whole bool) {
	f := &finder{classes: newPathClasses(before, after, c.patterns), comparison: c, always: always, found: map[pair]request{}, open: map[pair]bool{}}
	var changed []*entry
	for _, list := range [][]*entry{before.entries, after.entries} {
		for _, e := range list {
			if e.changed {
				changed = append(changed, e)
			}
		}
	}
	paths := f.classes.around(changed)
	for _, path := range paths {
		if f.spent() {
			break
		}
		f.at(path)
	}
	for _, p := range f.order {
		all = append(all, found{p, f.found[p]})
	}
	f.addUnfound(changed, paths)
	for p := range f.open {
		if _, known := f.found[p]; !known {
			open = append(open, p)
		}
	}
	slices.SortFunc(open, func(a, b pair) int { return placeOf(a) - placeOf(b) })
	return all, open, !f.spent()
}

func placeOf(p pair) int {
	if p.after != nil {
		return p.after.place
	}
	return p.before.place
}

// addUnfound notes the changed entries that may have a pair and have none: expressions whose paths
// were not all found, or that want characters which plan does not write, and all entries after too
// many attempts.
func (f *finder) addUnfound(changed []*entry, paths []string) {
	known := map[*entry]bool{}
	for p := range f.found {
		known[p.before], known[p.after] = true, true
	}
	for _, e := range changed {
		if known[e] || !f.mayBeMore(e, paths) {
			continue
		}
		known[e] = true
		if e.twin != nil {
			known[e.twin] = true
		}
		f.open[f.sideOf(e)] = true
	}
}

// mayBeMore reports whether there may be requests for an entry that were not tried.
func (f *finder) mayBeMore(e *entry, paths []string) bool {
	if path := e.rule.Match.Path; path.Kind == ir.PathRegex {
		return f.classes.unsure || f.spent() ||
			!slices.ContainsFunc(paths, func(p string) bool { return f.classes.patterns.match(path.Value, p) })
	}
	return f.spent()
}

// all returns the entries with a path.
func (x *index) all(path ir.Path) []*entry {
	switch path.Kind {
	case ir.PathExact:
		return x.exact[path.Value]
	case ir.PathRegex:
		return x.regex
	}
	return x.prefix[segments(path.Value)]
}

// at finds the pairs of a path.
func (f *finder) at(path string) {
	l := lists{before: f.classes.before.at(path, f.classes.patterns), after: f.classes.after.at(path, f.classes.patterns), patterns: f.classes.patterns, comparison: f.comparison}
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

// lists are the entries whose path matches, before and after.
type lists struct {
	before, after []*entry
	patterns      patterns
	*comparison
}

// try looks for a request with the path that has a pair.
func (f *finder) try(path string, l lists, p pair) {
	if _, known := f.found[p]; known || !f.differs(p) || !possible(p) {
		return
	}
	if f.attempts++; f.attempts > maxPairs || !f.budget.spend(1+len(l.before)+len(l.after)) {
		return
	}
	requests, whole := l.requests(path, p)
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
	if !whole {
		f.open[p] = true
	}
}

// differs reports whether the rules of a pair do something else.
func (f *finder) differs(p pair) bool {
	return p.before == nil || p.after == nil || f.always || p.before.effect != p.after.effect
}

// possible reports whether the twins of the pair's rules let it be: a twin that comes before the
// other rule takes its requests.
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

// pairOf returns the rules that a request has.
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

// takes reports whether a match whose path matches takes the request.
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

func (p patterns) equal(want ir.ValueMatch, value string) bool {
	if want.Regex {
		return p.match(want.Value, value)
	}
	return want.Value == value
}

// requests returns requests with a path that both rules of a pair take, and that ask for as little
// as can be: what a rule before them takes, every other request with the path and this pair has, too.
// whole is false if there may be others with other values of regular expressions.
func (l lists) requests(path string, p pair) (out []request, whole bool) {
	matches := p.matches()
	method, ok := l.method(matches)
	if !ok {
		return nil, true
	}
	out, whole = []request{{path: path, headers: http.Header{}}}, true
	for _, m := range matches {
		for _, want := range m.Headers {
			values, free := l.values(want, func(m *ir.Match) []ir.ValueMatch { return m.Headers }, valueCharacters)
			out, whole = l.withHeader(out, want, values), whole && free
		}
		for _, want := range m.Query {
			values, free := l.values(want, func(m *ir.Match) []ir.ValueMatch { return m.Query }, queryCharacters)
			out, whole = l.withParameter(out, want, values), whole && free
		}
	}
	var all []request
	for _, r := range out {
		for _, one := range method {
			r.method = one
			all = append(all, r)
		}
	}
	return all, whole
}

func (p pair) matches() (out []*ir.Match) {
	for _, e := range []*entry{p.before, p.after} {
		if e != nil {
			out = append(out, &e.rule.Match)
		}
	}
	return out
}

// method returns the methods to try: that of the matches, or one that no rule wants; ok is false if
// the matches want different ones.
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

// maxChoices bounds the values that are tried of one regular expression.
const maxChoices = 8

// withHeader returns the requests with a header that is wanted.
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

// withParameter returns the requests with a query parameter that is wanted; none if it has another
// value. Envoy compares the first of several.
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

// values returns values that are wanted: of an expression, those that the fewest other rules want
// first. free is true if no other rule wants the first one.
func (l lists) values(want ir.ValueMatch, of func(*ir.Match) []ir.ValueMatch, characters string) (values []string, free bool) {
	if !want.Regex {
		return []string{want.Value}, true
	}
	var others []string
	for _, list := range [][]*entry{l.before, l.after} {
		for _, e := range list {
			for _, other := range of(&e.rule.Match) {
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
		return l.samplesOf(want.Value, others[:maxOthers], characters), false
	}
	values = l.samplesOf(want.Value, others, characters)
	return values[:min(len(values), maxChoices)], len(values) > 0 && l.patterns.count(others, values[0]) == 0
}

// maxOthers bounds the other values of the same header or parameter that a value keeps clear of.
const maxOthers = 64

// sideOf returns the pair of an entry and its twin.
func (f *finder) sideOf(e *entry) pair {
	if slices.Contains(f.classes.before.all(e.rule.Match.Path), e) {
		return pair{e, e.twin}
	}
	return pair{e.twin, e}
}
