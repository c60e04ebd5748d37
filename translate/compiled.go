package translate

import (
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/bucket"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/xds"
)

// table is the value of the fold of that name: the rules of a virtual host.
type table struct {
	rules memo.Ordered[*entry]
	// owners counts the rules of each namespace.
	owners memo.Ordered[owner]
	// tree has the same rules in short lists, encoded; nil while one list is short enough.
	tree *bucket.Tree[*entry, *xds.Leaf]
}

// owner is a namespace, with the number of rules that its routes have in a virtual host.
type owner struct {
	Namespace string
	Rules     int
}

func compareOwners(a, b owner) int { return strings.Compare(a.Namespace, b.Namespace) }

func sameTable(a, b table) bool { return a.rules.Same(b.rules) }

// leaves returns the lists of a compiled host, nil for a host that is one list.
func (t table) leaves() []*xds.Leaf {
	if t.tree == nil {
		return nil
	}
	return t.tree.Leaves()
}

// tableStep returns the step of the fold. twins groups the rules of a list that have the same
// match. If many rules change, the step builds the tree anew; the result is the same as after an
// edit.
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

// countOwners returns the counts after the members changed.
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

// moved returns the rules that left a table and those that are new in it. A rule that came and then
// changed counts once. A rule that begins or ceases to delegate keeps its ID, so its new form can
// come before its old form goes.
func moved(members []memo.Member[string, *entry]) (gone, come []*entry) {
	here := make(map[string][]*entry, len(members)) // those that came, by ID
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

// withoutMarks returns the members without those that hold no rule.
func withoutMarks[M any](members []memo.Member[string, M]) []memo.Member[string, M] {
	return slices.DeleteFunc(members, func(m memo.Member[string, M]) bool { return strings.HasPrefix(m.ID, mark) })
}

// mark begins the ID of a member without a rule. It keeps a host from wider ones
// that a listener claims, or a route of which nothing stands there itself: the
// host exists, and answers 404.
const mark = "mark "
