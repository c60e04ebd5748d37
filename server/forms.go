package server

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"
	"strings"
	"weak"

	"github.com/gatefold/gatefold/translate/xds"
)

// forms is what streams make of a table, beside the one that is the target: most
// often a thousand Envoys say the same of the same table at the same time. Each form
// is made when somebody needs it, is one for all who do at that time, and goes with
// the last of them. Server.mu guards all.
type forms struct {
	of       *entry // the target that this one was made of, nil for a target
	linear   weak.Pointer[entry]
	suspects weak.Pointer[suspects]
	amended  map[[sha256.Size]byte]weak.Pointer[amended]
}

// source gives the target that e was made of.
func (e *entry) source() *entry { return cmp.Or(e.forms.of, e) }

// linear gives the form of a table without trees, which is e itself where there are
// none.
func (e *entry) linear() *entry {
	if e.Linear == nil {
		return e
	}
	if made := e.forms.linear.Value(); made != nil {
		return made
	}
	made := e.made(e.Linear())
	e.forms.linear = weak.Make(made)
	return made
}

// made gives a form of e.
func (e *entry) made(r xds.Resource) *entry {
	out := newEntry(&r)
	out.forms.of = e.source()
	return out
}

// suspects are the parts of a table among which one is bad.
type suspects struct {
	of, before *entry // what was refused, and accepted
	table      *table // the linear form
	units      []unit // in the order in which Envoy reads
	all        bool   // all parts are suspects
	probes     map[int]weak.Pointer[entry]
}

// suspects gives what is new in e since a table that was accepted; all of it where
// there was none, or nothing is new.
func (e *entry) suspects(before *entry) *suspects {
	if made := e.forms.suspects.Value(); made != nil && made.before == before {
		return made
	}
	s := &suspects{of: e, before: before, table: readTable(e.linear()), probes: map[int]weak.Pointer[entry]{}}
	if before != nil {
		s.units = s.table.news(readTable(before.linear()))
	}
	if len(s.units) == 0 {
		s.units, s.all = s.table.news(nil), true
	}
	e.forms.suspects = weak.Make(s)
	return s
}

// upTo gives the probe with the suspects up to and with one, -1 for none of them.
func (s *suspects) upTo(at int) *entry {
	if made := s.probes[at].Value(); made != nil {
		return made
	}
	probe := s.table.probe(s.units[max(at, 0)], at >= 0)
	s.probes[at] = weak.Make(probe)
	return probe
}

// amended is a table without refused parts; struck are those that it had.
type amended struct {
	*entry
	struck map[unit]bool
}

// without gives the table e without refused parts; it is e where it has none of them.
// It is compiled when e is, unless that would not answer as the linear form does.
func (e *entry) without(refused map[unit]*refusedPart) *amended {
	key := keyOf(refused)
	if made := e.forms.amended[key].Value(); made != nil {
		return made
	}
	refused = maps.Clone(refused)
	line := newStriker(refused)
	rest := line.table(readTable(e.linear()))
	made := &amended{e, line.struck}
	if tree := newStriker(refused); len(line.struck) > 0 {
		if e.Linear != nil {
			made.entry = e.made(*tree.table(readTable(e)).entry().Resource)
			made.Linear = func() xds.Resource { return *newStriker(refused).table(readTable(e.linear())).entry().Resource }
		}
		if tree.torn || len(tree.struck) != len(line.struck) {
			made.entry = e.made(*rest.entry().Resource)
		}
	}
	if e.forms.amended == nil {
		e.forms.amended = map[[sha256.Size]byte]weak.Pointer[amended]{}
	}
	e.forms.amended[key] = weak.Make(made)
	return made
}

// keyOf is the same for the same parts.
func keyOf(refused map[unit]*refusedPart) [sha256.Size]byte {
	sum := sha256.New()
	byName := func(a, b unit) int { return cmp.Or(strings.Compare(a.host, b.host), strings.Compare(a.route, b.route)) }
	for _, u := range slices.SortedFunc(maps.Keys(refused), byName) {
		how := byte(0)
		if refused[u].match {
			how = 1
		}
		sum.Write([]byte(u.host + "\x00" + u.route + "\x00"))
		sum.Write(append(refused[u].sum[:], how))
	}
	return [sha256.Size]byte(sum.Sum(nil))
}
