package translate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
)

// group are the rules of a virtual host that remove the same identity headers, because they have the same namespace,
// lead to the same backends and read the same headers as credentials.
type group struct {
	Namespace string
	Leads     []manifest.Key
	Reads     []ir.CredentialHeader
	// Removes is false for rules that pass nothing on: their removal does not matter.
	Removes bool
}

// groupCount is a group with the number of its members.
type groupCount struct {
	*group
	Count int
}

// groupID identifies a member of a group: a node of a delegation tree (see flatKey), and a number.
type groupID struct {
	Node flatKey
	At   int
}

func compareCounts(a, b groupCount) int { return compareGroups(a.group, b.group) }

func compareGroups(a, b *group) int {
	return cmp.Or(
		strings.Compare(a.Namespace, b.Namespace), slices.CompareFunc(a.Leads, b.Leads, manifest.CompareKeys),
		slices.CompareFunc(a.Reads, b.Reads, compareCredentials), ir.TrueFirst(a.Removes, b.Removes),
	)
}

func compareCredentials(a, b ir.CredentialHeader) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(string(a.Field), string(b.Field)))
}

// groupOf returns the group of a rule.
func groupOf(e *entry) *group {
	out := &group{Namespace: e.Rule.Source.Key.Namespace, Reads: e.Rule.Action.CredentialHeaders()}
	out.Removes = e.Rule.Preflight == nil && (e.Rule.Action.Forward != nil || e.Rule.Action.Extras != nil)
	if e.Aim != nil {
		out.Leads = e.Aim.Leads
	}
	slices.SortFunc(out.Reads, compareCredentials)
	return out
}

// newGroups declares the fold of the groups of each virtual host.
func newGroups(e *memo.Engine, in identityIn) *memo.Fold[tableKey, groupID, *group, groupSet] {
	f := memo.NewFold[tableKey, groupID](e, "groups", countGroups, sameGroupSet)
	same := func(a, b *group) bool { return compareGroups(a, b) == 0 }
	memo.From(f, in.mount, func(key manifest.Key, m *mountOut, yield func(memo.Place[tableKey, groupID], *group)) {
		known := map[*flatOut][]*group{}
		for table, place := range m.Attach.places() {
			flat := m.flat(place.Port)
			groups, ok := known[flat]
			if !ok {
				groups = groupsIn(flat.Entries)
				known[flat] = groups
			}
			for i, g := range groups {
				yield(memo.Place[tableKey, groupID]{Key: table, ID: groupID{flatKey{Route: key}, i}}, g)
			}
		}
	}, same)
	memo.From(f, in.graft, func(key flatKey, g *graftOut, yield func(memo.Place[tableKey, groupID], *group)) {
		groups := groupsIn(g.Entries)
		for _, table := range g.Tables {
			for i, g := range groups {
				yield(memo.Place[tableKey, groupID]{Key: table, ID: groupID{key, i}}, g)
			}
		}
	}, same)
	return f
}

// groupsIn returns the groups of rules, each at least once.
func groupsIn(entries []*entry) (groups []*group) {
	type same struct { // rules that are equal in this have one group
		aim       *aim
		extras    *ir.Extras
		auth      *ir.ExtAuth
		forwards  bool
		namespace string
	}
	seen := map[same]bool{}
	for _, e := range entries {
		if e.Rule.Preflight != nil { // it passes nothing on
			continue
		}
		action := &e.Rule.Action
		one := same{e.Aim, action.Extras, action.ExternalAuth, action.Forward != nil, e.Rule.Source.Key.Namespace}
		if !seen[one] {
			seen[one] = true
			groups = append(groups, groupOf(e))
		}
	}
	return groups
}

// groupSet has the groups of a virtual host, and how many members each group has.
type groupSet struct {
	Groups ordered.Set[*group]
	counts ordered.Set[groupCount]
}

func sameGroupSet(a, b groupSet) bool { return a.counts.Same(b.counts) }

// countGroups is the step of the fold groups: it counts the members of each group. The set of the groups is the same
// in memory if no group comes or goes.
func countGroups(set groupSet, members []memo.Member[groupID, *group]) groupSet {
	if set.counts.Len() == 0 {
		set = groupSet{ordered.New(compareGroups), ordered.New(compareCounts)}
	}
	for _, m := range members { // what comes is counted first, so that a group that stays does not go meanwhile
		if m.Has {
			set = set.plus(m.New, 1)
		}
	}
	for _, m := range members {
		if m.Had {
			set = set.plus(m.Old, -1)
		}
	}
	return set
}

// plus returns the set with n more members of a group. A group without members is not in the set.
func (s groupSet) plus(g *group, n int) groupSet {
	now, known := groupCount{g, n}, false
	for first := range s.counts.From(now) {
		if known = compareCounts(first, now) == 0; known {
			now = groupCount{first.group, first.Count + n}
		}
		break
	}
	switch {
	case now.Count == 0:
		return groupSet{s.Groups.Delete(g), s.counts.Delete(now)}
	case !known:
		s.Groups = s.Groups.Insert(g)
	}
	return groupSet{s.Groups, s.counts.Insert(now)}
}
