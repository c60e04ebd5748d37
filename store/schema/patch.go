package schema

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
)

// patchHTTPRoute changes root, the HTTPRoute schema, for inclusion and delegation of routes (docs/design/inputs.md).
// gateway is a version of the Gateway CRD, from which the schema of allowedRoutes is copied. The embedded file
// stays as it was released. The changes are:
//
//   - rules[].allowedRoutes, with the schema of a listener's allowedRoutes, and the value None for
//     namespaces.from. A rule cannot have both allowedRoutes and backendRefs (GEP-1058, Summary of Changes 2).
//   - the path type PathPostfix (GEP-1058, Path Matching, option 2). It is checked like the other types, except
//     that its value may begin without a slash.
//   - backendRefs[].namespace: "" means that the field is not set (EP-10943, Delegating by label selector).
func patchHTTPRoute(root *apiextensions.JSONSchemaProps, gateway version) {
	edit(root, []string{"spec", "rules", "[]"}, func(rule *apiextensions.JSONSchemaProps) {
		rule.Properties = maps.Clone(rule.Properties)
		rule.Properties["allowedRoutes"] = listenerAllowedRoutes(gateway)
		rule.XValidations = append(slices.Clone(rule.XValidations), apiextensions.ValidationRule{
			Rule:    "!has(self.allowedRoutes) || !has(self.backendRefs) || size(self.backendRefs) == 0",
			Message: "a rule has either backendRefs or allowedRoutes, not both",
		})
	})
	edit(root, []string{"spec", "rules", "[]", "backendRefs", "[]", "namespace"}, func(namespace *apiextensions.JSONSchemaProps) {
		namespace.MinLength = nil
		namespace.Pattern = "^$|" + namespace.Pattern
	})
	edit(root, []string{"spec", "rules", "[]", "matches", "[]", "path"}, patchPath)
}

// patchPath adds PathPostfix to the allowed types of a path match, and to the CEL rules that list these types.
// It does not change the rule that the value begins with a slash.
func patchPath(path *apiextensions.JSONSchemaProps) {
	path.XValidations = slices.Clone(path.XValidations)
	for i := range path.XValidations {
		rule := &path.XValidations[i]
		if strings.Contains(rule.Rule, "startsWith") {
			continue
		}
		rule.Rule = strings.ReplaceAll(rule.Rule, "'Exact','PathPrefix'", "'Exact','PathPrefix','PathPostfix'")
	}
	edit(path, []string{"type"}, func(kind *apiextensions.JSONSchemaProps) {
		kind.Enum = append(slices.Clone(kind.Enum), "PathPostfix")
	})
}

// listenerAllowedRoutes returns a copy of the schema of a listener's allowedRoutes. The schema is from the
// parameter gateway, a version of the Gateway CRD. The copy has no default, and namespaces.from allows one more
// value: None.
func listenerAllowedRoutes(gateway version) apiextensions.JSONSchemaProps {
	root := internalSchema(gateway)
	var found apiextensions.JSONSchemaProps
	edit(root, []string{"spec", "listeners", "[]", "allowedRoutes"}, func(s *apiextensions.JSONSchemaProps) { found = *s })
	found.Default = nil
	found = *found.DeepCopy()
	edit(&found, []string{"namespaces", "from"}, func(from *apiextensions.JSONSchemaProps) {
		from.Enum = append(from.Enum, "None")
	})
	return found
}

// edit changes the schema at a path of properties: it calls the function in the parameter change with this
// schema. "[]" in the path means the items of a list. edit panics if the path does not exist, because that is a
// bug in gatefold.
func edit(s *apiextensions.JSONSchemaProps, path []string, change func(*apiextensions.JSONSchemaProps)) {
	if len(path) == 0 {
		change(s)
		return
	}
	if path[0] == "[]" {
		edit(s.Items.Schema, path[1:], change)
		return
	}
	property, ok := s.Properties[path[0]]
	if !ok {
		panic("embedded schema: no property " + path[0])
	}
	edit(&property, path[1:], change)
	s.Properties[path[0]] = property
}
