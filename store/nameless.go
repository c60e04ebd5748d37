package store

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// unnamed is what harmlessName makes of no name.
const unnamed = "_"

// nameAfter gives a policy without a readable name one that names its file, so that those of
// two files are two.
func (r *refused) nameAfter(path string) {
	if r.invalid != nil && r.invalid.Key.Name == unnamed {
		r.invalid.Key.Name, _ = harmlessName("in " + path)
		r.key = r.invalid.Key
	}
}

// isNameless reports whether a key is one that no object can have, by harmlessName.
func isNameless(key manifest.Key) bool { return strings.HasPrefix(key.Name, unnamed) }

// touchNameless adds the policies of the files that have no name of an object to touched: what
// they close depends on the versions that are kept of their file.
func (s *Store) touchNameless(files map[string]struct{}, touched map[manifest.Key]struct{}) {
	for path := range files {
		if f := s.files[path]; f != nil {
			for _, r := range f.oddities().refusals {
				if isNameless(r.key) {
					touched[r.key] = struct{}{}
				}
			}
		}
	}
}

// uncovered returns the Invalid of a refusal without the targets that a policy is for of
// which the last valid version is kept, where nobody can tell that it is not the same one: both
// are of one file and namespace, and this one has no name that an object can have.
func (s *Store) uncovered(r *refusal) *Invalid {
	if !r.invalid.Nameless || len(s.kept[r.file.path]) == 0 {
		return r.invalid
	}
	out := *r.invalid
	out.Targets = slices.DeleteFunc(slices.Clone(out.Targets), func(t Target) bool {
		for key := range s.kept[r.file.path] {
			if key.GroupKind() == out.Key.GroupKind() && key.Namespace == out.Key.Namespace && t.isOf(s.served[key].object) {
				return true
			}
		}
		return false
	})
	return &out
}

// isOf reports whether a valid policy is for all of the target.
func (t Target) isOf(policy *manifest.Object) bool {
	within := func(group gwv1.Group, kind gwv1.Kind, section *gwv1.SectionName) bool {
		return string(group) == t.Group && string(kind) == t.Kind && (section == nil || string(*section) == t.Section)
	}
	return slices.ContainsFunc(refsOf(policy), func(ref api.PolicyTarget) bool {
		return t.Name == string(ref.Name) && within(ref.Group, ref.Kind, ref.SectionName)
	}) || slices.ContainsFunc(selectorsOf(policy), func(selector api.PolicySelector) bool {
		return t.Name == "" && maps.Equal(selector.MatchLabels, t.Labels) && within(selector.Group, selector.Kind, selector.SectionName)
	})
}

// harmlessName returns a name as it may stand in a key; nameless tells that no object can
// have it. Nothing that is made of it leads to another file.
func harmlessName(name string) (harmless string, nameless bool) {
	if len(validation.IsDNS1123Subdomain(name)) == 0 {
		return name, false
	}
	harmless = strings.Map(func(r rune) rune {
		if r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, cut(name))
	return "_" + harmless, true
}
