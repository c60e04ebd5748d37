// Package schema checks single objects against the schema of their kind. Like a Kubernetes API server at a
// creation, it removes unknown fields, sets defaults and validates. Its findings are texts for people.
//
// Kinds with a CRD are checked against the CRD. These are the kinds of the Gateway API (v1.6.3, experimental
// channel) and gatefold's own kinds. k8s.io/apiextensions-apiserver reads the CRD into a structural schema and
// compiles its CEL rules. One walk over the object then checks fields, defaults and values. The walk knows
// value and schema at the same time, so a finding can name what was probably meant. A test compares the results
// with those of the API server's validator.
//
// Kinds of Kubernetes itself have no CRD. Their schema is the Go type in k8s.io/api, with a few added rules.
//
// If an embedded schema cannot be compiled, the package panics, because that is a bug in gatefold.
package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Set has the schemas of all kinds that gatefold knows. Several goroutines may use it.
type Set struct {
	kinds    map[schema.GroupKind]*kind
	unserved []KindNotServed
}

// loaded returns the result of load, which depends only on embedded files. load runs only once.
var loaded = sync.OnceValues(load)

// Load returns the Set, which all callers share. It is fast, because the schema of a kind is compiled when the
// kind is first checked. It returns an error if the embedded CRD of a kind is missing.
func Load() (*Set, error) { return loaded() }

func load() (*Set, error) {
	unserved := readNotServed()
	s := &Set{kinds: map[schema.GroupKind]*kind{}, unserved: unserved.Kinds}
	for _, k := range slices.Concat(crdKinds(), coreKinds()) {
		for _, v := range k.crd {
			if _, err := crds.Open(v.file); err != nil {
				return nil, fmt.Errorf("schema of %s: %w", k.Kind, err)
			}
		}
		k.unserved = &unserved
		k.prepare()
		s.kinds[k.GroupKind] = k
	}
	return s, nil
}

// Versions returns the versions of a kind that can be used, the storage version first. It returns nil for an
// unknown kind. All versions of a kind have the same fields with the same types, as a test proves. So an object
// that passed Check in one version can be read as the storage version. Only the allowed values differ.
func (s *Set) Versions(gk schema.GroupKind) []string {
	if k := s.kinds[gk]; k != nil {
		return slices.Clone(k.versions)
	}
	return nil
}

// Namespaced reports whether the objects of a kind have a namespace. It returns false for an unknown kind.
func (s *Set) Namespaced(gk schema.GroupKind) bool {
	k := s.kinds[gk]
	return k != nil && k.namespaced
}

// Check checks an object against the schema of its apiVersion: it prunes, defaults and validates the object in
// place. It returns the findings, sorted by field: at most maxFindings, and a warning if the apiVersion is
// deprecated. If a finding is an error, the object must not be used.
//
// The object is decoded JSON: maps, slices, strings, bools, nil, and numbers as int64 or float64. A float64 without
// fraction becomes an int64 if the schema has an integer. Check removes some fields without a finding: status,
// metadata.managedFields and metadata.resourceVersion, which kubectl prints and users do not want to set. Like the
// API server it also removes fields that are null, unless the schema allows null.
func (s *Set) Check(gvk schema.GroupVersionKind, object map[string]any) []Finding {
	return s.check(gvk, object, false)
}

// Recheck is Check for an object that passed Check under the same Fingerprint. It does not run the CEL rules,
// which take most of the time.
func (s *Set) Recheck(gvk schema.GroupVersionKind, object map[string]any) []Finding {
	return s.check(gvk, object, true)
}

// HasSpecField reports whether the spec of a kind has a field with the given name. Fields of kgateway that gatefold does
// not serve count, too.
func (s *Set) HasSpecField(gk schema.GroupKind, name string) bool {
	k := s.kinds[gk]
	if k == nil {
		return false
	}
	spec := k.checks[k.versions[0]]().root.fields["spec"]
	return spec != nil && spec.fields[name] != nil || slices.Contains(k.unserved.Fields[k.Kind], "spec."+name)
}

// check checks an object for Check and Recheck. If obeyed is true, the object passed its CEL rules before, and
// check skips them.
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

// unserved returns the finding for an object whose apiVersion is not a version of its kind.
func unserved(k *kind, version string) Finding {
	return Finding{
		Code:    UnknownVersion,
		Field:   "apiVersion",
		Message: fmt.Sprintf("%s has no version %s", k.Kind, shown(version)),
		Hint:    "write apiVersion: " + k.WithVersion(k.versions[0]).GroupVersion().String(),
	}
}
