package importer

import (
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/scope"
)

// leaveUnused leaves out objects that nothing needs: Services, Secrets and ConfigMaps to which no object refers,
// the EndpointSlices of such Services, and Namespaces without objects. A Secret that a TrafficPolicy selects by
// labels stays. The EndpointSlices of a Service in the map replace (by NAMESPACE/NAME) are left out, too, because a
// Backend replaces the Service.
func leaveUnused(r *report, objects []*item, replace map[string]Address) {
	names, used := referred(objects), map[string]bool{}
	for _, object := range objects {
		used[object.key.Namespace] = used[object.key.Namespace] || !object.left
	}
	for _, object := range objects {
		needed := true
		switch {
		case object.left:
			continue
		case object.isCore("Service"), object.isCore("Secret"), object.isCore("ConfigMap"):
			needed = names[object.key.Namespace+"/"+object.key.Name] || object.isCore("Secret") && selected(objects, object)
		case object.key.Group == sliceGroup:
			service := text(at(object.fields, "metadata", "labels", "kubernetes.io/service-name"))
			_, replaced := replace[object.key.Namespace+"/"+service]
			needed = names[object.key.Namespace+"/"+service] && !replaced
		case object.isCore("Namespace"):
			needed = used[object.key.Name]
		}
		switch {
		case !needed:
			object.left = true
			r.add(Same, object.place, object.name(), "left out: no route, policy or Gateway needs it")
		case object.key.Group == sliceGroup:
			r.add(Different, object.place, object.name(), "the endpoints stay as they were in the export: gatefold does not follow the cluster").
				Hint = "replace the Service by an address that stays: --replace-service NAMESPACE/NAME=HOST:PORT"
		}
	}
}

// referred returns the names, as NAMESPACE/NAME, that occur in references of objects. The kinds of the references
// are ignored. The references in left-out objects, in objects of the core group and in EndpointSlices do not count.
func referred(objects []*item) map[string]bool {
	names := map[string]bool{}
	for _, object := range objects {
		if object.left || object.key.Group == "" || object.key.Group == sliceGroup {
			continue
		}
		references(object.spec(), func(ref map[string]any) {
			namespace := text(ref["namespace"])
			if namespace == "" {
				namespace = object.key.Namespace
			}
			names[namespace+"/"+text(ref["name"])] = true
		})
	}
	return names
}

// references calls visit with each map inside value, at any depth, whose entry "name" is a text and not empty. Such
// a map may be a reference to an object.
func references(value any, visit func(ref map[string]any)) {
	switch v := value.(type) {
	case map[string]any:
		if text(v["name"]) != "" {
			visit(v)
		}
		for _, key := range sortedKeys(v) {
			references(v[key], visit)
		}
	case []any:
		for _, item := range v {
			references(item, visit)
		}
	}
}

// selected reports whether a TrafficPolicy selects the Secret by its labels.
func selected(objects []*item, secret *item) bool {
	labels := labelsIn(secret.fields, "metadata", "labels")
	for _, object := range objects {
		want := labelsIn(object.fields, "spec", "apiKeyAuth", "secretSelector", "matchLabels")
		if want != nil && object.key.Kind == api.KindTrafficPolicy && object.key.Namespace == secret.key.Namespace && scope.HasLabels(labels, want) {
			return true
		}
	}
	return false
}
