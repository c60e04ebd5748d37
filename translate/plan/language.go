package plan

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"

	"github.com/gatefold/gatefold/store/counted"
	"github.com/gatefold/gatefold/store/scope"
)

// The characters that plan writes into paths and values, the plainest first. Most regular expressions match
// some text of these characters. An expression that needs another character is reported as Undecided.
const (
	plainCharacters = "abcdefghijklmnopqrstuvwxyz0123456789-ABCDEFGHIJKLMNOPQRSTUVWXYZ_.~"
	pathCharacters  = plainCharacters + "/!$&'()*+,;=:@%"
	valueCharacters = plainCharacters + "/!$'()*+:@=[]{}<>?#%^|"
	queryCharacters = plainCharacters + "/!$'()*+,:@"
)

// maxSteps bounds the cost of one search for paths that regular expressions match. A visited state of the
// automata costs 1, or more if there are many expressions. A search for values of a header or parameter may
// cost a tenth.
const maxSteps = 50_000

// automaton is the NFA of one regular expression.
type automaton struct{ prog *syntax.Prog }

// newAutomaton returns the automaton of a regular expression. The expression must match the whole text that the
// automaton reads, not only a part of it. ok is false if the expression is invalid, or if it has a word boundary
// (\b, \B).
func newAutomaton(pattern string) (a automaton, ok bool) {
	prog, err := counted.CompileRegex(pattern)
	if err != nil {
		return a, false
	}
	for _, inst := range prog.Inst {
		if inst.Op == syntax.InstEmptyWidth && syntax.EmptyOp(inst.Arg)&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0 {
			return a, false
		}
	}
	return automaton{prog}, true
}

// closure returns the given instructions of the automaton (from), and all instructions that it reaches from
// these without reading a character. begin is true at the beginning of the text, so that ^ matches there. end
// is true at the end of the text, so that $ matches there.
func (a automaton) closure(from []uint32, begin, end bool) []uint32 {
	var holds syntax.EmptyOp
	if begin {
		holds |= syntax.EmptyBeginLine | syntax.EmptyBeginText
	}
	if end {
		holds |= syntax.EmptyEndLine | syntax.EmptyEndText
	}
	seen := make(map[uint32]bool, 2*len(from))
	var visit func(uint32)
	visit = func(pc uint32) {
		if seen[pc] {
			return
		}
		seen[pc] = true
		switch inst := &a.prog.Inst[pc]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			visit(inst.Out)
			visit(inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			visit(inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^holds == 0 {
				visit(inst.Out)
			}
		}
	}
	for _, pc := range from {
		visit(pc)
	}
	out := make([]uint32, 0, len(seen))
	for pc := range seen {
		out = append(out, pc)
	}
	slices.Sort(out)
	return out
}

// step returns the instructions that the automaton can reach from the given ones (from) by reading the
// character r. It returns nil if the automaton cannot read r. begin is true if r is the first character of the
// text.
func (a automaton) step(from []uint32, begin bool, r rune) []uint32 {
	var out []uint32
	for _, pc := range a.closure(from, begin, false) {
		if inst := &a.prog.Inst[pc]; consumes(inst) && inst.MatchRune(r) {
			out = append(out, inst.Out)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// consumes reports whether an instruction reads a character.
func consumes(inst *syntax.Inst) bool {
	switch inst.Op {
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	}
	return false
}

// accepts reports whether the expression matches the whole text that the automaton has read. The parameter from has
// the instructions that the automaton has reached by reading the text. begin is true if the text is empty.
func (a automaton) accepts(from []uint32, begin bool) bool {
	return slices.ContainsFunc(a.closure(from, begin, true), func(pc uint32) bool { return a.prog.Inst[pc].Op == syntax.InstMatch })
}

// language is a list of automata that read the same text, and the characters of the texts to try.
type language struct {
	all      []automaton
	alphabet []rune
	left     *int    // how many more states may be visited
	budget   *budget // what the caller, Compare, may still spend; if it is nil, only left limits the search
}

// newLanguage returns a language with the automata of the expressions. Its alphabet has one character of each
// group that all expressions treat equally, and always "/" and ".". whole is false if an expression has no
// automaton.
func newLanguage(expressions []string, characters string, left *int) (l *language, whole bool) {
	l, whole = &language{left: left}, true
	for _, pattern := range expressions {
		a, ok := newAutomaton(pattern)
		if !ok {
			whole = false
			continue
		}
		l.all = append(l.all, a)
	}
	known := map[string]bool{}
	for _, r := range characters {
		if sign := l.sign(r); !known[sign] || r == '/' || r == '.' {
			known[sign] = true
			l.alphabet = append(l.alphabet, r)
		}
	}
	return l, whole
}

// sign returns a text that is equal for two characters if all expressions treat them equally.
func (l *language) sign(r rune) string {
	var b strings.Builder
	for _, a := range l.all {
		for i := range a.prog.Inst {
			if inst := &a.prog.Inst[i]; consumes(inst) && inst.MatchRune(r) {
				b.WriteByte('1')
			} else {
				b.WriteByte('0')
			}
		}
	}
	return b.String()
}

// reading is a text, and the states that the automata have reached by reading it.
type reading struct {
	text   string
	states [][]uint32
}

// begin returns the state of all automata before they read a character (see the type reading).
func (l *language) begin() reading {
	states := make([][]uint32, len(l.all))
	for i, a := range l.all {
		states[i] = []uint32{uint32(a.prog.Start)}
	}
	return reading{states: states}
}

// read appends the character r to the text of a reading (the parameter from), and returns the new reading: the
// longer text, and the states of the automata after it. The result alive is false if no expression matches the
// longer text, and none can match any continuation of the longer text.
func (l *language) read(from reading, r rune) (next reading, alive bool) {
	next = reading{text: from.text + string(r), states: make([][]uint32, len(l.all))}
	for i, a := range l.all {
		next.states[i] = a.step(from.states[i], from.text == "", r)
		alive = alive || len(next.states[i]) > 0
	}
	return next, alive
}

// accepted returns a key for the set of expressions that match the text of a reading (the parameter at). Equal sets
// have equal keys. If no expression matches the text, accepted returns "".
func (l *language) accepted(at reading) string {
	var b strings.Builder
	some := false
	for i, a := range l.all {
		one := a.accepts(at.states[i], at.text == "")
		some = some || one
		fmt.Fprintf(&b, "%t ", one)
	}
	if !some {
		return ""
	}
	return b.String()
}

// search selects the texts that language.texts tries and returns.
type search struct {
	// start is the text that each result begins with.
	start string
	// enters reports whether the search may continue with a text. If not, longer texts with this beginning are not
	// tried either.
	enters func(text string) bool
	// wanted reports whether a text may be a result.
	wanted func(text string) bool
	// differs returns a key. Two texts with equal keys and equal states of the automata are treated as one.
	differs func(text string) string
}

// texts returns example texts: for each set of regular expressions that can match the same text, a shortest
// text that exactly these expressions match. s limits the texts that are tried. whole is false if the search
// stopped at a limit, so that texts may be missing.
func (l *language) texts(s search) (found []string, whole bool) {
	at := l.begin()
	for _, r := range s.start {
		next, alive := l.read(at, r)
		if !alive {
			return nil, true
		}
		at = next
	}
	known, visited := map[string]bool{}, map[string]bool{}
	for queue := []reading{at}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if *l.left -= 1 + len(l.all)/16; *l.left < 0 {
			return found, false
		}
		if set := l.accepted(at); set != "" && !known[set] && s.wanted(at.text) {
			known[set] = true
			found = append(found, at.text)
		}
		if l.budget != nil && !l.budget.spend(len(l.alphabet)*len(l.all)) {
			return found, false
		}
		for _, r := range l.alphabet {
			next, alive := l.read(at, r)
			if !alive || !s.enters(next.text) {
				continue
			}
			if key := fmt.Sprint(next.states, s.differs(next.text)); !visited[key] {
				visited[key] = true
				queue = append(queue, next)
			}
		}
	}
	return found, true
}

// byExpression returns example paths that regular expressions of the rules match. It looks at the paths below each
// prefix in c.prefixes. For each combination of expressions, it returns one path there that exactly these expressions
// match, if such a path exists. It leaves out paths that are exact values of a rule. It sets c.unsure if some paths
// may be missing. The parameter most is the budget of the search.
func (c *pathClasses) byExpression(most *budget) (paths []string) {
	if len(c.expressions) == 0 {
		return nil
	}
	left := maxSteps
	l, whole := newLanguage(c.expressions, pathCharacters, &left)
	l.budget = most
	c.unsure = !whole
	for _, prefix := range c.prefixes {
		found, whole := l.texts(search{
			start: prefix,
			enters: func(text string) bool {
				return scope.CoversPath(prefix, text) && isNormal(text) && isEscaped(text, false) && !c.leaves(text, prefix)
			},
			wanted:  func(text string) bool { return text != "" && c.isMember(text, prefix) && endsNormal(text) },
			differs: c.near,
		})
		paths = append(paths, found...)
		c.unsure = c.unsure || !whole
	}
	return paths
}

// leaves reports whether the search for paths below the parameter prefix must stop at a text, the beginning of a
// path. This is so if the text without its last segment is in c.prefixes, and is longer than the parameter prefix.
// The search below this longer prefix then finds all paths that begin with the text.
func (c *pathClasses) leaves(text, prefix string) bool {
	end := strings.LastIndexByte(text, '/')
	if end <= len(prefix) {
		return false
	}
	_, is := slices.BinarySearch(c.prefixes, text[:end])
	return is
}

// near returns what the search must know of a text, the beginning of a path, to tell it from others (see
// search.differs). If a value in c.exact or c.prefixes begins with the text, this is the text itself. Otherwise it is
// only the result of the function ending.
func (c *pathClasses) near(text string) string {
	for _, list := range [][]string{c.exact, c.prefixes} {
		if i, _ := slices.BinarySearch(list, text); i < len(list) && strings.HasPrefix(list[i], text) {
			return text
		}
	}
	return ending(text)
}

// ending returns a key that says how Envoy normalizes the end of a text. If two texts have the same key, Envoy treats
// their ends alike. The key is "" for most texts. It is not "" for a text that ends with an unfinished escape, or
// with a last segment that is empty, "." or "..".
func ending(text string) string {
	segment := text[strings.LastIndexByte(text, '/')+1:]
	switch {
	case segment == "" || segment == "." || segment == "..":
		return segment + "/"
	case strings.HasSuffix(text, "%"):
		return "%"
	case strings.HasSuffix(text, "%2"):
		return "%2"
	}
	return ""
}

// isNormal reports whether a text, the beginning of a path, starts with "/" and contains no "//", "/./" or "/../". A
// "." or ".." at the very end is allowed, because the segment may continue. Envoy's normalization does not change the
// other segments of such a text.
func isNormal(text string) bool {
	return strings.HasPrefix(text, "/") && !strings.Contains(text, "//") && !strings.Contains(text, "/./") && !strings.Contains(text, "/../")
}

// isEscaped reports whether each % of a path begins an escape that Envoy keeps (%2F or %20). If whole is false,
// the text may end within an escape.
func isEscaped(text string, whole bool) bool {
	for rest := text; ; {
		_, after, found := strings.Cut(rest, "%")
		if !found {
			return true
		}
		known := slices.ContainsFunc([]string{"2F", "20"}, func(escape string) bool {
			return strings.HasPrefix(after, escape) || !whole && strings.HasPrefix(escape, after)
		})
		if !known {
			return false
		}
		rest = after
	}
}

// endsNormal reports whether Envoy's normalization leaves the end of a path unchanged. The text must be the whole
// path. For its other segments, see isNormal.
func endsNormal(text string) bool {
	return isEscaped(text, true) && !strings.HasSuffix(text, "/.") && !strings.HasSuffix(text, "/..")
}

// samples returns example values that the regular expression pattern matches. The parameter others has further
// expressions. Each value matches a different subset of them: there is one value for each subset (also the empty one)
// for which such a value exists. Values that match fewer of the others come first. whole is false if a value may be
// missing, or if pattern also matches the empty text, which samples never returns. The parameter most is the budget
// of the search. If most is nil, only maxSteps limits the search.
func (p patterns) samples(pattern string, others []string, characters string, most *budget) (values []string, whole bool) {
	left := maxSteps / 10
	l, readable := newLanguage(append([]string{pattern}, others...), characters, &left)
	l.budget = most
	all := func(string) bool { return true }
	values, ended := l.texts(search{enters: all, wanted: func(text string) bool { return text != "" && p.match(pattern, text) }, differs: func(string) string { return "" }})
	slices.SortStableFunc(values, func(a, b string) int { return p.count(others, a) - p.count(others, b) })
	return values, readable && ended && l.speaksAll() && !p.match(pattern, "")
}

// speaksAll reports whether each printable Latin-1 character is represented in the alphabet: the alphabet has
// it, or has a character that all expressions treat in the same way.
func (l *language) speaksAll() bool {
	known := map[string]bool{}
	for _, r := range l.alphabet {
		known[l.sign(r)] = true
	}
	for r := rune(' '); r <= unicode.MaxLatin1; r++ {
		if r != 0x7f && !known[l.sign(r)] {
			return false
		}
	}
	return true
}

// count returns how many of the expressions match a value.
func (p patterns) count(expressions []string, value string) (n int) {
	for _, e := range expressions {
		if p.match(e, value) {
			n++
		}
	}
	return n
}
