package schema

import "k8s.io/apimachinery/pkg/runtime/schema"

// Finding is one mistake in one object, in words for people.
type Finding struct {
	Code    string
	Field   string // spec.rules[0].matches[1].path.value
	Message string
	Hint    string
	Warning bool
}

// Set holds the schemas of all kinds that gatefold knows.
type Set struct{}

// Load gives the set.
func Load() (*Set, error) { return &Set{}, nil }

// Has tells whether the kind is known.
func (s *Set) Has(gk schema.GroupKind) bool { return false }

// Versions gives the served versions of a kind, the storage version first.
func (s *Set) Versions(gk schema.GroupKind) []string { return nil }

// Namespaced tells whether objects of the kind live in a namespace.
func (s *Set) Namespaced(gk schema.GroupKind) bool { return true }

// Check prunes, defaults and validates object in place.
func (s *Set) Check(gvk schema.GroupVersionKind, object map[string]any) []Finding { return nil }
