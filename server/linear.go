package server

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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

// setLinear notes whether some table goes to a stream's Envoy without trees.
func (s *Server) setLinear(st *stream, linear bool) {
	if st.linear != linear {
		st.linear = linear
		s.metrics.linear.Add(2*number(linear) - 1)
		s.restate(st.scope)
	}
}

// linearOnes tells of Envoys that are given linear tables.
func linearOnes(streams []*stream) string {
	var those []string
	for _, st := range streams {
		if st.linear {
			those = append(those, fmt.Sprintf("%q", cmp.Or(st.node, st.peer)))
		}
	}
	if len(those) == 0 {
		return ""
	}
	slices.Sort(those)
	return " Given linear route tables, which are slower: " + strings.Join(slices.Compact(those), ", ") + "."
}
