package schema

import (
	"fmt"
	"slices"
)

// mistakes collects the findings about one object. The trail is the path of the value that is being checked. add
// reports a finding at that path, addAt at another path.
type mistakes struct {
	*checker
	trail
	found   []Finding
	blocked bool // a finding prevents the CEL rules from running
}

// maxFindings is the maximum number of findings of one object. In an object for another program all fields may
// be unknown.
const maxFindings = 200

// add records a finding at the path of the value that is being checked.
func (m *mistakes) add(code, message, hint string) {
	m.addAt(code, m.trail.text(), message, hint)
}

// addAt records a finding at the path field. After maxFindings findings it records no more. If the code blocks
// (see blocks), the CEL rules of the object do not run.
func (m *mistakes) addAt(code, field, message, hint string) {
	m.blocked = m.blocked || blocks(code)
	if len(m.found) < maxFindings {
		m.found = append(m.found, Finding{Code: code, Field: field, Message: message, Hint: hint})
	}
}

// hides reports whether the value at the current path must not be shown. That is so for a value of a Secret,
// and for the users and keys of a policy.
func (m *mistakes) hides() bool {
	return m.secret || slices.ContainsFunc(m.trail, func(at step) bool {
		return at.index == aField && (at.name == "basicAuth" || at.name == "apiKeyAuth")
	})
}

// quoted returns the value v for a message: a blank, and then v, in quotes if it is a string. It returns "" if
// the value must not be shown (see hides).
func (m *mistakes) quoted(v any) string {
	if m.hides() {
		return ""
	}
	if s, ok := v.(string); ok {
		return " " + shown(s)
	}
	return fmt.Sprintf(" %v", v)
}

// unknown reports a field that the schema n of its object does not have. If there are maxFindings findings
// already, it does nothing.
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
	m.add(UnknownField, "unknown field "+shown(name), hint)
}

// missing reports that an object does not have the required field of n with the given name.
func (m *mistakes) missing(n *node, name string) {
	m.intoField(name)
	hint := ""
	if child := n.fields[name]; child != nil && len(child.limits.Enum) > 0 {
		hint = "it is one of " + enumText(child)
	}
	m.add(RequiredField, name+" is missing", hint)
	m.out()
}
