package translate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// The limits for one target. At most maxPolicies policies of one kind may apply to one rule, listener, Service or
// Backend. At most maxAims targetRefs and targetSelectors are examined to find the policies of a target. A target
// above a limit fails closed, because each policy may protect it. No list of pairs of policies and targets is
// built, so that the cost depends only on the size of the folder.
const (
	maxPolicies = 64
	maxAims     = 1024
)

// attachments are the policies of one kind that apply to one object.
type attachments struct {
	// Aims are the policies that apply to the object, sorted by policy. Each policy has only the targets that apply
	// to the object. Aims are nil if no policy applies, or if more than maxAims targets would have to be examined.
	Aims []*policyTarget
	// Crowded are the sections of the object, or the object itself, for which a limit is exceeded. They fail
	// closed.
	Crowded []overLimitAt
}

// overLimitAt is an object, or a section of an object, that fails closed because too many policies apply. Section is
// the name of a rule, listener or port, "" for the whole object. If Unread is true, the policies that could apply to
// the object have more than maxAims targets in total, and none of these policies was read.
type overLimitAt struct {
	Object  manifest.Key
	Section string
	Unread  bool
}

func compareCrowded(a, b overLimitAt) int {
	unread := func(at overLimitAt) int {
		if at.Unread {
			return 1
		}
		return 0
	}
	return cmp.Or(manifest.CompareKeys(a.Object, b.Object), strings.Compare(a.Section, b.Section), cmp.Compare(unread(a), unread(b)))
}

// words returns a message about the exceeded limit. The parameter kind is the kind of the policies. The message
// has no number that would change with each policy.
func (at overLimitAt) words(kind string) string {
	place := at.Object.String()
	if at.Section != "" {
		place += "#" + at.Section
	}
	if at.Unread {
		return fmt.Sprintf("more than %d targetRefs and targetSelectors of kind %s name %s, or ask for one of its labels", maxAims, kind, place)
	}
	return fmt.Sprintf("more than %d objects of kind %s are for %s", maxPolicies, kind, place)
}

// count finds the sections of an object with more than maxPolicies policies, and lists them in Crowded. A
// policy for the whole object counts in each section. If more than maxPolicies policies are for the whole
// object, Crowded has the object itself.
func (at *attachments) count(object manifest.Key) {
	whole, sections := 0, map[string]int{}
	for _, one := range at.Aims {
		if slices.ContainsFunc(one.Targets, func(t store.Target) bool { return t.Section == "" }) {
			whole++
			continue
		}
		own := map[string]bool{}
		for _, target := range one.Targets {
			own[target.Section] = true
		}
		for section := range own {
			sections[section]++
		}
	}
	if whole > maxPolicies {
		at.Crowded = []overLimitAt{{Object: object}}
		return
	}
	for _, section := range slices.Sorted(maps.Keys(sections)) {
		if whole+sections[section] > maxPolicies {
			at.Crowded = append(at.Crowded, overLimitAt{Object: object, Section: section})
		}
	}
}

// closing returns the reason why a section of the object fails closed: too many policies apply to the section
// or to the whole object. If no limit is exceeded, the result is nil. The parameter section is the name of a
// rule, listener or port, "" for the whole object. The parameter kind is the kind of the policies, for the
// message.
func (at *attachments) closing(kind, section string) *closing {
	for _, crowded := range at.Crowded {
		if crowded.Section == "" || crowded.Section == section {
			return &closing{Why: crowded.words(kind), At: ir.Part{Kind: ir.PartClosed, Object: crowded.Object}}
		}
	}
	return nil
}

// policyTarget is a policy with some of its targets. Which targets it has depends on where the policyTarget is used:
//   - targetRules.named: the targets that name one object.
//   - targetRules.wanted: the targets that are selectors, grouped by the alphabetically first label of the selector.
//     The selectors without labels form one group for each kind, because they select all objects of the kind (see
//     wantedLabel).
//   - attachments: the targets that apply to one object.
type policyTarget struct {
	Policy  manifest.Key
	Targets []store.Target
}

func compareAims(a, b *policyTarget) int { return manifest.CompareKeys(a.Policy, b.Policy) }
