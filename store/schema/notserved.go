package schema

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// notServedFile is the name of the file that lists what gatefold does not serve: fields and values of kgateway's
// API, and whole kinds (see KindNotServed).
const notServedFile = "notserved.yaml"

// fieldNotServed is the beginning of a message about a field that is not served.
const fieldNotServed = "kgateway has the field "

// notServed is the content of notServedFile.
type notServed struct {
	// Fields has paths without indexes, by kind: spec.headerModifiers.request.set[].secretRef.
	Fields map[string][]string `json:"fields"`
	// Instead has hints for the user, by kind and by the path of a field or value.
	Instead map[string]map[string]string `json:"instead"`
	// Values has values that are not served, by kind and path. They are texts or booleans.
	Values map[string]map[string][]any `json:"values"`
	Kinds  []KindNotServed             `json:"kinds"`
}

// KindNotServed is a kind that gatefold knows and does not serve, such as a kind of kgateway, agentgateway or
// Gloo Gateway.
type KindNotServed struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
	// Error is true if traffic is served differently because the object is ignored.
	Error bool `json:"error"`
	// Of is the name of the project that defines the kind, such as "Gloo Gateway". "" means kgateway.
	Of string `json:"of"`
	// Targets is true if objects of the kind are policies with targetRefs. gatefold serves the targets of such
	// a policy without the policy, and a message names these targets.
	Targets bool `json:"targets"`
	// Meaning describes for users how ignoring the object affects traffic. A message contains it if Targets is
	// false, or if gatefold can read no target of the object.
	Meaning string `json:"meaning"`
}

// readNotServed returns the content of notServedFile.
func readNotServed() (all notServed) {
	text, err := crds.ReadFile(notServedFile)
	must(err, notServedFile)
	must(yaml.UnmarshalStrict(text, &all), notServedFile)
	return all
}

// KindNotServed returns the entry of a kind in notServedFile. ok is false for all other kinds.
func (s *Set) KindNotServed(gk schema.GroupKind) (k KindNotServed, ok bool) {
	i := slices.IndexFunc(s.unserved, func(k KindNotServed) bool { return k.Group == gk.Group && k.Kind == gk.Kind })
	if i < 0 {
		return k, false
	}
	return s.unserved[i], true
}

// notServedField handles the unknown field at the current path. If kgateway has the field and gatefold does not
// serve it, notServedField reports that, and returns true. For other fields it reports nothing, and returns
// false. The parameter name is the name of the field.
func (m *mistakes) notServedField(name string) bool {
	at := pattern(m.trail)
	if !slices.Contains(m.unserved.Fields[m.kind], at) {
		return false
	}
	hint := cmp.Or(m.unserved.Instead[m.kind][at], "remove the field")
	m.add(NotServed, fieldNotServed+shown(name)+"; gatefold does not serve it", hint)
	return true
}

// notServedValue handles a value at the current path that is not allowed. If kgateway has the value and
// gatefold does not serve it, notServedValue reports that, and returns true. For other values it reports
// nothing, and returns false.
func (m *mistakes) notServedValue(value any) bool {
	at := pattern(m.trail)
	if !slices.Contains(m.unserved.Values[m.kind][at], value) {
		return false
	}
	text, ok := value.(string)
	if text = shown(text); !ok {
		text = fmt.Sprint(value)
	}
	hint := cmp.Or(m.unserved.Instead[m.kind][at], "write another value, or remove the object")
	m.add(NotServed, "kgateway has the value "+text+" for "+m.name()+"; gatefold does not serve it", hint)
	return true
}
