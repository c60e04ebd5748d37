package schema

import (
	"sync"

	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// checker is the compiled schema of one version of one kind.
type checker struct {
	root       *node
	deprecated string // the message of the warning; "" if the version is not deprecated
	secret     bool   // the kind is Secret: no finding may show a value

	// more has the checks of a kind of Kubernetes that its Go type cannot express. It runs only without
	// blocking findings, so that types and required fields are valid.
	more func(*mistakes, map[string]any)

	kind     string
	unserved *notServed

	// places returns a map from the name of a field to the paths of the objects that can have the field.
	places func() map[string][]string
}

// finish completes the checker of a kind. It adds the fields of all kinds: apiVersion, kind and metadata.
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

// run checks one object, and changes it as Set.Check does. It returns the findings unsorted. If obeyed is true,
// it does not run the CEL rules, because the object passed them before.
func (c *checker) run(object map[string]any, obeyed bool) []Finding {
	dropSilently(object)
	m := &mistakes{checker: c, trail: make(trail, 0, 16)}
	if c.deprecated != "" {
		m.found = append(m.found, Finding{Code: DeprecatedVersion, Field: "apiVersion", Message: c.deprecated, Warning: true})
	}
	m.ownAnnotations(object) // nulls must still be in the object
	walk{m}.object(c.root, object)
	if m.blocked {
		return m.found
	}
	if c.more != nil {
		c.more(m, object)
	}
	if !obeyed {
		rules := &ruleRun{mistakes: m, small: isSmall(object), budget: celconfig.RuntimeCELCostBudget}
		rules.walk(c.root, object)
	}
	return m.found
}

// dropSilently removes status, metadata.managedFields and metadata.resourceVersion without a finding. Only a
// cluster uses these fields, but the output of kubectl has them.
func dropSilently(object map[string]any) {
	delete(object, "status")
	if metadata, ok := object["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
		delete(metadata, "resourceVersion")
	}
}
