package lsp

import (
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/server/engine"
	"github.com/gatefold/gatefold/server/lsp/sketch"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
)

// subject is the object that a document defines. The document may be incomplete.
type subject struct {
	root            *sketch.Node
	schema          schema.JSONSchema // nil for an unknown kind
	group, kind     string
	namespace, name string
	apiVersion      string
}

// subjectOf returns the object of a document. The parameter root is the value of the document. An object
// without a namespace is in the namespace "default".
func (s *server) subjectOf(root *sketch.Node) subject {
	metadata := root.Get("metadata")
	o := subject{root: root, apiVersion: root.Get("apiVersion").Text(), kind: root.Get("kind").Text(), name: metadata.Get("name").Text()}
	o.group, _, _ = strings.Cut(o.apiVersion, "/")
	if !strings.Contains(o.apiVersion, "/") {
		o.group = ""
	}
	if o.namespace = metadata.Get("namespace").Text(); o.namespace == "" {
		o.namespace = "default"
	}
	o.schema = s.catalog.of(o.apiVersion, o.kind)
	return o
}

// reference is a field that names another object.
type reference struct {
	to     manifest.Key // Name is "" if it is not written yet
	fields *sketch.Node // the mapping with name, group, kind and namespace, or nil
	list   string       // the field that has the reference, such as backendRefs
}

// referenceAt returns the reference to another object at a path of a document. The last key of the path must be
// one that names an object: gatewayClassName, or name below a field such as targetRef or backendRefs. The
// parameter name is the value of that key. ok is false if the path leads to no reference, or if the kind of the
// reference is not known.
func (o subject) referenceAt(path []sketch.Step, name string) (ref reference, ok bool) {
	if len(path) < 2 {
		return ref, false
	}
	last := path[len(path)-1]
	if last.Key == "gatewayClassName" {
		return reference{to: manifest.Key{Group: gwv1.GroupName, Kind: "GatewayClass", Name: name}, list: last.Key}, true
	}
	ref.fields, ref.list = last.In, listOf(path[:len(path)-1])
	if last.Key != "name" || !strings.HasSuffix(ref.list, "Ref") && !strings.HasSuffix(ref.list, "Refs") {
		return ref, false
	}
	of := follow(o.schema, path[:len(path)-1])
	ref.to = manifest.Key{
		Group: written(ref.fields, of, "group"), Kind: written(ref.fields, of, "kind"), Namespace: written(ref.fields, of, "namespace"), Name: name,
	}
	if ref.to.Kind == "" {
		ref.to.Group, ref.to.Kind = impliedKind(ref.list)
	}
	if ref.to.Namespace == "" {
		ref.to.Namespace = o.namespace
	}
	return ref, ref.to.Kind != ""
}

// listOf returns the last key of a path, or "" if the path has no key.
func listOf(path []sketch.Step) string {
	for _, step := range slices.Backward(path) {
		if step.Key != "" {
			return step.Key
		}
	}
	return ""
}

// written returns the text of the named field of a reference. If the field is not written, it returns the default
// of the field in the reference's schema, or "" if there is no default.
func written(fields *sketch.Node, shape schema.JSONSchema, name string) string {
	if v := fields.Get(name); v != nil {
		return v.Text()
	}
	text, _ := field(shape, name)["default"].(string)
	return text
}

// impliedKind returns the group and kind of a reference that does not state its kind. list is the name of the
// field that contains the reference, such as "backendRefs". The results are "" if no kind is known.
func impliedKind(list string) (group, kind string) {
	switch lower := strings.ToLower(list); {
	case strings.Contains(lower, "secret"):
		return "", "Secret"
	case strings.Contains(lower, "extension"):
		return api.Group, api.KindGatewayExtension
	}
	return "", ""
}

// permitted reports whether one object (the parameter from) may refer to another (the parameter to). The reference is
// always permitted if both objects are in the same namespace, or if the other object has no namespace or is a Gateway
// or ListenerSet. Any other reference needs a ReferenceGrant.
func permitted(live *engine.Live, from subject, to manifest.Key) bool {
	if to.Namespace == from.namespace || to.Namespace == "" || to.Kind == "Gateway" || to.Kind == "ListenerSet" {
		return true
	}
	for o := range live.Objects() {
		grant, ok := o.Value.(*gwv1.ReferenceGrant)
		if !ok || o.Key.Namespace != to.Namespace {
			continue
		}
		sources := slices.ContainsFunc(grant.Spec.From, func(f gwv1.ReferenceGrantFrom) bool {
			return string(f.Group) == from.group && string(f.Kind) == from.kind && string(f.Namespace) == from.namespace
		})
		targets := slices.ContainsFunc(grant.Spec.To, func(t gwv1.ReferenceGrantTo) bool {
			return string(t.Group) == to.Group && string(t.Kind) == to.Kind && (t.Name == nil || string(*t.Name) == to.Name)
		})
		if sources && targets {
			return true
		}
	}
	return false
}

// sections returns the names that a sectionName for the object o may have: listeners of a Gateway or ListenerSet,
// and rules of an HTTPRoute. It returns nil for other kinds, and if o is nil.
func sections(o *manifest.Object) (names []string) {
	if o == nil {
		return nil
	}
	switch v := o.Value.(type) {
	case *gwv1.Gateway:
		for _, l := range v.Spec.Listeners {
			names = append(names, string(l.Name))
		}
	case *gwv1.ListenerSet:
		for _, l := range v.Spec.Listeners {
			names = append(names, string(l.Name))
		}
	case *api.HTTPRoute:
		for _, r := range v.Spec.Rules {
			if r.Name != nil {
				names = append(names, string(*r.Name))
			}
		}
	}
	return names
}
