package importer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
)

const (
	gatewayGroup = "gateway.networking.k8s.io"
	sliceGroup   = "discovery.k8s.io"
)

// item is an object of the input, or one that import adds. A file is written for the object unless left is
// true.
type item struct {
	key    manifest.Key
	place  place
	fields map[string]any
	// left is true if no file is written for the object.
	left bool
	// closed is true if the object answers an error to all requests that it matches.
	closed bool
	// refusing is true if at least one rule of the object answers an error, because it fails closed.
	refusing bool
	// renamed has the paths of the kinds that were XListenerSet in the input (schema.RenameListenerSets).
	renamed []string
	// class is the class that a Gateway had before the import, "" if the import did not change the class.
	class string
}

// name returns KIND/NAMESPACE/NAME, as in Verdict.Object.
func (o *item) name() string { return nameOf(o.key) }

// nameOf returns KIND/NAMESPACE/NAME, or KIND/NAME without a namespace.
func nameOf(key manifest.Key) string {
	return strings.Trim(key.Kind+"/"+key.Namespace, "/") + "/" + key.Name
}

// objectsOf returns the objects of a document: the items of a List, or the object itself. ok is false if the
// document or an item is not a map.
func objectsOf(in Input) (objects []*item, ok bool) {
	document, ok := in.Value.(map[string]any)
	if !ok {
		return nil, false
	}
	kind := text(document["kind"])
	if items, isList := document["items"].([]any); isList && strings.HasSuffix(kind, "List") {
		for i, item := range items {
			fields, isObject := item.(map[string]any)
			if !isObject {
				return nil, false
			}
			where := in.at(fmt.Sprintf("items[%d]", i))
			o := objectOf(fields, where)
			// In typed lists of kubectl, such as a ServiceList, the items have no kind.
			if o.key.Kind == "" && kind != "List" {
				fields["kind"], fields["apiVersion"] = strings.TrimSuffix(kind, "List"), document["apiVersion"]
				o = objectOf(fields, where)
			}
			objects = append(objects, o)
		}
		return objects, true
	}
	return []*item{objectOf(document, in.at(""))}, true
}

// objectOf returns the item for an object. The default namespace is "default". An XListenerSet becomes a ListenerSet.
func objectOf(fields map[string]any, where place) *item {
	renamed := schema.RenameListenerSets(fields)
	gv, _ := apischema.ParseGroupVersion(text(fields["apiVersion"]))
	key := manifest.Key{Group: gv.Group, Kind: text(fields["kind"]), Name: text(at(fields, "metadata", "name"))}
	if !clusterScoped(key.GroupKind()) {
		key.Namespace = cmp.Or(text(at(fields, "metadata", "namespace")), "default")
	}
	return &item{key: key, place: where, fields: fields, renamed: renamed}
}

// clusterScoped reports whether a kind is Namespace or GatewayClass, whose objects have no namespace. Objects of
// other cluster-scoped kinds, such as IngressClass, get the default namespace in their key.
func clusterScoped(kind apischema.GroupKind) bool {
	return kind.Kind == "Namespace" && kind.Group == "" || kind.Kind == "GatewayClass" && kind.Group == gatewayGroup
}

// is reports whether the object is of one of the kinds, in the Gateway API's group.
func (o *item) is(kinds ...string) bool {
	return o.key.Group == gatewayGroup && slices.Contains(kinds, o.key.Kind)
}

// isCore reports whether the object is of a kind in the core group.
func (o *item) isCore(kind string) bool { return o.key.Group == "" && o.key.Kind == kind }

// isPolicy reports whether the object is a TrafficPolicy, BackendConfigPolicy or BackendTLSPolicy.
func (o *item) isPolicy() bool {
	return o.key.Group == api.Group && (o.key.Kind == api.KindTrafficPolicy || o.key.Kind == api.KindBackendConfigPolicy) || o.is("BackendTLSPolicy")
}

// isRoute reports whether the object is a route of any kind.
func (o *item) isRoute() bool {
	return o.is("HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute")
}

// spec returns the object's spec. It returns an empty map if there is none.
func (o *item) spec() map[string]any {
	spec, ok := o.fields["spec"].(map[string]any)
	if !ok {
		spec = map[string]any{}
	}
	return spec
}

// target is what a policy is attached to: an object, or a section of an object, by name or by labels.
type target struct {
	store.Target
	namespace string // "" is the namespace of the policy
}

// targetsOf returns the targets in targetRefs, targetSelectors and targetRef of a policy. The result lost is true if
// the policy may have other targets, which import cannot read: a field name is misspelt, a value has a wrong type,
// or a target is in another field. Such targets matter: if gatefold serves the policy and finds it invalid, it makes
// these targets fail closed, too.
func (o *item) targetsOf() (targets []target, lost bool) {
	for key := range o.fields {
		lost = lost || key != "spec" && manifest.Distance(strings.ToLower(key), "spec") <= 1
	}
	spec := o.spec()
	for key := range spec {
		lost = lost || store.MayNameTargets(key) && !slices.Contains([]string{"targetRefs", "targetSelectors", "targetRef"}, key)
	}
	var entries []any
	for _, key := range []string{"targetRefs", "targetSelectors"} {
		entries = append(entries, list(spec[key])...)
		if spec[key] != nil && list(spec[key]) == nil {
			lost = true
		}
	}
	if ref := spec["targetRef"]; ref != nil {
		entries = append(entries, ref)
	}
	for _, entry := range entries {
		t := target{namespace: text(at(entry, "namespace"))}
		t.Group, t.Kind, t.Name, t.Section = text(at(entry, "group")), text(at(entry, "kind")), text(at(entry, "name")), text(at(entry, "sectionName"))
		t.Labels = labelsIn(entry, "matchLabels")
		if lost = lost || oddTarget(entry); t.Kind == "" || (t.Name == "") == (t.Labels == nil) {
			lost = true
			continue
		}
		targets = append(targets, t)
	}
	return targets, lost || o.hasOtherTargets(targets)
}

// hasOtherTargets reports whether a policy has a target that is missing in the parameter targets, or one that cannot
// be read. It compares with all targets that fail closed if the policy is invalid (store.PolicyTargets). These
// include references in fields that are not meant for targets, and in unknown fields. The result is false for a
// policy that gatefold does not serve.
func (o *item) hasOtherTargets(targets []target) bool {
	all, lost := store.PolicyTargets(o.key.GroupKind(), o.fields)
	return lost || slices.ContainsFunc(all, func(other store.Target) bool {
		return !slices.ContainsFunc(targets, func(t target) bool {
			return t.Kind == other.Kind && t.Name == other.Name && t.Section == other.Section && maps.Equal(t.Labels, other.Labels)
		})
	})
}

// labelsIn returns the labels at a path, nil if there are none. Labels that are not text are left out.
func labelsIn(fields any, path ...string) (labels map[string]string) {
	found, ok := at(fields, path...).(map[string]any)
	if ok {
		labels = map[string]string{}
	}
	for name, value := range found {
		if text, isText := value.(string); isText {
			labels[name] = text
		}
	}
	return labels
}

// oddTarget reports whether an entry of targetRefs or targetSelectors has an unknown field, or a label that is not
// text.
func oddTarget(entry any) bool {
	fields, _ := entry.(map[string]any)
	for key, value := range fields {
		labels, _ := value.(map[string]any)
		switch key {
		case "group", "kind", "name", "sectionName", "namespace", "port", "matchExpressions":
		case "matchLabels":
			for _, label := range labels {
				if _, isText := label.(string); !isText {
					return true
				}
			}
		default:
			return true
		}
	}
	return false
}

// of reports whether the policy target t selects the object o. The parameter namespace is the namespace of the
// policy.
func (t target) of(o *item, namespace string) bool {
	return o.key.Namespace == cmp.Or(t.namespace, namespace) && t.Selects(o.key, labelsIn(o.fields, "metadata", "labels"))
}

// closable reports whether objects of the target's kind can fail closed, by an error answer or by being left
// out (see closing.failClosed).
func (t target) closable() bool {
	switch t.Group {
	case gatewayGroup:
		return slices.Contains([]string{"HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute", "Gateway", "ListenerSet"}, t.Kind)
	case api.Group:
		return t.Kind == api.KindBackend
	}
	return t.Group == "" && t.Kind == "Service"
}
