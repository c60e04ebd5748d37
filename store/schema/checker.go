package schema

import (
	"sync"

	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// checker checks objects of one version of one kind against the compiled schema of this version.
type checker struct {
	root       *node
	deprecated string // the message of the warning; "" if the version is not deprecated
	secret     bool   // the kind is Secret: no finding may show a value

	// more has the checks of a Kubernetes kind, such as Service, that the Go type of the kind cannot express.
	// more runs only if there is no blocking finding (see blocks), so that types and required fields are valid.
	// It is nil for other kinds.
	more func(*mistakes, map[string]any)

	kind     string
	unserved *notServed

	// places returns, for the name of each field in the schema, the paths of the objects that can have the
	// field.
	places func() map[string][]string
}

// finish completes the checker of the kind k. It adds the fields that objects of all kinds have: apiVersion,
// kind and metadata.
func (c *checker) finish(k *kind) {
	c.kind, c.unserved = k.Kind, k.unserved
	c.root.add("apiVersion", &node{typ: "string"})
	c.root.add("kind", &node{typ: "string"})
	c.root.add("metadata", metadataNode(k.GroupKind))
	c.root.limits.Required = append(c.root.limits.Required, "metadata")
	c.markIgnored()
	c.places = sync.OnceValue(func() map[string][]string {
		places := map[string][]string{}
		collectPlaces(c.root, "", places)
		return places
	})
}

// run checks one object, and prunes and defaults the object as Set.Check does. It returns the findings
// unsorted. If the parameter obeyed is true, the object passed its CEL rules before, and run skips the CEL
// rules.
func (c *checker) run(object map[string]any, obeyed bool) []Finding {
	dropSilently(object)
	m := &mistakes{checker: c, trail: make(trail, 0, 16)}
	if c.deprecated != "" {
		m.found = append(m.found, Finding{Code: DeprecatedVersion, Field: "apiVersion", Message: c.deprecated, Warning: true})
	}
	m.ownAnnotations(object) // nulls must still be in the object
	m.ownNamespace(object)
	m.setsNothing(object)
	walk{m}.object(c.root, object)
	if m.blocked {
		return m.found
	}
	if c.more != nil {
		c.more(m, object)
	}
	if !obeyed {
		rules := &ruleRun{mistakes: m, most: maxPlain, budget: celconfig.RuntimeCELCostBudget}
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
