package store

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
	"github.com/gatefold/gatefold/store/tenancy"
)

// Invalid is an invalid object that is not served in any version. Its status shows the mistakes. An
// invalid policy closes its targets. An invalid Namespace that may limit hostnames closes its
// namespace. Other kinds have no effect on traffic. It is immutable.
type Invalid struct {
	Key manifest.Key
	// Nameless is true if metadata.name is missing or not a valid name. Such an object has no
	// status.
	Nameless   bool
	Generation int64
	// Mistakes are what is wrong, sorted by field; the first is shown. There is at least one.
	// More counts those that are not in the list.
	Mistakes []Mistake
	More     int
	// Class is the gatewayClassName of a Gateway, or the controllerName of a GatewayClass; ""
	// if it cannot be read or is invalid.
	Class string
	// Refs are the references to parents and targets, as far as they can be read: the
	// parentRefs of a route, the parentRef of a ListenerSet, the targetRefs of a policy.
	Refs []gwv1.ParentReference
	// Targets are the objects that an invalid policy closes. Lost is true if it has more
	// targets that cannot be read.
	Targets []Target
	Lost    bool
	// Listeners are those listeners of a Gateway or ListenerSet that have a name.
	Listeners []InvalidListener
}

// Mistake is one error that the schema found; its fields are those of Problem. Field may be "".
type Mistake struct{ Field, Message string }

// InvalidListener is a listener of an invalid object.
type InvalidListener struct {
	Name string
	// Mistake is the first error in the listener itself, zero for none.
	Mistake Mistake
}

// String returns the field and the message.
func (m Mistake) String() string {
	if m.Field == "" {
		return m.Message
	}
	return m.Field + ": " + m.Message
}

// Message returns the mistakes of the object in one sentence.
func (i *Invalid) Message() string {
	if more := len(i.Mistakes) - 1 + i.More; more > 0 {
		return fmt.Sprintf("%s; and %d more", i.Mistakes[0], more)
	}
	return i.Mistakes[0].String()
}

// What an Invalid lists of one object is bounded as the Gateway API bounds the lists.
const (
	maxInvalidRefs      = 32
	maxInvalidListeners = 64
	maxMistakeFields    = 64
	maxMistakeLength    = 1024 // characters of field and message each
)

// newInvalid returns the Invalid for an object with findings. It returns nil if the object has no
// name, or its kind has no status.
func newInvalid(object map[string]any, findings []schema.Finding) *Invalid {
	key := keyOf(object)
	if len(validation.IsDNS1123Subdomain(key.Name)) > 0 || key.Namespace != "" && len(validation.IsDNS1123Label(key.Namespace)) > 0 {
		return nil // the names of files and pages are made of it
	}
	metadata, _ := object["metadata"].(map[string]any)
	spec, _ := object["spec"].(map[string]any)
	out := &Invalid{Key: key}
	out.Generation, _ = metadata["generation"].(int64)
	for _, m := range mistakesOf(findings) {
		out.addMistake(m)
	}
	if !out.readSpec(spec) && !out.mayRestrict(metadata) {
		return nil
	}
	return out
}

// mayRestrict reports whether the object is a Namespace that limits hostnames, or whose annotations
// cannot be read. Then nothing of its namespace is served.
func (i *Invalid) mayRestrict(metadata map[string]any) bool {
	if i.Key.Group != "" || i.Key.Kind != kindNamespace {
		return false
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	_, bounds := annotations[tenancy.AnnotationHosts]
	return bounds || slices.ContainsFunc(i.Mistakes, func(m Mistake) bool { return strings.HasPrefix(m.Field, "metadata.annotations") })
}

// mistakesOf returns the findings that make an object invalid.
func mistakesOf(findings []schema.Finding) (all []Mistake) {
	for _, f := range findings {
		if !f.Warning {
			all = append(all, Mistake{f.Field, f.Message})
		}
	}
	return all
}

func (i *Invalid) addMistake(m Mistake) {
	if len(i.Mistakes) == maxMistakeFields {
		i.More++
		return
	}
	i.Mistakes = append(i.Mistakes, Mistake{shorten(m.Field), shorten(m.Message)})
}

func shorten(text string) string {
	if n := skipRunes([]byte(text), maxMistakeLength); n < len(text) {
		return text[:n] + "…"
	}
	return text
}

// readSpec reads the fields that the status of the kind needs. It returns false for a kind without
// a status, and for an object without anything to report to.
func (i *Invalid) readSpec(spec map[string]any) bool {
	gateway := i.Key.Group == gatewayGroup
	switch kind := i.Key.Kind; {
	case gateway && kind == "GatewayClass":
		i.Class = i.unblamed("spec.controllerName", spec["controllerName"])
	case gateway && kind == "Gateway":
		i.Class = i.unblamed("spec.gatewayClassName", spec["gatewayClassName"])
		i.readListeners(spec)
	case gateway && kind == "ListenerSet":
		i.readRefs([]any{spec["parentRef"]})
		i.readListeners(spec)
	case gateway && strings.HasSuffix(kind, "Route"):
		list, _ := spec["parentRefs"].([]any)
		i.readRefs(list)
		return len(i.Refs) > 0
	default:
		return kind == "GatewayExtension"
	}
	return true
}

// unblamed returns the text of a field, "" if the field has a mistake.
func (i *Invalid) unblamed(field string, value any) string {
	if slices.ContainsFunc(i.Mistakes, func(m Mistake) bool { return m.Field == field }) {
		return ""
	}
	return textOf(value)
}

func (i *Invalid) readListeners(spec map[string]any) {
	list, _ := spec["listeners"].([]any)
	for at, element := range list[:min(len(list), maxInvalidListeners)] {
		fields, _ := element.(map[string]any)
		l := InvalidListener{Name: textOf(fields["name"])}
		if len(validation.IsDNS1123Subdomain(l.Name)) > 0 || slices.ContainsFunc(i.Listeners, func(o InvalidListener) bool { return o.Name == l.Name }) {
			continue
		}
		own := fmt.Sprintf("spec.listeners[%d]", at)
		for _, m := range i.Mistakes {
			if m.Field == own || strings.HasPrefix(m.Field, own+".") {
				l.Mistake = m
				break
			}
		}
		i.Listeners = append(i.Listeners, l)
	}
}

// readRefs reads references field by field. It leaves out fields of the wrong type.
func (i *Invalid) readRefs(list []any) {
	for _, element := range list[:min(len(list), maxInvalidRefs)] {
		fields, _ := element.(map[string]any)
		ref := gwv1.ParentReference{
			Group: namedField[gwv1.Group](fields, "group"), Kind: namedField[gwv1.Kind](fields, "kind"),
			Namespace: namedField[gwv1.Namespace](fields, "namespace"), SectionName: namedField[gwv1.SectionName](fields, "sectionName"),
		}
		if name := namedField[gwv1.ObjectName](fields, "name"); name != nil {
			ref.Name = *name
		}
		if port, ok := fields["port"].(int64); ok && port == int64(int32(port)) {
			number := gwv1.PortNumber(port)
			ref.Port = &number
		}
		if ref.Name != "" && !slices.ContainsFunc(i.Refs, func(o gwv1.ParentReference) bool { return reflect.DeepEqual(o, ref) }) {
			i.Refs = append(i.Refs, ref)
		}
	}
}

// namedField returns a field if it is a text and not longer than a name may be.
func namedField[T ~string](fields map[string]any, field string) *T {
	value, ok := fields[field].(string)
	if !ok || len(value) > validation.DNS1123SubdomainMaxLength {
		return nil
	}
	name := T(value)
	return &name
}

// closing returns what an invalid policy closes. It reads the object as it is written, in which
// nothing need be valid. The key is as similar as possible to the intended one.
func (k *kind) closing(raw, metadata map[string]any, mistakes []Mistake) *Invalid {
	out := &Invalid{Key: manifest.Key{Group: k.group, Kind: k.name, Namespace: metav1.NamespaceDefault}}
	name, _ := firstText(metadata, "name")
	out.Key.Name, out.Nameless = harmlessName(name)
	if namespace, written := firstText(metadata, "namespace"); written {
		out.Key.Namespace = strings.ToLower(namespace)
		out.Lost = len(validation.IsDNS1123Label(out.Key.Namespace)) > 0
	}
	out.Generation, _ = strconv.ParseInt(textOf(metadata["generation"]), 10, 64)
	for _, m := range mistakes {
		out.addMistake(m)
	}
	if out.Lost { // whose objects its targets name cannot be told
		out.Key.Namespace = metav1.NamespaceDefault
		return out
	}
	out.Targets, out.Lost = k.readTargets(raw, out.Key.Namespace)
	if spec, ok := raw["spec"].(map[string]any); ok {
		list, _ := spec["targetRefs"].([]any)
		out.readRefs(list)
	}
	return out
}

// firstText returns the text of a field. written is true if the field exists, even if it is no
// text.
func firstText(fields map[string]any, name string) (text string, written bool) {
	for _, value := range valuesOf(fields, name) {
		written = true
		if texts := textsIn(value); len(texts) > 0 {
			return texts[0], true
		}
	}
	return "", written
}

// withTargets returns the Invalid with the targets of other definitions of its key.
func (i *Invalid) withTargets(others []*Invalid) *Invalid {
	out := *i
	for _, other := range others {
		for _, target := range other.Targets {
			if !slices.ContainsFunc(out.Targets, func(t Target) bool { return reflect.DeepEqual(t, target) }) {
				out.Targets = append(slices.Clip(out.Targets), target)
			}
		}
		out.Lost = out.Lost || other.Lost
	}
	return &out
}
