package route

import (
	"cmp"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// Property is a criterion by which a parent route selects child routes: a name, a namespace, a label or a parentRef.
// The field Form says which (see SelectorForm). Namespace and Value depend on Form:
//   - ByName, ByNamespace and ByLabel: they have the same meaning as in Selector.
//   - ByParent: Namespace and Value are the namespace and the name of the parent.
//   - ByParentIn: as ByParent, but Value is the parent's name, a slash, and the namespace of the children.
type Property struct {
	Form             SelectorForm
	Namespace, Value string
}

// Spans reports whether routes of several namespaces can have the property. That is so for the forms ByParent, and
// ByLabel without a namespace.
func (p Property) Spans() bool { return p.Form == ByParent || p.Form == ByLabel && p.Namespace == "" }

// In returns the property p, limited to routes in the given namespace. If p is already limited to one namespace
// (Spans is false), In returns p unchanged.
func (p Property) In(namespace string) Property {
	switch {
	case p.Form == ByParent:
		return Property{ByParentIn, p.Namespace, p.Value + "/" + namespace}
	case p.Spans():
		p.Namespace = namespace
	}
	return p
}

// Named returns the key of the route that the property selects by its name. ok is false if the property selects
// routes in another way (Form is not ByName).
func (p Property) Named() (key manifest.Key, ok bool) {
	if p.Form != ByName {
		return key, false
	}
	return manifest.Key{Group: gwv1.GroupName, Kind: "HTTPRoute", Namespace: p.Namespace, Name: p.Value}, true
}

// toRoutes reports whether a backendRef selects routes. Such a backendRef must set both group and kind (EP-10943).
func toRoutes(ref gwv1.HTTPBackendRef) bool {
	group, kind := api.Text(ref.Group), api.Text(ref.Kind)
	return group == gwv1.GroupName && kind == "HTTPRoute" || group == delegationGroup && kind == "label"
}

// Wanted returns the property by which a backendRef of an HTTPRoute selects child routes. The result ok is false if
// the backendRef is to a backend. The parameter namespace applies if the backendRef has no namespace. The parameter
// wildcard is the word that a reference by label uses for all namespaces.
func Wanted(ref gwv1.HTTPBackendRef, namespace, wildcard string) (p Property, ok bool) {
	if !toRoutes(ref) {
		return p, false
	}
	p = Property{ByName, cmp.Or(api.Text(ref.Namespace), namespace), string(ref.Name)}
	switch {
	case api.Text(ref.Kind) == "label":
		p.Form = ByLabel
		if p.Namespace == wildcard {
			p.Namespace = ""
		}
	case p.Value == "*":
		p.Form, p.Value = ByNamespace, ""
	}
	return p, true
}

// Wants returns the properties by which a parent route selects or admits child routes, without duplicates. The
// parameter points has the matches of the parent's delegating rules (see Point).
func Wants(route manifest.Key, points []*Point) []Property {
	var out []Property
	for _, p := range points {
		for _, s := range p.Selectors {
			out = append(out, Property{s.Form, s.Namespace, s.Value})
		}
		if p.Allowed != nil {
			out = append(out, Property{ByParent, route.Namespace, route.Name})
		}
	}
	return uniqueProperties(out)
}

// Offers returns all properties by which a parent may find a route as its child. A route with parentRefs, but none to
// an HTTPRoute, is a root, and cannot be a child. A root still offers its name. So a route that delegates to the root
// by name can report why the root is not accepted as a child. Offers returns nil if the object is not an HTTPRoute.
func Offers(object *manifest.Object) []Property {
	route, ok := manifest.As[*api.HTTPRoute](object)
	if !ok {
		return nil
	}
	key := object.Key
	out := []Property{{ByName, key.Namespace, key.Name}}
	refs := parentRoutes(key, route)
	if len(route.Spec.ParentRefs) == 0 || len(refs) > 0 {
		out = append(out, Property{Form: ByNamespace, Namespace: key.Namespace})
		if value, ok := route.Labels[DelegationLabel]; ok {
			out = append(out, Property{ByLabel, key.Namespace, value}, Property{ByLabel, "", value})
		}
	}
	for _, ref := range refs {
		parent := Property{ByParent, ref.Key.Namespace, ref.Key.Name}
		out = append(out, parent, parent.In(key.Namespace))
	}
	return uniqueProperties(out)
}

// uniqueProperties removes duplicates from a list. It changes the list.
func uniqueProperties(list []Property) []Property {
	seen := map[Property]bool{}
	return slices.DeleteFunc(list, func(p Property) bool {
		had := seen[p]
		seen[p] = true
		return had
	})
}
