package translate

import (
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/bucket"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/xds"
)

// table has the rules of one virtual host. It is the value of the fold tableRules.table.
type table struct {
	rules memo.Ordered[*entry]
	// owners has the number of rules of each namespace.
	owners memo.Ordered[owner]
	// tree has the same rules, encoded, in short lists by path. It is nil for a host with at most bucket.Full
	// rules.
	tree *bucket.Tree[*entry, *xds.Leaf]
}

// owner is a namespace, with the number of rules that its routes have in a virtual host.
type owner struct {
	Namespace string
	Rules     int
}

func compareOwners(a, b owner) int { return strings.Compare(a.Namespace, b.Namespace) }

// sameTable reports whether two tables have the same rules in memory. If it returns false, the rules may still
// be equal. The other fields follow from the rules.
func sameTable(a, b table) bool { return a.rules.Same(b.rules) }

// leaves returns the short lists of tree, nil for a table without a tree.
func (t table) leaves() []*xds.Leaf {
	if t.tree == nil {
		return nil
	}
	return t.tree.Leaves()
}

// tableStep returns the step of the memo.Fold tableRules.table. The step computes the new table from the old
// table and the changed members. twins groups the rules of a list that match the same requests. If more than
// one rule in eight changes, the step builds the tree again. The result is the same as after edits of the old
// tree.
func tableStep(twins func([]*entry) [][]*entry) func(table, []memo.Member[string, *entry]) table {
	order, shape := gather[string](compareEntries), treeShape(twins)
	return func(old table, members []memo.Member[string, *entry]) table {
		members = withoutMarks(members)
		out := table{rules: order(old.rules, members), owners: countOwners(old.owners, members)}
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

// countOwners returns the number of rules of each namespace after the changes in members. owners has the
// numbers before the changes.
func countOwners(owners memo.Ordered[owner], members []memo.Member[string, *entry]) memo.Ordered[owner] {
	if owners.Len() == 0 {
		owners = memo.NewOrdered(compareOwners)
	}
	more := map[string]int{}
	for _, m := range members {
		if m.Had {
			more[m.Old.Rule.Source.Key.Namespace]--
		}
		if m.Has {
			more[m.New.Rule.Source.Key.Namespace]++
		}
	}
	for namespace, rules := range more {
		now := owner{namespace, rules}
		for known := range owners.From(now) {
			if known.Namespace == namespace {
				now.Rules += known.Rules
			}
			break
		}
		switch {
		case rules == 0:
		case now.Rules == 0:
			owners = owners.Delete(now)
		default:
			owners = owners.Insert(now)
		}
	}
	return owners
}

// moved returns the rules that left a table (gone), and the rules that are new in it (come). A rule that
// members first add and then change is only in come, as it is after the last change. An ID can occur twice: a
// rule that begins or ceases to delegate keeps its ID, and its new version may be added before its old version
// is removed.
func moved(members []memo.Member[string, *entry]) (gone, come []*entry) {
	here := make(map[string][]*entry, len(members)) // new versions of rules, by ID
	for _, m := range members {
		if m.Had {
			own := here[m.ID]
			if at := slices.IndexFunc(own, func(e *entry) bool { return compareEntries(e, m.Old) == 0 }); at >= 0 {
				here[m.ID] = slices.Delete(own, at, at+1)
			} else {
				gone = append(gone, m.Old)
			}
		}
		if m.Has {
			here[m.ID] = append(here[m.ID], m.New)
		}
	}
	for _, own := range here {
		come = append(come, own...)
	}
	return gone, come
}

// treeShape returns the functions that table.tree is built with. twins is the parameter of tableStep.
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

// withoutMarks returns members without those that have no rule (see mark). It modifies the slice.
func withoutMarks[M any](members []memo.Member[string, M]) []memo.Member[string, M] {
	return slices.DeleteFunc(members, func(m memo.Member[string, M]) bool { return strings.HasPrefix(m.ID, mark) })
}

// mark begins the ID of a member without a rule. The member makes a host without rules exist, so that the host
// answers 404. Otherwise a wider host would get its requests. There is a mark for each host of a listener, and
// for each route without rules.
const mark = "mark "
