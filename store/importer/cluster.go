package importer

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
)

// Options configure an import.
type Options struct {
	// Accept lists objects (KIND/NAMESPACE/NAME), kinds (KIND.GROUP), and fields (KIND/NAMESPACE/NAME/FIELD). The
	// user has checked that they do not protect anything. The import leaves them out, and makes nothing fail
	// closed because of them.
	Accept []string
	// Replace are the Services (NAMESPACE/NAME) that are replaced by Backends.
	Replace map[string]Address
	// EntryPoints are the ports of Traefik's entry points, besides those of web and websecure.
	EntryPoints map[string]int
	// IngressClasses are the classes of Ingresses that are imported. If it is empty, the class is nginx.
	IngressClasses []string
	// Secrets is true if files for Secrets may be written.
	Secrets bool
}

// Address is the address of a Backend.
type Address struct {
	Host string // an IP address or a DNS name
	Port int
}

// Objects is a set of objects that become files. Call Settle with the problems that gatefold validate finds
// until Settle changes nothing more. Then call Result.
type Objects struct {
	report
	options Options
	schemas *schema.Set
	objects []*item
	byKey   map[manifest.Key]*item
	gone    map[manifest.Key]bool // refused objects; references to them fail closed
	used    map[string]bool       // the entries of Accept that had an effect
}

// Cluster imports the output of kubectl get. It returns an error only if the schemas cannot be loaded.
func Cluster(inputs []Input, options Options) (*Objects, error) {
	o, err := newObjects(inputs, options)
	if err != nil {
		return nil, err
	}
	for _, object := range o.objects {
		o.notServed(object)
		o.limitedAddresses(object)
		o.clean(object)
		o.classify(object)
	}
	o.annotated()
	o.finish()
	return o, nil
}

// newObjects returns the objects of the input, without the fields that options.Accept names. It returns an
// error only if the schemas cannot be loaded.
func newObjects(inputs []Input, options Options) (*Objects, error) {
	schemas, err := schema.Load()
	if err != nil {
		return nil, err
	}
	o := &Objects{options: options, schemas: schemas, byKey: map[manifest.Key]*item{}, gone: map[manifest.Key]bool{}, used: map[string]bool{}}
	for _, in := range inputs {
		o.read(in)
	}
	o.acceptFields()
	return o, nil
}

// finish does the last steps of every import. It leaves out objects of kinds that gatefold does not serve,
// replaces Services, and leaves out unused objects. Services are replaced after the policies, because a policy
// may make a Service fail closed.
func (o *Objects) finish() {
	for _, object := range o.objects {
		o.unservedPolicy(object)
	}
	o.replaceServices()
	o.leaveUnused()
}

// read adds the objects of a document. A document that is not a valid object, and two different objects with
// the same key, block the import.
func (o *Objects) read(in Input) {
	at := place{in.File, in.Line}
	objects, ok := objectsOf(in)
	if !ok {
		o.block(at, "", "the document is no object of a cluster", "export it again with kubectl get -o yaml, or remove the document")
		return
	}
	for _, object := range objects {
		switch same := o.find(object.key); {
		case object.key.Kind == "" || !plainName(object.key.Name) || object.key.Namespace != "" && !plainName(object.key.Namespace):
			o.block(at, "", "an object has no kind, or no name that an object can have", "export it again with kubectl get -o yaml, or remove the object")
		case same != nil && !reflect.DeepEqual(same.fields, object.fields):
			o.block(at, object.name(), "the object is there twice, and differs", "remove one of the two")
		case same == nil:
			o.append(object)
		}
	}
}

// find returns the object with a key. It returns nil if there is none.
func (o *Objects) find(key manifest.Key) *item {
	return o.byKey[key]
}

// append adds an object.
func (o *Objects) append(object *item) {
	o.objects = append(o.objects, object)
	if o.byKey[object.key] == nil {
		o.byKey[object.key] = object
	}
}

// accepted reports whether options.Accept contains one of the names. It records the name as used.
func (o *Objects) accepted(names ...string) bool {
	for _, name := range names {
		if slices.Contains(o.options.Accept, name) {
			o.used[name] = true
			return true
		}
	}
	return false
}

// acceptFields removes the fields that options.Accept names from their objects.
func (o *Objects) acceptFields() {
	for _, entry := range o.options.Accept {
		for _, object := range o.objects {
			path, ok := strings.CutPrefix(entry, object.name()+"/")
			if !ok || !remove(object.fields, parse(path)) {
				continue
			}
			o.used[entry] = true
			o.add(Different, object.place, object.name(), "left out, as --accept says", path)
		}
	}
}

// clean removes fields that have a meaning only in a cluster, and adds a verdict about them.
func (o *Objects) clean(object *item) {
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
	if dropped := missing(before, object.fields); len(dropped) > 0 {
		o.add(Same, object.place, object.name(), "fields of the cluster, left out", dropped...)
	}
}

// missing returns the paths of leaves that are in before and not in after. For status, managedFields and
// ownerReferences it returns only the path of that field.
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

// classify leaves out an object if its kind gets no file, or if options.Accept names the object or its kind. It
// sets the class of a Gateway (see gatewayClass). A NetworkPolicy or a GatewayClass may block the import (see
// networkPolicy and parameters).
func (o *Objects) classify(object *item) {
	name := object.name()
	switch kind := object.key.GroupKind(); {
	case object.left:
	case o.accepted(name, kind.String()):
		object.left = true
		o.add(Different, object.place, name, "left out, as --accept says")
	case object.is("GatewayClass"):
		object.left = true
		o.add(Different, object.place, name, "left out: Gateways of all classes are served by gatefold")
		o.parameters(object)
	case kind.Group == "networking.k8s.io" && kind.Kind == "NetworkPolicy":
		o.networkPolicy(object)
	case o.schemas.Versions(kind) != nil:
		o.gatewayClass(object)
	case harmless(kind):
		object.left = true
		o.add(Same, object.place, name, "left out: gatefold has no use for the kind "+kind.String())
	case kind.Kind == "Ingress":
		object.left = true
		o.add(Refused, object.place, name, "left out: it is no object of the Gateway API").Hint = "give the file to gatefold import ingress"
	}
}

// gatewayClass changes the class of a Gateway to gatefold. It also removes parameters that gatefold does not
// need (see gatewayParameters).
func (o *Objects) gatewayClass(object *item) {
	o.gatewayParameters(object)
	spec := object.spec()
	class := text(spec["gatewayClassName"])
	if !object.is("Gateway") || class == "" || class == "gatefold" {
		return
	}
	object.class = class
	spec["gatewayClassName"] = "gatefold"
	o.add(Different, object.place, object.name(), fmt.Sprintf("the class was %q, now it is gatefold", class), "spec.gatewayClassName")
}

// harmless reports whether objects of a kind neither route nor protect requests of a gateway.
func harmless(kind apischema.GroupKind) bool {
	switch kind.Group {
	case "apps", "batch", "autoscaling", "policy", "rbac.authorization.k8s.io", "storage.k8s.io", "coordination.k8s.io",
		"events.k8s.io", "apiextensions.k8s.io", "scheduling.k8s.io", "metrics.k8s.io", "cert-manager.io", "acme.cert-manager.io",
		"monitoring.coreos.com", "apiregistration.k8s.io", "node.k8s.io", "helm.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io":
		return true
	case "":
		return slices.Contains([]string{"Pod", "Endpoints", "Event", "Node", "PersistentVolume", "PersistentVolumeClaim", "ServiceAccount",
			"ResourceQuota", "LimitRange", "ReplicationController", "PodTemplate", "ComponentStatus"}, kind.Kind)
	case "networking.k8s.io":
		return kind.Kind == "IngressClass"
	}
	return false
}

// unservedPolicy leaves out an object of a kind that gatefold does not serve. If the object has targets, they
// fail closed. If it has none, or one cannot be read, the kind decides. An object of a kind that does not
// affect traffic is only left out. An object of a known kind without targets is refused. For all other kinds,
// the import is blocked.
func (o *Objects) unservedPolicy(object *item) {
	kind := object.key.GroupKind()
	if object.left || o.schemas.Versions(kind) != nil {
		return
	}
	object.left = true
	hint := "write what it says as a TrafficPolicy, or leave it out with --accept " + object.name()
	known, isKnown := o.schemas.KindNotServed(kind)
	targets, lost := targetsOf(object.spec())
	switch {
	case len(targets) > 0 && !lost:
		o.protecting(object.place, object.name(), "gatefold does not serve the kind "+kind.String()+": its targets are closed", hint)
		o.closeTargets(object, targets)
	case isKnown && !known.Error:
		o.add(Different, object.place, object.name(), "left out: "+known.Meaning)
	case isKnown && !known.Targets:
		o.gone[object.key] = true
		o.add(Refused, object.place, object.name(), "gatefold does not serve the kind "+kind.String()+": "+known.Meaning)
	default:
		o.block(object.place, object.name(), "gatefold does not know the kind "+kind.String()+", nor what it protects", hint)
	}
}

// leaveUnused leaves out Services, EndpointSlices, Secrets and ConfigMaps without references, and empty
// Namespaces.
func (o *Objects) leaveUnused() {
	names, used := o.referred(), map[string]bool{}
	for _, object := range o.objects {
		used[object.key.Namespace] = used[object.key.Namespace] || !object.left
	}
	for _, object := range o.objects {
		needed := true
		switch {
		case object.left:
			continue
		case object.isCore("Service"), object.isCore("Secret"), object.isCore("ConfigMap"):
			needed = names[object.key.Namespace+"/"+object.key.Name] || object.isCore("Secret") && o.selected(object)
		case object.key.Group == sliceGroup:
			service := text(at(object.fields, "metadata", "labels", "kubernetes.io/service-name"))
			needed = names[object.key.Namespace+"/"+service] && !o.replaced(object.key.Namespace+"/"+service)
		case object.isCore("Namespace"):
			needed = used[object.key.Name]
		}
		switch {
		case !needed:
			object.left = true
			o.add(Same, object.place, object.name(), "left out: no route, policy or Gateway needs it")
		case object.key.Group == sliceGroup:
			o.add(Different, object.place, object.name(), "the endpoints stay as they were in the export: gatefold does not follow the cluster").
				Hint = "replace the Service by an address that stays: --replace-service NAMESPACE/NAME=HOST:PORT"
		}
	}
}

// replaced reports whether options.Replace contains the Service NAMESPACE/NAME.
func (o *Objects) replaced(service string) bool { _, ok := o.options.Replace[service]; return ok }

// referred returns the NAMESPACE/NAME of all objects that the remaining objects may refer to, of any kind.
func (o *Objects) referred() map[string]bool {
	names := map[string]bool{}
	for _, object := range o.objects {
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

// references calls visit with each map inside value whose entry "name" is a text and not empty.
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
func (o *Objects) selected(secret *item) bool {
	labels, _ := at(secret.fields, "metadata", "labels").(map[string]any)
	for _, object := range o.objects {
		want, ok := at(object.fields, "spec", "apiKeyAuth", "secretSelector", "matchLabels").(map[string]any)
		if ok && object.key.Kind == api.KindTrafficPolicy && object.key.Namespace == secret.key.Namespace &&
			!slices.ContainsFunc(slices.Collect(maps.Keys(want)), func(key string) bool { return labels[key] != want[key] }) {
			return true
		}
	}
	return false
}
