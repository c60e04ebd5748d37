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

// The limits of one target: how many policies of a kind may be for one rule, listener, Service
// or Backend, and how many selectors and targetRefs are looked at to find them. Above either the
// target is closed: each policy may be one that protects it. No list of pairs of policies and
// targets is made, so that folders cost what is written in them.
const (
	maxPolicies = 64
	maxAims     = 1024
)

// attachments are the policies for one object.
type attachments struct {
	// Aims are sorted by policy; nil where the object as a whole is crowded.
	Aims []*aim
	// Crowded are the sections that have more policies than the limit.
	Crowded []crowdedAt
}

// crowdedAt is a place that is closed because it has too many policies, or may have too many if
// Unread is true. The place is an object or, with Section, its rule, listener or port.
type crowdedAt struct {
	Object  manifest.Key
	Section string
	Unread  bool
}

func compareCrowded(a, b crowdedAt) int {
	unread := func(at crowdedAt) int {
		if at.Unread {
			return 1
		}
		return 0
	}
	return cmp.Or(manifest.CompareKeys(a.Object, b.Object), strings.Compare(a.Section, b.Section), cmp.Compare(unread(a), unread(b)))
}

// words says what is wrong at a place. It contains no number that changes with each policy.
func (at crowdedAt) words(kind string) string {
	place := at.Object.String()
	if at.Section != "" {
		place += "#" + at.Section
	}
	if at.Unread {
		return fmt.Sprintf("more than %d targetRefs and targetSelectors of kind %s name %s, or ask for one of its labels", maxAims, kind, place)
	}
	return fmt.Sprintf("more than %d objects of kind %s are for %s", maxPolicies, kind, place)
}

// count finds the sections of an object that have more policies than the limit. A policy for
// the whole object counts in each of its sections.
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
		at.Aims, at.Crowded = nil, []crowdedAt{{Object: object}}
		return
	}
	for _, section := range slices.Sorted(maps.Keys(sections)) {
		if whole+sections[section] > maxPolicies {
			at.Crowded = append(at.Crowded, crowdedAt{Object: object, Section: section})
		}
	}
}

// closing returns why a section of an object answers no request, nil if it answers.
func (at *attachments) closing(kind, section string) *closing {
	for _, crowded := range at.Crowded {
		if crowded.Section == "" || crowded.Section == section {
			return &closing{Why: crowded.words(kind), At: ir.Part{Kind: ir.PartClosed, Object: crowded.Object}}
		}
	}
	return nil
}

// aim is a policy, with a selection of its targets: those that name one object, or select by one
// label, or (in attachments) that apply to one object.
type aim struct {
	Policy  manifest.Key
	Targets []store.Target
}

func compareAims(a, b *aim) int { return manifest.CompareKeys(a.Policy, b.Policy) }
