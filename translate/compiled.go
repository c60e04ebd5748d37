package translate

import (
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/bucket"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/xds"
)

// table has the rules of one virtual host. It is the value of the fold tableRules.table.
type table struct {
	rules ordered.Set[*entry]
	// guarded has those rules that guardedBy selects.
	guarded ordered.Set[*entry]
	// open has those rules that take every request of the host.
	open ordered.Set[*entry]
	// teams has the places of the rules, if weights count within namespaces.
	teams standings
	// tree has the same rules, encoded and divided into short lists by path (see package bucket). It is nil if the
	// host has at most bucket.Full rules.
	tree *bucket.Tree[*entry, *xds.Leaf]
}

// sameTable reports whether two tables share the same rules in memory. If it returns false, the rules may still
// be equal. The tree is not compared, because it is computed from the rules.
func sameTable(a, b table) bool { return a.rules.Same(b.rules) }

// leaves returns the leaves of t.tree: for each key (a prefix of paths), the encoded routes for this key. It returns
// nil for a table without a tree.
func (t table) leaves() []*xds.Leaf {
	if t.tree == nil {
		return nil
	}
	return t.tree.Leaves()
}

// tableStep returns a function that computes the new table of a virtual host from the old table and the changed
// rules. This function is the step of a memo.Fold (tableRules.table). If more than one rule in eight changes, it
// builds table.tree again instead of editing the old tree. Both ways give the same tree. The parameter twins is a
// function that groups rules that match the same requests (see bucket.Shape.Twins). The parameter weighted is true if
// rules have weights.
func tableStep(twins func([]*entry) [][]*entry, weighted bool) func(table, []memo.Member[string, *entry]) table {
	order, shape := gather[string](compareEntries), treeShape(twins)
	return func(old table, members []memo.Member[string, *entry]) table {
		members, teams := withoutMarks(members), old.teams
		if weighted {
			teams, members = teams.apply(members)
		}
		out := table{teams: teams, rules: order(old.rules, members), guarded: order(old.guarded, only(guardedBy, members))}
		out.open = order(old.open, only((*entry).takesAll, members))
		switch {
		case out.rules.Len() <= bucket.Full:
		case old.tree == nil || len(members) > out.rules.Len()/8:
			out.tree = bucket.New(shape, slices.AppendSeq(make([]*entry, 0, out.rules.Len()), out.rules.All()))
		default:
			out.tree = old.tree.Edit(moved(members))
		}
		return out
	}
}

// only returns the changes of the entries for which the function pick returns true.
func only(pick func(*entry) bool, members []memo.Member[string, *entry]) (out []memo.Member[string, *entry]) {
	for _, m := range members {
		m.Had, m.Has = m.Had && pick(m.Old), m.Has && pick(m.New)
		if m.Had || m.Has {
			out = append(out, m)
		}
	}
	return out
}

// takesAll reports whether the rule of an entry takes every request of its host that no other rule takes.
func (e *entry) takesAll() bool { return xds.Covers(&e.Rule.Match, "/") }

// moved returns the rules to remove from a table and the rules to add to it. The parameter members has the changes
// of the table's rules, in order. If a rule is added and then changed, the result added has only its last version.
// moved does not identify a version by the ID alone, because two versions of a rule can have the same ID at once: a
// rule that begins or stops delegating keeps its ID, and the new version may be added before the old version is
// removed.
func moved(members []memo.Member[string, *entry]) (removed, added []*entry) {
	here := make(map[string][]*entry, len(members)) // new versions of rules, by ID
	for _, m := range members {
		if m.Had {
			own := here[m.ID]
			if at := slices.IndexFunc(own, func(e *entry) bool { return compareEntries(e, m.Old) == 0 }); at >= 0 {
				here[m.ID] = slices.Delete(own, at, at+1)
			} else {
				removed = append(removed, m.Old)
			}
		}
		if m.Has {
			here[m.ID] = append(here[m.ID], m.New)
		}
	}
	for _, own := range here {
		added = append(added, own...)
	}
	return removed, added
}

// treeShape returns the functions with which table.tree orders, divides and encodes rules. The parameter twins
// groups rules that match the same requests, and becomes bucket.Shape.Twins.
func treeShape(twins func([]*entry) [][]*entry) *bucket.Shape[*entry, *xds.Leaf] {
	return &bucket.Shape[*entry, *xds.Leaf]{
		Compare: compareEntries,
		Prefix:  func(e *entry) string { return xds.Prefix(&e.Rule.Match) },
		Covers:  func(e *entry, key string) bool { return xds.Covers(&e.Rule.Match, key) },
		Single:  func(e *entry) bool { return xds.Counts(&e.Rule.Action) },
		Twins:   twins,
		Leaf: func(key string, list []*entry) *xds.Leaf {
			routes := make([][]byte, len(list))
			for i, e := range list {
				routes[i] = e.Encoded
			}
			return xds.NewLeaf(key, routes)
		},
	}
}

// withoutMarks removes the members that are only marks (see the constant mark): a mark is a member that has no
// rule. It changes members in place, and returns the shortened slice.
func withoutMarks[M any](members []memo.Member[string, M]) []memo.Member[string, M] {
	return slices.DeleteFunc(members, func(m memo.Member[string, M]) bool { return strings.HasPrefix(m.ID, mark) })
}

// mark is the beginning of the IDs of marks. A mark is a member without a rule in the memo.Fold tableRules.table. A
// virtual host with a mark exists even if it has no rules; it then answers 404. Without this virtual host, a
// wildcard host would get the requests. There are two kinds of marks:
//   - one for the hostname of each HTTP or HTTPS listener that Envoy can serve (listen.Listener.Serves)
//   - one for each virtual host of a root route, if the root route has no rules of its own in this virtual host
const mark = "mark "
