package server

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"weak"

	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

// A large virtual host is compiled: a tree over the path in place of one list of
// routes. Its linear form (xds.Resource.Linear) answers alike. It goes to an Envoy
// that cannot read trees, and it is where bad routes are searched: it has each
// route once, in the order in which Envoy reads.

// The Envoy that learned RouteList, of which the leaves of a tree are (its release
// notes, 1.25.0). An older one rejects them, and those before 1.21 pass over the
// whole tree in silence and answer 404.
const treesMajor, treesMinor = 1, 25

// readsTrees tells whether an Envoy of this version can; one that does not tell it
// is given the benefit of the doubt.
func readsTrees(version string) bool { return !olderThan(version, treesMajor, treesMinor) }

// linear gives the form of a table without trees, which is e itself where there are
// none. It is made when somebody needs it, is one for all who do at that time, and
// goes with the last of them. Server.mu guards it.
func (e *entry) linear() *entry {
	if e.Linear == nil {
		return e
	}
	if made := e.straight.Value(); made != nil {
		return made
	}
	r := e.Linear()
	made := newEntry(&r)
	made.of = e.source()
	e.straight = weak.Make(made)
	return made
}

// source gives the target that e was made of.
func (e *entry) source() *entry { return cmp.Or(e.of, e) }

// target gives a resource of the scope in the form that this stream's Envoy reads,
// nil when there is none.
func (p *plan) target(typ, name string) *entry {
	e := p.scope.entry(typ, name)
	if e == nil || typ != resourcev3.RouteType {
		return e
	}
	if t := p.tables[name]; p.treeless || t != nil && (t.treeless || t.trial == e) {
		return e.linear()
	}
	return e
}

// linearTables tells whether some table of the stream goes to its Envoy without
// trees.
func (p *plan) linearTables() bool {
	if p.treeless {
		return true
	}
	for _, t := range p.tables {
		if t.treeless {
			return true
		}
	}
	return false
}

// countLinear counts the Envoys that are given linear tables.
func (s *Server) countLinear() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	count := 0
	add := func(c *scope) {
		for st := range c.streams {
			if st.linearTables() {
				count++
			}
		}
	}
	add(s.union)
	for _, c := range s.scopes {
		add(c)
	}
	return float64(count)
}

// linearOnes tells of Envoys that are given linear tables.
func linearOnes(streams []*stream) string {
	var those []string
	for _, st := range streams {
		if st.linearTables() {
			those = append(those, fmt.Sprintf("%q", cmp.Or(st.node, st.peer)))
		}
	}
	if len(those) == 0 {
		return ""
	}
	slices.Sort(those)
	return " Given linear route tables, which are slower: " + strings.Join(slices.Compact(those), ", ") + "."
}
