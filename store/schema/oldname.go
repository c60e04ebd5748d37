package schema

import (
	"fmt"
	"maps"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// The name of ListenerSets before they were a part of the Gateway API's own group (GEP-1713).
const (
	OldGroup       = "gateway.networking.x-k8s.io"
	OldListenerSet = "XListenerSet"
)

const listenerSet = "ListenerSet"

// RenameListenerSets writes the current group and kind into an XListenerSet, and into references to XListenerSets: to
// parents and targets, and those of ReferenceGrants. Their fields are those of a ListenerSet. It returns the paths of the
// kinds that it changed, such as spec.parentRefs[0].kind. The path of the object's own kind comes first.
func RenameListenerSets(object map[string]any) (paths []string) {
	if object["apiVersion"] == OldGroup+"/v1alpha1" && object["kind"] == OldListenerSet {
		object["apiVersion"], object["kind"] = gwv1.GroupVersion.String(), listenerSet
		paths = append(paths, "kind")
	}
	spec, _ := object["spec"].(map[string]any)
	for _, field := range slices.Sorted(maps.Keys(spec)) {
		if !slices.Contains([]string{"parentRef", "parentRefs", "targetRef", "targetRefs", "targetSelectors", "from", "to"}, field) {
			continue
		}
		refs, isList := spec[field].([]any)
		if !isList && renameReference(spec[field]) {
			paths = append(paths, "spec."+field+".kind")
		}
		for i, ref := range refs {
			if renameReference(ref) {
				paths = append(paths, fmt.Sprintf("spec.%s[%d].kind", field, i))
			}
		}
	}
	return paths
}

// renameReference writes the current group and kind into a reference to XListenerSets, and reports whether it did. The
// group may be missing or one of the Gateway API, because no other kind has the name.
func renameReference(ref any) bool {
	fields, _ := ref.(map[string]any)
	group, kind := fields["group"], fields["kind"]
	known := group == nil || group == OldGroup || group == gwv1.GroupName
	if !known || kind != OldListenerSet && (kind != listenerSet || group != OldGroup) {
		return false
	}
	fields["kind"] = listenerSet
	if group != nil {
		fields["group"] = gwv1.GroupName
	}
	return true
}
