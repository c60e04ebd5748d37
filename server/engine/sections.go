package engine

import (
	"fmt"
	"slices"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
)

// sectionInUse is the code of the problem that an edit takes away a section which a policy names.
const sectionInUse = "SectionInUse"

// addSectionsInUse adds an error for each edit that takes away a section of a route, Gateway, ListenerSet or Service while
// a policy that protects names it by sectionName. The policy as it is served in this round counts: if its own edit names
// another section, and is applied, there is no error.
func (j *judging) addSectionsInUse(all map[manifest.Key][]manifest.Problem) {
	lost, namespaces := map[manifest.Key][]string{}, map[string]bool{}
	for _, u := range j.units {
		for _, e := range u.edits {
			if gone := lostSections(e.Before, j.reader.store.Served(e.Key)); len(gone) > 0 {
				lost[e.Key], namespaces[e.Key.Namespace] = gone, true
			}
		}
	}
	if len(lost) == 0 {
		return
	}
	policies := j.reader.store.ServedIn(namespaces, isPolicy)
	slices.SortFunc(policies, func(a, b *manifest.Object) int { return manifest.CompareKeys(a.Key, b.Key) })
	for key, gone := range lost {
		object := j.reader.store.Served(key)
		for _, policy := range policies {
			if policy.Key.Namespace != key.Namespace || !protects(policy) {
				continue
			}
			for _, section := range gone {
				if store.NamesSection(policy, object, section) {
					all[key] = append(all[key], sectionProblem(key, section, policy.Key))
				}
			}
		}
	}
}

// lostSections returns the names of the sections of an object that an edit of it takes away. It returns nil if there was
// no object before, or if there is none now.
func lostSections(before, now *manifest.Object) []string {
	if before == nil || now == nil || before == now {
		return nil
	}
	has := store.Sections(now)
	return slices.DeleteFunc(store.Sections(before), func(name string) bool { return name == "" || slices.Contains(has, name) })
}

// sectionProblem returns the problem of an object whose edit takes away a section that a policy names.
func sectionProblem(of manifest.Key, section string, policy manifest.Key) manifest.Problem {
	what, field := "rule", "spec.rules"
	switch of.Kind {
	case "Gateway", "ListenerSet":
		what, field = "listener", "spec.listeners"
	case "Service":
		what, field = "port", "spec.ports"
	}
	return manifest.Problem{
		Code: sectionInUse, Severity: manifest.Error, Object: of, Field: field,
		Message: fmt.Sprintf("the edit takes away the %s %q, which %s protects by its sectionName", what, section, policy),
		Hint:    fmt.Sprintf("if the %s has another name now, write that into sectionName of the policy, too: both take effect together", what),
	}
}
