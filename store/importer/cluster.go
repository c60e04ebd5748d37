package importer

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/schema"
)

// Cluster imports the output of kubectl get. It returns an error only if the schemas cannot be loaded.
func Cluster(inputs []Input, options Options) (*Objects, error) {
	o, err := newObjects(inputs, options)
	if err != nil {
		return nil, err
	}
	for _, object := range o.objects.all {
		o.surroundings.notServed(object)
		o.surroundings.limitedAddresses(object)
		clean(o.report, object)
		o.classifier.classify(object)
	}
	o.surroundings.annotated()
	o.finish()
	return o, nil
}

// clean removes fields that have a meaning only in a cluster, and adds a verdict about them.
func clean(r *report, object *item) {
	before := runtime.DeepCopyJSON(object.fields)
	delete(object.fields, "status")
	metadata, _ := object.fields["metadata"].(map[string]any)
	for _, key := range sortedKeys(metadata) {
		switch key {
		case "name", "namespace", "labels", "annotations":
		case "creationTimestamp":
			// The creationTimestamp is part of the conflict resolution order.
			if !object.isRoute() && !object.isPolicy() && !object.is("Gateway", "ListenerSet") && object.key.Kind != "Ingress" || metadata[key] == nil {
				delete(metadata, key)
			}
		default:
			delete(metadata, key)
		}
	}
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
		if len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
	if object.isCore("Service") {
		for _, key := range []string{"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort"} {
			delete(object.spec(), key)
		}
		for _, port := range list(object.spec()["ports"]) {
			if port, ok := port.(map[string]any); ok {
				delete(port, "nodePort")
			}
		}
	}
	unknownPriority(r, object)
	if dropped := missing(before, object.fields); len(dropped) > 0 {
		r.add(Same, object.place, object.name(), "fields of the cluster, left out", dropped...)
	}
}

// unknownPriority adds a verdict about an annotation inherited-policy-priority of an unknown value: kgateway lets the
// child's policies win, and gatefold the parent's where a field protects.
func unknownPriority(r *report, object *item) {
	annotations, _ := at(object.fields, "metadata", "annotations").(map[string]any)
	value, written := annotations[api.AnnotationPolicyPriority]
	for _, known := range schema.Annotations() {
		if known.Name == api.AnnotationPolicyPriority && written && !slices.Contains(known.Values, text(value)) {
			r.add(Different, object.place, object.name(),
				fmt.Sprintf("the value %q is unknown: kgateway takes it for %s; with gatefold policies of the parent win for fields that protect requests", text(value), known.Values[0]),
				join("metadata.annotations", known.Name))
		}
	}
}

// missing compares two versions of an object, the parameters before and after. It returns the paths of the values
// that only the first version has. If values in status, managedFields or ownerReferences are missing, it returns
// only the path of that field as a whole.
func missing(before, after map[string]any) []string {
	var paths []string
	has := map[string]bool{}
	Leaves(after, func(path string, _ any) { has[path] = true })
	top := func(path string) string {
		for _, whole := range []string{"status", "metadata.managedFields", "metadata.ownerReferences"} {
			if within(path, whole) {
				return whole
			}
		}
		return path
	}
	Leaves(before, func(path string, _ any) {
		if path = top(path); !has[path] && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	})
	return paths
}
