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

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
	"github.com/gatefold/gatefold/store/tenancy"
)

// Invalid is an invalid object without a served version. A valid object that gatefold cannot apply also counts as
// invalid (Withhold). The object's status shows the mistakes. The targets of an invalid policy answer an error. If an
// invalid Namespace object could contain a limit on hostnames, no hostname is allowed in that namespace (see
// mayRestrict). Invalid objects of other kinds have no effect on traffic. An Invalid is immutable.
type Invalid struct {
	Key manifest.Key
	// Nameless is true if metadata.name is missing or is not a valid name. Such an object has no status.
	Nameless   bool
	Generation int64
	// Mistakes has the first errors: at least one, and at most maxMistakeFields. More is the number of errors that are
	// not in Mistakes. The method Message shows only the first error.
	Mistakes []Mistake
	More     int
	// Class is the gatewayClassName of a Gateway, or the controllerName of a GatewayClass. It is "" if the
	// field cannot be read or is invalid.
	Class string
	// Refs are the references to parents and targets, as far as they can be read: the parentRefs of a route,
	// the parentRef of a ListenerSet, the targetRefs of a policy.
	Refs []gwv1.ParentReference
	// Targets are the objects that answer an error because the policy is invalid. A Target without a name is a
	// selector. Lost is true if the policy has targets that cannot be read, and that are not in Targets. These
	// are served without the policy.
	Targets []Target
	Lost    bool
	// Listeners are the listeners of a Gateway or ListenerSet that have a valid name.
	Listeners []InvalidListener
	// Identities are the names of request headers that a TrafficPolicy or GatewayExtension writes, as far as they can
	// be read (see identitiesIn). Extensions are the GatewayExtensions that a TrafficPolicy names.
	Identities []string
	Extensions []manifest.Key
	// Unserved is true for a policy of a kind that gatefold does not serve, and that may protect its targets.
	Unserved bool
	// Unprogrammed is true for such a policy if it may limit who can connect, so that 500 is not enough: the listeners that
	// it targets accept no connections.
	Unprogrammed bool
	// Route has what can be read of an HTTPRoute or GRPCRoute (see readableRoute). It is nil for any other object.
	Route *manifest.Object
	// Source is the kind of file that the object comes from.
	Source manifest.Source
}

// Mistake is one error in an object. Field and Message are as in manifest.Problem. Field may be "".
type Mistake struct{ Field, Message string }

// InvalidListener is a listener of an invalid object.
type InvalidListener struct {
	Name string
	// Mistake is the first error in the listener itself. It is zero if there is none.
	Mistake Mistake
}

// String returns the field and the message, or only the message if the field is "".
func (m Mistake) String() string {
	if m.Field == "" {
		return m.Message
	}
	return m.Field + ": " + m.Message
}

// Message returns the first mistake of the object as text, and the number of the other mistakes.
func (i *Invalid) Message() string {
	if more := len(i.Mistakes) - 1 + i.More; more > 0 {
		return fmt.Sprintf("%s; and %d more", i.Mistakes[0], more)
	}
	return i.Mistakes[0].String()
}

// The limits on the lists and texts in an Invalid. The Gateway API has the same limits for references and
// listeners.
const (
	maxInvalidRefs      = 32
	maxInvalidListeners = 64
	maxMistakeFields    = 64
	maxMistakeLength    = 1024 // characters, of each field and each message
)

// newInvalid returns the Invalid of an object, with findings as its mistakes. The parameter raw is the object as it is
// written, with what its schema does not know. It returns nil if the object has
// no valid name, or has an invalid namespace. It also returns nil if nothing shows the mistakes (readSpec) and the object
// has no effect on traffic (mayRestrict).
func newInvalid(object, raw map[string]any, findings []schema.Finding) *Invalid {
	key := keyOf(object)
	if len(validation.IsDNS1123Subdomain(key.Name)) > 0 || key.Namespace != "" && len(validation.IsDNS1123Label(key.Namespace)) > 0 {
		return nil // the name is part of the names of files and pages
	}
	metadata, _ := object["metadata"].(map[string]any)
	spec, _ := object["spec"].(map[string]any)
	out := &Invalid{Key: key}
	out.Generation = generationOf(metadata)
	for _, m := range mistakesOf(findings) {
		out.addMistake(m)
	}
	if out.Key.Group == api.Group && out.Key.Kind == api.KindGatewayExtension {
		out.Identities, _ = identitiesIn(raw, out.Key.Namespace)
	}
	if !out.readSpec(spec) && !out.mayRestrict(metadata) {
		return nil
	}
	out.Route = out.readableRoute(raw)
	return out
}

// mayRestrict reports whether the invalid object is a Namespace that may limit the hostnames or backends of its
// namespace: it has the annotation tenancy.AnnotationHosts or tenancy.AnnotationBackends, or a mistake in its
// annotations. Because the object is invalid, the limit cannot be trusted. So without an earlier valid version, the
// namespace may serve no hostname and have no endpoint. The result is false for all other objects, also for a Namespace whose mistakes are elsewhere.
func (i *Invalid) mayRestrict(metadata map[string]any) bool {
	if i.Key.Group != "" || i.Key.Kind != kindNamespace {
		return false
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	_, bounds := annotations[tenancy.AnnotationHosts]
	_, limits := annotations[tenancy.AnnotationBackends]
	return bounds || limits || slices.ContainsFunc(i.Mistakes, func(m Mistake) bool { return strings.HasPrefix(m.Field, "metadata.annotations") })
}

// mistakesOf returns the findings that make an object invalid. It leaves out warnings.
func mistakesOf(findings []schema.Finding) (all []Mistake) {
	for _, f := range findings {
		if !f.Warning {
			all = append(all, Mistake{f.Field, f.Message})
		}
	}
	return all
}

// addMistake adds a mistake with its texts shortened. If there are maxMistakeFields mistakes already, it only
// increases i.More.
func (i *Invalid) addMistake(m Mistake) {
	if len(i.Mistakes) == maxMistakeFields {
		i.More++
		return
	}
	i.Mistakes = append(i.Mistakes, Mistake{shorten(m.Field), shorten(m.Message)})
}

// shorten returns the first maxMistakeLength characters of a text, with "…" in place of the rest.
func shorten(text string) string {
	if n := skipRunes([]byte(text), maxMistakeLength); n < len(text) {
		return text[:n] + "…"
	}
	return text
}

// readSpec reads the fields that the status of the kind needs. It returns true if the object has a status, or if other
// objects refer to the kind and say of a reference that the object is not valid.
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
	default:
		return slices.Contains([]string{api.KindGatewayExtension, api.KindBackend, "Service"}, kind)
	}
	return true
}

// unblamed returns the text of a field. It returns "" if the field has a mistake or is not a text.
func (i *Invalid) unblamed(field string, value any) string {
	if slices.ContainsFunc(i.Mistakes, func(m Mistake) bool { return m.Field == field }) {
		return ""
	}
	return textOf(value)
}

// readListeners adds the listeners with a valid name, each name once, and the first mistake of each listener.
// It reads at most maxInvalidListeners.
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

// readRefs adds the references in a list, each once. It leaves out fields of the wrong type, and references
// without a name. It reads at most maxInvalidRefs.
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
		if port, err := strconv.ParseInt(fmt.Sprint(fields["port"]), 10, 32); err == nil {
			number := gwv1.PortNumber(port)
			ref.Port = &number
		}
		if ref.Name != "" && !slices.ContainsFunc(i.Refs, func(o gwv1.ParentReference) bool { return reflect.DeepEqual(o, ref) }) {
			i.Refs = append(i.Refs, ref)
		}
	}
}

// namedField returns a pointer to the text of a field, also under a misspelt key. It returns nil if the field is not a
// text, or is longer than a name may be.
func namedField[T ~string](fields map[string]any, field string) *T {
	for _, value := range valuesOf(fields, field) {
		if text, ok := value.(string); ok && len(text) <= validation.DNS1123SubdomainMaxLength {
			name := T(text)
			return &name
		}
	}
	return nil
}

// closing returns the Invalid of an invalid policy, with the targets that must answer an error. The parameter raw
// is the policy as it is written; nothing in it needs to be valid. If the name is invalid, the key has a name from
// harmlessName. A missing or blank namespace means the one that is written near its place (writtenFor), or "default". If
// the namespace is invalid, the key has the namespace "default", too, but Lost is true, and no targets are read.
func (k *kind) closing(raw map[string]any, mistakes []Mistake) *Invalid {
	out := &Invalid{Key: manifest.Key{Group: k.group, Kind: k.name, Namespace: metav1.NamespaceDefault}}
	metadata, isMapping := raw["metadata"].(map[string]any)
	out.Key.Name, out.Nameless = harmlessName(textOf(metadata["name"]))
	if namespace := metadata["namespace"]; !hasNoText(namespace) {
		out.Key.Namespace = textOf(namespace)
	} else if near := writtenFor(raw, "namespace"); near != "" {
		out.Key.Namespace = near
	}
	out.Lost = len(validation.IsDNS1123Label(out.Key.Namespace)) > 0
	out.Lost = out.Lost || !isMapping || len(writtenAs(raw, "metadata")) > 1 || len(writtenAs(metadata, "namespace")) > 1
	out.Generation = generationOf(metadata)
	for _, m := range mistakes {
		out.addMistake(m)
	}
	if out.Lost { // without the namespace, the targets cannot be known
		out.Key.Namespace = metav1.NamespaceDefault
		return out
	}
	out.Targets, out.Lost = k.readTargets(raw, out.Key.Namespace)
	out.Identities, out.Extensions = identitiesIn(raw, out.Key.Namespace)
	if spec, ok := raw["spec"].(map[string]any); ok {
		list, _ := spec["targetRefs"].([]any)
		out.readRefs(list)
	}
	return out
}

// hasNoText reports whether a value is null, blank text, or a list of such values.
func hasNoText(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return strings.TrimSpace(v) == ""
	case []any:
		return !slices.ContainsFunc(v, func(one any) bool { return !hasNoText(one) })
	}
	return false
}

// withTargets returns a copy of i that also has the targets of the Invalids in the parameter others, each target
// once, and what they write (Identities and Extensions). The Invalids in others are from further definitions of the
// same policy. In the copy, Lost is true if Lost is true in i or in one of the others.
func (i *Invalid) withTargets(others []*Invalid) *Invalid {
	out := *i
	for _, other := range others {
		for _, target := range other.Targets {
			if !slices.ContainsFunc(out.Targets, func(t Target) bool { return reflect.DeepEqual(t, target) }) {
				out.Targets = append(slices.Clip(out.Targets), target)
			}
		}
		out.Lost = out.Lost || other.Lost
		out.Identities = slices.Concat(out.Identities, other.Identities)
		out.Extensions = slices.Concat(out.Extensions, other.Extensions)
	}
	return &out
}
