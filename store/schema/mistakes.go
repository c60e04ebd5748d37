package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/api"
)

// mistakes collects the findings about one object. The embedded trail is the path of the value that is being
// checked. The method add reports a finding at this path, and addAt reports a finding at another path.
type mistakes struct {
	*checker
	trail
	found   []Finding
	blocked bool // a finding prevents the CEL rules from running
}

// maxFindings is the maximum number of findings about one object. It is needed because all fields of an object
// may be unknown, for example if the object is for another program.
const maxFindings = 200

// add records a finding at the path of the value that is being checked.
func (m *mistakes) add(code, message, hint string) {
	m.addAt(code, m.trail.text(), message, hint)
}

// addAt records a finding about the field at a path. If the object already has maxFindings findings, addAt ignores
// the finding. In both cases, if blocks returns true for the parameter code, the CEL rules of the object do not run.
func (m *mistakes) addAt(code, path, message, hint string) {
	m.blocked = m.blocked || blocks(code)
	if len(m.found) < maxFindings {
		m.found = append(m.found, Finding{Code: code, Field: path, Message: message, Hint: hint})
	}
}

// hides reports whether messages must not show the value at the current path, because it may be confidential.
// The result is true for all values in a Secret, and for values below the fields basicAuth and apiKeyAuth of a
// policy.
func (m *mistakes) hides() bool {
	return m.secret || slices.ContainsFunc(m.trail, func(at step) bool {
		return at.index == aField && (at.name == "basicAuth" || at.name == "apiKeyAuth")
	})
}

// quoted returns a text for the end of a message: a blank and the value v, in quotes if v is a string. It
// returns "" if messages must not show the value at the current path (see hides).
func (m *mistakes) quoted(v any) string {
	if m.hides() {
		return ""
	}
	if s, ok := v.(string); ok {
		return " " + shown(s)
	}
	return fmt.Sprintf(" %v", v)
}

// unknown reports a field (name) of the current object that is not in n, the schema of this object. The code of
// the finding is NotServed if kgateway has the field, otherwise UnknownField with a suggestion. If the object
// has maxFindings findings already, unknown does nothing.
func (m *mistakes) unknown(n *node, name string) {
	if len(m.found) >= maxFindings {
		return // finding a suggestion takes time
	}
	m.intoField(name)
	defer m.out()
	if m.notServedField(name) {
		return
	}
	hint := nearest(name, n.fields, m.places(), m.trail)
	if strings.ContainsRune(name, '\u00a0') {
		hint = "write spaces in place of the no-break space U+00A0, which YAML reads as a part of the name"
	}
	m.add(UnknownField, "unknown field "+shown(name), hint)
}

// protects reports whether objects of the kind may protect others.
func (c *checker) protects() bool {
	return slices.Contains([]string{api.KindTrafficPolicy, "BackendTLSPolicy", api.KindGatewayExtension}, c.kind)
}

// ownNamespace reports a namespace that is probably lost, of a route or of an object that may protect: metadata.namespace
// is null, or it is missing and there is a label "namespace". The object would be another one, in the namespace "default".
func (m *mistakes) ownNamespace(object map[string]any) {
	metadata, _ := object["metadata"].(map[string]any)
	if namespace, written := metadata["namespace"]; written && namespace != nil || !m.protects() && !strings.HasSuffix(m.kind, "Route") {
		return
	} else if written {
		m.addAt(InvalidValue, "metadata.namespace", "the field has no value", "write its value, or remove the line")
		return
	}
	for _, list := range []string{"annotations", "labels"} {
		for name := range entries(metadata, list) {
			if name == "namespace" {
				m.addAt(UnknownField, "metadata."+list+"["+name+"]", "the object has no namespace, and "+list+" give it none", "indent the line less, or write metadata.namespace")
			}
		}
	}
}

// setsNothing reports a TrafficPolicy that has targets and no other field. Its text may have been cut off there: nothing
// would be protected.
func (m *mistakes) setsNothing(object map[string]any) {
	if spec, isMapping := object["spec"].(map[string]any); isMapping && m.kind == api.KindTrafficPolicy && SetsNothing(spec) {
		m.addAt(InvalidValue, "spec", "the policy sets nothing", "write what it sets, or remove the object")
	}
}

// SetsNothing reports whether the spec of a policy has no field beside its targets.
func SetsNothing(spec map[string]any) bool {
	for name := range spec {
		if name != "targetRefs" && name != "targetSelectors" {
			return false
		}
	}
	return true
}

// missing reports that the current object does not have a required field. The parameter n is the schema of the
// object, and name is the name of the field.
func (m *mistakes) missing(n *node, name string) {
	m.intoField(name)
	hint := ""
	if child := n.fields[name]; child != nil && len(child.limits.Enum) > 0 {
		hint = "it is one of " + enumText(child)
	}
	m.add(RequiredField, name+" is missing", hint)
	m.out()
}
