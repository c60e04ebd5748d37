package schema

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// notServedFile lists what kgateway's API has and gatefold does not serve.
const notServedFile = "notserved.yaml"

// fieldNotServed begins what is said of a field.
const fieldNotServed = "kgateway has the field "

// notServed is the content of that file.
type notServed struct {
	// Fields are paths without indexes by kind: spec.headerModifiers.request.set[].secretRef.
	Fields map[string][]string `json:"fields"`
	// Instead says, by kind and path, what to do in place of a field or value.
	Instead map[string]map[string]string `json:"instead"`
	// Values are values by kind and path: texts or booleans.
	Values map[string]map[string][]any `json:"values"`
	Kinds  []KindNotServed             `json:"kinds"`
}

// KindNotServed is a kind of kgateway or agentgateway that gatefold does not serve.
type KindNotServed struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
	// Error is true if ignoring the object changes how traffic is served.
	Error bool `json:"error"`
	// Of is the project that the kind belongs to; "" is kgateway.
	Of string `json:"of"`
	// Targets is true if the kind has targetRefs to objects that are served without it. Meaning
	// says what that means for traffic if it has none.
	Targets bool   `json:"targets"`
	Meaning string `json:"meaning"`
}

func readNotServed() (all notServed) {
	text, err := crds.ReadFile(notServedFile)
	must(err, notServedFile)
	must(yaml.UnmarshalStrict(text, &all), notServedFile)
	return all
}

// KindNotServed returns the entry of a kind of kgateway or agentgateway that gatefold does not
// serve; ok is false for all other kinds.
func (s *Set) KindNotServed(gk schema.GroupKind) (k KindNotServed, ok bool) {
	i := slices.IndexFunc(s.unserved, func(k KindNotServed) bool { return k.Group == gk.Group && k.Kind == gk.Kind })
	if i < 0 {
		return k, false
	}
	return s.unserved[i], true
}

// notServedField reports a field at the present path that kgateway has; false for others.
func (w *walk) notServedField(name string) bool {
	at := pattern(w.path)
	if !slices.Contains(w.unserved.Fields[w.kind], at) {
		return false
	}
	hint := cmp.Or(w.unserved.Instead[w.kind][at], "remove the field")
	w.add(NotServed, fieldNotServed+shown(name)+"; gatefold does not serve it", hint)
	return true
}

// notServedValue reports a value at the present path that kgateway has; false for others.
func (w *walk) notServedValue(value any) bool {
	at := pattern(w.path)
	if !slices.Contains(w.unserved.Values[w.kind][at], value) {
		return false
	}
	text, ok := value.(string)
	if text = shown(text); !ok {
		text = fmt.Sprint(value)
	}
	hint := cmp.Or(w.unserved.Instead[w.kind][at], "write another value, or remove the object")
	w.add(NotServed, "kgateway has the value "+text+" for "+w.name()+"; gatefold does not serve it", hint)
	return true
}
