package page

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/translate/route"
)

// The core kinds whose objects can be selected by labels.
const kindNamespace, kindSecret = "Namespace", "Secret"

// selection is a field that selects objects instead of naming them.
type selection struct {
	Field string
	From  manifest.Key
	Of    selectable
	// Label is one of the labels that the objects must have. It is empty if the selection requires no label with a
	// certain value.
	Label label
	// By describes the criterion: "label app=x".
	By string
	// labels are labels that the objects must have. namespaces is the selector for the labels of Namespaces. It is nil for
	// a selection of other objects.
	labels     map[string]string
	namespaces labels.Selector
	// route is the property that the selected routes must have (route.Offers).
	route route.Property
}

// selectable is a kind and a namespace of objects. Namespace is "" for all namespaces.
type selectable struct {
	Kind      apischema.GroupKind
	Namespace string
}

// label is a label of an object.
type label struct{ Name, Value string }

// selectedBy is the key under which the selections of the folder are stored: the kind and namespace of the
// selected objects, and one label that the objects must have.
type selectedBy struct {
	Of    selectable
	Label label
}

// candidate is an object that a selection may select. It has what selections compare: the labels of the object, and
// in the field offers the properties of a route (see route.Offers).
type candidate struct {
	object *manifest.Object
	labels labels.Set
	offers []route.Property
}

// newCandidate returns a candidate: the object o with the properties that selectors compare. The parameter set
// has the labels if the object is a Secret, because the stored Secret has none. For other kinds, set is ignored.
func newCandidate(o *manifest.Object, set map[string]string) candidate {
	if o.Key.Kind != kindSecret {
		set = o.Value.GetLabels()
	}
	if o.Key.Kind == kindNamespace { // every Namespace has this label
		named := map[string]string{}
		maps.Copy(named, set)
		named[corev1.LabelMetadataName] = o.Key.Name
		set = named
	}
	return candidate{o, set, route.Offers(o)}
}

// selects reports whether the selection s selects the object of c. The kind and namespace of the object must be
// those of s.Of: the caller must check this. A route that delegates to routes by label or namespace selects itself
// only if route.Consents allows that.
func (s selection) selects(c candidate) bool {
	if s.namespaces != nil {
		return s.namespaces.Matches(c.labels)
	} else if s.route == (route.Property{}) {
		return scope.HasLabels(c.labels, s.labels)
	}
	return slices.Contains(c.offers, s.route) && (s.From != c.object.Key || route.Consents(s.From, c.object))
}

// to returns a reference for a page. The reference leads from the field of the selection to a selected object.
func (s selection) to(object manifest.Key) reference {
	return reference{Field: s.Field, From: s.From, To: object, By: "selected by " + s.By}
}

// toNone returns the reference that a page shows for a selection that selects no object. The target of the
// reference has the name "*".
func (s selection) toNone() reference {
	none := manifest.Key{Group: s.Of.Kind.Group, Kind: s.Of.Kind.Kind, Namespace: s.Of.Namespace, Name: "*"}
	return reference{Field: s.Field, From: s.From, To: none, By: "by " + s.By + ": no object is selected"}
}

// selectionOf returns the selection of a field that has the value v. The type of v is one of selectingTypes. The
// result selectorPath is the path from v to the selector: ".selector" if the selector is a field of v, and
// otherwise "". The caller sets the selection's Field and From. ok is false if v does not select objects: for
// example, a backendRef that names a Service.
func (w *referenceWalker) selectionOf(v reflect.Value) (s selection, selectorPath string, ok bool) {
	namespace := w.object.Namespace
	switch from := v.Interface().(type) {
	case api.PolicySelector:
		return selectionByLabels(string(from.Group), string(from.Kind), namespace, from.MatchLabels), "", true
	case api.BackendSelector:
		return selectionByLabels(string(from.Group), string(from.Kind), namespace, from.MatchLabels), "", true
	case api.SecretSelector:
		return selectionByLabels("", kindSecret, namespace, from.MatchLabels), "", true
	case gwv1.RouteNamespaces:
		s, ok = selectionOfNamespaces(from.From, from.Selector)
		return s, ".selector", ok
	case gwv1.ListenerNamespaces:
		s, ok = selectionOfNamespaces(from.From, from.Selector)
		return s, ".selector", ok
	case gwv1.HTTPBackendRef:
		s, ok = selectionOfRoutes(from, namespace, w.wildcard)
	}
	return s, "", ok
}

// selectingTypes returns the types of fields that select objects.
func selectingTypes() map[reflect.Type]bool {
	return map[reflect.Type]bool{
		reflect.TypeFor[api.PolicySelector](): true, reflect.TypeFor[api.BackendSelector](): true, reflect.TypeFor[api.SecretSelector](): true,
		reflect.TypeFor[gwv1.RouteNamespaces](): true, reflect.TypeFor[gwv1.ListenerNamespaces](): true, reflect.TypeFor[gwv1.HTTPBackendRef](): true,
	}
}

// selectionByLabels returns the selection of objects that have all labels in the parameter set.
func selectionByLabels(group, kind, namespace string, set map[string]string) selection {
	of := selectable{apischema.GroupKind{Group: group, Kind: kind}, namespace}
	return selection{Of: of, Label: firstLabel(set), By: labelWords(of, set, nil), labels: set}
}

// selectionOfNamespaces returns the selection of Namespaces by labels. ok is false if the parameter from is not
// "Selector", or if the label selector is missing or invalid.
func selectionOfNamespaces(from *gwv1.FromNamespaces, by *metav1.LabelSelector) (s selection, ok bool) {
	if from == nil || *from != gwv1.NamespacesFromSelector || by == nil {
		return s, false
	}
	selector, err := metav1.LabelSelectorAsSelector(by)
	of := selectable{Kind: apischema.GroupKind{Kind: kindNamespace}}
	return selection{Of: of, Label: firstLabel(by.MatchLabels), By: labelWords(of, by.MatchLabels, by.MatchExpressions), namespaces: selector}, err == nil
}

// selectionOfRoutes returns the selection of routes to which a backendRef delegates by label or namespace. The
// parameter wildcard is the namespace that means all namespaces. ok is false if the backendRef names a single
// route, or does not delegate.
func selectionOfRoutes(ref gwv1.HTTPBackendRef, namespace, wildcard string) (s selection, ok bool) {
	p, ok := route.Wanted(ref, namespace, wildcard)
	if !ok || p.Form == route.ByName {
		return s, false
	}
	of := selectable{apischema.GroupKind{Group: gwv1.GroupName, Kind: "HTTPRoute"}, p.Namespace}
	if p.Form == route.ByNamespace {
		return selection{Of: of, By: "namespace " + p.Namespace, route: p}, true
	}
	set := map[string]string{route.DelegationLabel: p.Value}
	by := labelWords(of, set, nil)
	if p.Namespace == "" {
		by += " in all namespaces"
	}
	return selection{Of: of, Label: firstLabel(set), By: by, route: p}, true
}

// firstLabel returns the label with the first name in alphabetical order. It returns an empty label if there
// are no labels.
func firstLabel(set map[string]string) label {
	if len(set) == 0 {
		return label{}
	}
	name := slices.Min(slices.Collect(maps.Keys(set)))
	return label{name, set[name]}
}

// labelWords returns a label selector as text, such as "label app=x". The parameter objects is the kind and
// namespace of the objects that are selected. The parameters set and expressions are the conditions of the selector.
// Without conditions, the text says that the selector selects every object of the kind. Texts that look like
// credentials are hidden.
func labelWords(objects selectable, set map[string]string, expressions []metav1.LabelSelectorRequirement) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(set)) {
		words = append(words, name+"="+set[name])
	}
	for _, e := range expressions {
		words = append(words, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Key, operatorWords(e.Operator), strings.Join(e.Values, "|"))))
	}
	switch len(words) {
	case 0:
		if objects.Namespace == "" {
			return "kind: every " + objects.Kind.Kind
		}
		return "kind: every " + objects.Kind.Kind + " of namespace " + objects.Namespace
	case 1:
		return "label " + hideText(words[0])
	}
	return "labels " + hideText(strings.Join(words, ", "))
}

// operatorWords returns an operator of a label selector in words.
func operatorWords(operator metav1.LabelSelectorOperator) string {
	switch operator {
	case metav1.LabelSelectorOpIn:
		return "in"
	case metav1.LabelSelectorOpNotIn:
		return "not in"
	case metav1.LabelSelectorOpExists:
		return "exists"
	}
	return "does not exist"
}

// selectionsOf groups the selections by the kind and namespace of their objects and by one required label. With
// these groups, folder.selecting checks only the selections that may match an object.
func selectionsOf(all []selection) map[selectedBy][]selection {
	grouped := map[selectedBy][]selection{}
	for _, s := range all {
		at := selectedBy{s.Of, s.Label}
		grouped[at] = append(grouped[at], s)
	}
	return grouped
}

// selecting returns the references from all fields that select the object o.
func (f folder) selecting(o *manifest.Object) (from []reference) {
	c := f.candidates([]*manifest.Object{o})[0]
	has := []label{{}}
	for name, value := range c.labels {
		has = append(has, label{name, value})
	}
	of := []selectable{{Kind: o.Key.GroupKind()}}
	if o.Key.Namespace != "" {
		of = append(of, selectable{o.Key.GroupKind(), o.Key.Namespace})
	}
	for _, of := range of {
		for _, label := range has {
			for _, s := range f.selections[selectedBy{of, label}] {
				if s.selects(c) {
					from = append(from, s.to(o.Key))
				}
			}
		}
	}
	return from
}

// selected returns the references from the selections of one object to the objects that they select, in the order
// of the selections. For a selection that selects no object, the list has one reference to the name "*" (see
// toNone). The list has at most limit references. The result omitted is the number of references that were left
// out.
func (f folder) selected(selections []selection, limit int) (to []reference, omitted int) {
	candidates := map[selectable][]candidate{}
	add := func(r reference) {
		if len(to) < limit {
			to = append(to, r)
		} else {
			omitted++
		}
	}
	for _, s := range selections {
		if candidates[s.Of] == nil {
			candidates[s.Of] = f.candidates(f.of(s.Of))
		}
		none := true
		for _, c := range candidates[s.Of] {
			if s.selects(c) {
				none = false
				add(s.to(c.object.Key))
			}
		}
		if none {
			add(s.toNone())
		}
	}
	return to, omitted
}

// candidates returns a candidate for each object, with the labels and properties that selectors compare. All
// objects must be of one kind.
func (f folder) candidates(objects []*manifest.Object) []candidate {
	secrets := make([]map[string]string, len(objects))
	if len(objects) > 0 && objects[0].Key.Kind == kindSecret {
		keys := make([]manifest.Key, len(objects))
		for i, o := range objects {
			keys[i] = o.Key
		}
		secrets = f.labels(keys)
	}
	all := make([]candidate, len(objects))
	for i, o := range objects {
		all[i] = newCandidate(o, secrets[i])
	}
	return all
}

// of returns the objects of a kind and namespace, sorted by key. For the namespace "", it returns the objects
// of all namespaces.
func (f folder) of(s selectable) []*manifest.Object {
	all := f.kinds[s.Kind]
	if s.Namespace == "" {
		return all
	}
	byNamespace := func(o *manifest.Object, namespace string) int { return cmp.Compare(o.Key.Namespace, namespace) }
	begin, _ := slices.BinarySearchFunc(all, s.Namespace, byNamespace)
	end, _ := slices.BinarySearchFunc(all, s.Namespace+"\x00", byNamespace)
	return all[begin:end]
}
