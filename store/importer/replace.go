package importer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// replaceServices replaces Services by Backends of the same name. The map replace has the address of each Backend,
// by the NAMESPACE/NAME of the Service. The Service is left out, and all references to the Service are changed to
// the Backend (see refer).
func replaceServices(r *report, objects *collection, replace map[string]Address) {
	for _, service := range sortedAddresses(replace) {
		namespace, name := service.namespace, service.name
		address := replace[namespace+"/"+name]
		old := objects.find(manifest.Key{Kind: "Service", Namespace: namespace, Name: name})
		static := map[string]any{"hosts": []any{map[string]any{"host": address.Host, "port": int64(address.Port)}}}
		if old != nil {
			old.left = true
			r.add(Different, old.place, old.name(), fmt.Sprintf("a Backend of the same name replaces it, with %s and port %d", address.Host, address.Port))
			for _, port := range list(old.spec()["ports"]) {
				if text(at(port, "appProtocol")) == "kubernetes.io/h2c" {
					static["appProtocol"] = "kubernetes.io/h2c"
				}
			}
		}
		objects.put(manifest.Key{Group: api.Group, Kind: api.KindBackend, Namespace: namespace, Name: name},
			api.Group+"/"+api.Version, map[string]any{"type": "Static", "static": static})
		for _, object := range objects.all {
			refer(object, namespace, name)
		}
	}
}

// refer changes the references of one object, such as a route or policy: a reference to the Service namespace/name
// becomes a reference to the Backend of the same name. If the object is a ReferenceGrant that admits the Service,
// it then also admits the Backend.
func refer(object *item, namespace, name string) {
	spec := object.spec()
	switch {
	case object.is("ReferenceGrant") && object.key.Namespace == namespace:
		for _, to := range slices.Clone(list(spec["to"])) {
			if grantee := text(at(to, "name")); text(at(to, "kind")) == "Service" && (grantee == "" || grantee == name) {
				spec["to"] = append(list(spec["to"]), map[string]any{"group": api.Group, "kind": api.KindBackend, "name": name})
			}
		}
		return
	case !object.isRoute() && !object.isPolicy() && object.key.Group != api.Group:
		return
	}
	rewrite := func(ref map[string]any) {
		kind, group := text(ref["kind"]), text(ref["group"])
		if (kind == "Service" || kind == "" && ref["port"] != nil) && group == "" && text(ref["name"]) == name &&
			cmp.Or(text(ref["namespace"]), object.key.Namespace) == namespace {
			ref["group"], ref["kind"] = api.Group, api.KindBackend
			delete(ref, "port")
			if object.isPolicy() {
				delete(ref, "sectionName")
			}
		}
	}
	references(spec, rewrite)
}

type serviceName struct{ namespace, name string }

// sortedAddresses returns the keys of the map replace, sorted. They are the Services that Backends replace. In the
// map, each key is NAMESPACE/NAME.
func sortedAddresses(replace map[string]Address) []serviceName {
	var names []serviceName
	for name := range replace {
		namespace, service := cutName(name)
		names = append(names, serviceName{namespace, service})
	}
	slices.SortFunc(names, func(a, b serviceName) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	return names
}
