package route

import (
	"cmp"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// Property is a criterion by which a parent route selects child routes: a name, a namespace, a label or a
// parentRef. Form says which (see SelectorForm).
type Property struct {
	Form             SelectorForm
	Namespace, Value string
}

// Spans reports whether routes of several namespaces can have the property.
func (p Property) Spans() bool { return p.Form == ByParent || p.Form == ByLabel && p.Namespace == "" }

// In returns the property p, limited to routes of one namespace. If all routes with p are in one namespace
// already, it returns p unchanged.
func (p Property) In(namespace string) Property {
	switch {
	case p.Form == ByParent:
		return Property{ByParentIn, p.Namespace, p.Value + "/" + namespace}
	case p.Spans():
		p.Namespace = namespace
	}
	return p
}

// Named returns the key of the route that a property names. ok is false if the property is not ByName.
func (p Property) Named() (key manifest.Key, ok bool) {
	if p.Form != ByName {
		return key, false
	}
	return manifest.Key{Group: gwv1.GroupName, Kind: "HTTPRoute", Namespace: p.Namespace, Name: p.Value}, true
}

// toRoutes reports whether a backendRef selects routes. It must set both group and kind (EP-10943).
func toRoutes(ref gwv1.HTTPBackendRef) bool {
	group, kind := api.Text(ref.Group), api.Text(ref.Kind)
	return group == gwv1.GroupName && kind == "HTTPRoute" || group == delegationGroup && kind == "label"
}

// Wanted returns the property of the routes that a backendRef of an HTTPRoute selects. ok is false if it
// selects no routes. The parameter namespace is the default namespace, and wildcard is the word for all
// namespaces in a reference by label.
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

// Wants returns the properties of the child routes that the Points of a parent route select or admit, each
// once.
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

// Offers returns all properties that a route has, so that parents which select by one of them find it. A route
// that has parentRefs, but none to a route, is a root. Parents find it only by its name, to report why it is
// not accepted. For other kinds of object the result is nil.
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
