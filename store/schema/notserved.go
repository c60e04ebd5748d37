package schema

import (
	"fmt"
	"slices"
	"strings"
	"sync"

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
	// Harmless has those of Fields that protect nothing, in the same form.
	Harmless map[string][]string `json:"harmless"`
	// Instead has hints for the user, by kind and by the path of a field or value.
	Instead map[string]map[string]string `json:"instead"`
	// Values has values that are not served, by kind and path. They are texts or booleans.
	Values map[string]map[string][]any `json:"values"`
	// Annotations and Options (of tls.options) have hints for the user, by name.
	Annotations map[string]string `json:"annotations"`
	Options     map[string]string `json:"options"`
	Kinds       []KindNotServed   `json:"kinds"`
	// Ignored has the fields of the Gateway API that are in the schema and have no effect, by kind and path.
	Ignored map[string]map[string]ignoredField `json:"ignored"`
}

// ignoredField is a field of the Gateway API that gatefold does not serve. The object is served without it.
type ignoredField struct {
	// Meaning describes for users what ignoring the field means, and Instead is what to do.
	Meaning string `json:"meaning"`
	Instead string `json:"instead"`
	// Harmless are values that have no effect anywhere.
	Harmless []any `json:"harmless"`
}

// ignoredFieldNotServed is the beginning of a message about an ignoredField.
const ignoredFieldNotServed = "the Gateway API has the field "

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
	// Closes is true if objects of the kind are policies that may protect: their targets answer 500, unless the object has
	// the annotation IgnoreAnnotation.
	Closes bool `json:"closes"`
	// Parameters is true if objects of the kind are what parametersRef of a Gateway or GatewayClass names, and say how
	// a cluster runs Envoy. Gateways are served without them, and a message lists their fields.
	Parameters bool `json:"parameters"`
	// Meaning describes for users how ignoring the object affects traffic. A message contains it if Targets is
	// false, or if gatefold can read no target of the object.
	Meaning string `json:"meaning"`
	// Instead is what to do in place of the object. "" means that it can only be removed.
	Instead string `json:"instead"`
}

// IgnoreAnnotation is the annotation of a policy of a kind with KindNotServed.Closes. If it is "true", the targets of the
// policy are served without it.
const IgnoreAnnotation = "gatefold.io/ignore"

// ClosingKinds returns the kinds of other products than kgateway whose policies close their targets
// (KindNotServed.Closes).
func ClosingKinds() []KindNotServed {
	return slices.DeleteFunc(slices.Clone(readNotServed().Kinds), func(k KindNotServed) bool { return !k.Closes || k.Of == "" })
}

// readNotServed returns the content of notServedFile, which it reads once.
var readNotServed = sync.OnceValue(func() (all notServed) {
	text, err := crds.ReadFile(notServedFile)
	must(err, notServedFile)
	must(yaml.UnmarshalStrict(text, &all), notServedFile)
	return all
})

// OptionNotServed returns what to do in place of a TLS option of kgateway that gatefold does not serve. ok is false for
// all other options.
func OptionNotServed(name string) (hint string, ok bool) {
	hint, ok = readNotServed().Options[name]
	return hint, ok
}

// ProtectsNothing reports whether a field of an object, which gatefold does not serve, is known to protect nothing: without
// it, the object admits no request that it would refuse with it. The field is a path as in Finding.Field.
func ProtectsNothing(kind, field string) bool {
	return slices.Contains(readNotServed().Harmless[kind], field)
}

// IgnoresParameters reports whether Gateways are served without objects of a kind that a parametersRef names
// (KindNotServed.Parameters).
func IgnoresParameters(gk schema.GroupKind) bool {
	return slices.ContainsFunc(readNotServed().Kinds, func(k KindNotServed) bool { return k.Parameters && k.Group == gk.Group && k.Kind == gk.Kind })
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
	m.add(NotServed, fieldNotServed+shown(name)+"; gatefold does not serve it", m.unserved.Instead[m.kind][at])
	return true
}

// notServedAnnotation reports an annotation of kgateway that gatefold does not serve. It has no effect, and nothing
// else of the object changes.
func (m *mistakes) notServedAnnotation(name string) {
	hint, known := m.unserved.Annotations[name]
	if !known || len(m.found) >= maxFindings {
		return
	}
	m.found = append(m.found, Finding{
		Code: NotServed, Field: "metadata.annotations[" + name + "]", Hint: hint, Warning: true,
		Message: "kgateway has the annotation " + shown(name) + "; gatefold does not serve it",
	})
}

// markIgnored marks the nodes of the fields that have no effect.
func (c *checker) markIgnored() {
	for path, field := range c.unserved.Ignored[c.kind] {
		n := c.root
		for name := range strings.SplitSeq(path, ".") {
			n = n.fields[name]
		}
		n.ignored = &field
	}
}

// ignore reports the field at the current path, which has the value v and no effect. The object is served.
func (m *mistakes) ignore(name string, field *ignoredField, v any) {
	if slices.Contains(field.Harmless, v) || len(m.found) >= maxFindings {
		return
	}
	m.found = append(m.found, Finding{
		Code: NotServed, Field: m.trail.text(), Hint: field.Instead, Warning: true,
		Message: ignoredFieldNotServed + shown(name) + "; gatefold does not serve it: " + field.Meaning,
	})
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
	m.add(NotServed, "kgateway has the value "+text+" for "+m.name()+"; gatefold does not serve it", m.unserved.Instead[m.kind][at])
	return true
}
