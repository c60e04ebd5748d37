package schema

import (
	"context"
	"sync"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// checker is one version of one kind, compiled.
type checker struct {
	root       *node
	deprecated string // a warning for people, or ""
	secret     bool   // values must not be shown

	// Kinds with a CRD:
	schema *structural.Structural
	rules  *cel.Validator // nil when there are none

	// Kinds of the core: what the schema cannot say. It is called unless a
	// blocking finding was made, so types and required fields can be relied on.
	more func(*walk, map[string]any)

	// places lists where a field of a name may stand.
	places func() map[string][]string
}

// finish adds what all kinds have in common.
func (c *checker) finish(k *kind) {
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

// run checks one object in place; the findings are not sorted.
func (c *checker) run(object map[string]any) []Finding {
	dropSilently(object)
	w := &walk{checker: c, path: make([]step, 0, 16)}
	if c.deprecated != "" {
		w.found = append(w.found, Finding{Code: DeprecatedVersion, Field: "apiVersion", Message: c.deprecated, Warning: true})
	}
	w.object(c.root, object)
	if w.blocked() {
		return w.found
	}
	if c.more != nil {
		c.more(w, object)
	}
	return append(w.found, c.violations(object)...)
}

// dropSilently removes what kubectl prints and only a cluster can mean.
func dropSilently(object map[string]any) {
	delete(object, "status")
	if metadata, ok := object["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
		delete(metadata, "resourceVersion")
	}
}

// violations runs the CEL rules, within the cost that the API server grants
// one object.
func (c *checker) violations(object map[string]any) []Finding {
	if c.rules == nil {
		return nil
	}
	var found []Finding
	errs, _ := c.rules.Validate(context.Background(), nil, c.schema, object, nil, celconfig.RuntimeCELCostBudget)
	for _, err := range errs {
		found = append(found, Finding{Code: RuleViolated, Field: err.Field, Message: err.Detail})
	}
	return found
}
