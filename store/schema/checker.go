package schema

import (
	"sync"

	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// checker is one version of one kind, compiled.
type checker struct {
	root       *node
	deprecated string // a warning for people, or ""
	secret     bool   // values must not be shown

	// more is what the schema of a kind of the core cannot say. It is called
	// unless a blocking finding was made: types and required fields are right.
	more func(*walk, map[string]any)

	kind     string
	unserved *notServed

	// places lists where a field of a name may stand.
	places func() map[string][]string
}

// finish adds what all kinds have in common.
func (c *checker) finish(k *kind) {
	c.kind, c.unserved = k.Kind, k.unserved
	c.root.add("apiVersion", &node{typ: "string"})
	c.root.add("kind", &node{typ: "string"})
	c.root.add("metadata", metadataNode(k.GroupKind))
	c.root.limits.Required = append(c.root.limits.Required, "metadata")
	c.places = sync.OnceValue(func() map[string][]string {
		places := map[string][]string{}
		collectPlaces(c.root, "", places)
		return places
	})
}

// run checks one object in place; the findings are not sorted. The rules need
// not be run on an object that obeyed them before.
func (c *checker) run(object map[string]any, obeyed bool) []Finding {
	dropSilently(object)
	w := &walk{checker: c, path: make([]step, 0, 16), budget: celconfig.RuntimeCELCostBudget}
	if c.deprecated != "" {
		w.found = append(w.found, Finding{Code: DeprecatedVersion, Field: "apiVersion", Message: c.deprecated, Warning: true})
	}
	w.ownAnnotations(object) // before nulls are dropped
	w.object(c.root, object)
	if w.blocked {
		return w.found
	}
	if c.more != nil {
		c.more(w, object)
	}
	if !obeyed {
		w.obey(c.root, object)
	}
	return w.found
}

// dropSilently removes what kubectl prints and only a cluster can mean.
func dropSilently(object map[string]any) {
	delete(object, "status")
	if metadata, ok := object["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
		delete(metadata, "resourceVersion")
	}
}
