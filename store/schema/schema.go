// Package schema says whether one object is what its kind wants: it prunes
// unknown fields, fills defaults and validates, as a Kubernetes API server
// would on a create, and words what it finds for people.
//
// Kinds with a CRD (Gateway API v1.6.3, experimental channel, and our own) are
// checked against it: the CRD is read into a structural schema, its CEL rules
// are compiled, both by k8s.io/apiextensions-apiserver. Fields, defaults and
// values are then checked in one walk over the object, which knows value and
// schema at once and so can say what was meant; a test holds its verdicts
// against those of the API server's validator. Kinds of the core have no CRD:
// the Go types of k8s.io/api are their schema, and the few rules that matter
// here are added to it.
//
// An embedded schema that does not compile is our mistake and panics.
package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Set holds the schemas of all kinds that gatefold knows. It is safe for
// concurrent use.
type Set struct {
	kinds    map[schema.GroupKind]*kind
	unserved []KindNotServed
}

// loaded is the set of the program: it is made of embedded files alone, and never changes.
var loaded = sync.OnceValues(load)

// Load returns the set, which is shared. It is fast: a kind's schema is parsed and compiled
// once, when the kind is first checked. The error says that the embedded files do not match the
// table of kinds.
func Load() (*Set, error) { return loaded() }

func load() (*Set, error) {
	unserved := readNotServed()
	s := &Set{kinds: map[schema.GroupKind]*kind{}, unserved: unserved.Kinds}
	for _, k := range slices.Concat(crdKinds(), coreKinds()) {
		if k.file != "" {
			if _, err := crds.Open(k.file); err != nil {
				return nil, fmt.Errorf("schema of %s: %w", k.Kind, err)
			}
		}
		k.unserved = &unserved
		k.prepare()
		s.kinds[k.GroupKind] = k
	}
	return s, nil
}

// Versions returns the served versions of a kind, the storage version first; nil for an unknown
// kind. The versions of one kind have the same fields with the same types (a test proves it):
// an object that passed the Check of one may be read as the storage version. Only the allowed
// values differ.
func (s *Set) Versions(gk schema.GroupKind) []string {
	if k := s.kinds[gk]; k != nil {
		return slices.Clone(k.versions)
	}
	return nil
}

// Namespaced reports whether the kind is namespaced; false for an unknown kind.
func (s *Set) Namespaced(gk schema.GroupKind) bool {
	k := s.kinds[gk]
	return k != nil && k.namespaced
}

// Check prunes, defaults and validates object in place, in the version that it is written in,
// and returns all findings, sorted by field. If a finding is an error, object must not be used.
//
// object is decoded JSON: maps, slices, strings, bools, nil and numbers as int64 or float64. A
// float64 without fraction becomes an int64 where the schema has an integer. Check drops
// without a finding what kubectl prints and users do not mean to set (status,
// metadata.managedFields, metadata.resourceVersion), and fields that are null, as the API
// server does.
func (s *Set) Check(gvk schema.GroupVersionKind, object map[string]any) []Finding {
	return s.check(gvk, object, false)
}

// Recheck is Check for an object that passed Check under the same Fingerprint: it skips the CEL
// rules, which take most of the time.
func (s *Set) Recheck(gvk schema.GroupVersionKind, object map[string]any) []Finding {
	return s.check(gvk, object, true)
}

func (s *Set) check(gvk schema.GroupVersionKind, object map[string]any, obeyed bool) []Finding {
	k := s.kinds[gvk.GroupKind()]
	if k == nil {
		return []Finding{{Code: UnknownVersion, Field: "kind", Message: fmt.Sprintf("no kind %s is known", gvk.GroupKind())}}
	}
	check, served := k.checks[gvk.Version]
	if !served {
		return []Finding{unserved(k, gvk.Version)}
	}
	found := check().run(object, obeyed)
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Field, b.Field), strings.Compare(a.Code, b.Code), strings.Compare(a.Message, b.Message))
	})
	return found
}

func unserved(k *kind, version string) Finding {
	return Finding{
		Code:    UnknownVersion,
		Field:   "apiVersion",
		Message: fmt.Sprintf("%s has no version %s", k.Kind, shown(version)),
		Hint:    "write apiVersion: " + k.WithVersion(k.versions[0]).GroupVersion().String(),
	}
}
