package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
)

// classifier decides by the kind of an object what the import does with it.
type classifier struct {
	*report
	objects *collection
	accept  *acceptance
	closing *closing
	schemas *schema.Set
}

// classify decides what import does with one object:
//   - An object is left out if Options.Accept names the object or its kind.
//   - A GatewayClass or NetworkPolicy is left out, and may block the import (see parameters and networkPolicy).
//   - A Gateway gets the class gatefold (see gatewayClass).
//   - An Ingress, or an object of a kind for which harmless is true, is left out.
//
// Other objects do not change.
func (c *classifier) classify(object *item) {
	name := object.name()
	switch kind := object.key.GroupKind(); {
	case object.left:
	case c.accept.contains(name, kind.String()):
		object.left = true
		c.add(Different, object.place, name, "left out, as --accept says")
	case object.is("GatewayClass"):
		object.left = true
		c.add(Different, object.place, name, "left out: Gateways of all classes are served by gatefold")
		c.parameters(object)
	case kind.Group == "networking.k8s.io" && kind.Kind == "NetworkPolicy":
		networkPolicy(c.report, object)
	case c.schemas.Versions(kind) != nil:
		c.gatewayClass(object)
	case harmless(kind):
		object.left = true
		c.add(Same, object.place, name, "left out: gatefold has no use for the kind "+kind.String())
	case kind.Kind == "Ingress":
		object.left = true
		c.add(Refused, object.place, name, "left out: it is no object of the Gateway API").Hint = "give the file to gatefold import ingress"
	}
}

// gatewayClass changes the class of a Gateway to gatefold, and adds a verdict. A Gateway without a class keeps
// none. gatewayClass also removes the parameters of the Gateway that gatefold can ignore (see gatewayParameters).
// It does nothing for objects of other kinds.
func (c *classifier) gatewayClass(object *item) {
	c.gatewayParameters(object)
	spec := object.spec()
	class := text(spec["gatewayClassName"])
	if !object.is("Gateway") || class == "" || class == "gatefold" {
		return
	}
	object.class = class
	spec["gatewayClassName"] = "gatefold"
	c.add(Different, object.place, object.name(), fmt.Sprintf("the class was %q, now it is gatefold", class), "spec.gatewayClassName")
}

// harmless reports whether objects of a kind are known to neither route nor protect requests of a gateway.
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

// unservedPolicy leaves out an object of a kind that gatefold does not serve. It does nothing for other kinds. For
// some of the kinds, schema.KindNotServed says whether they affect traffic (Error), and whether their objects have
// targetRefs (Targets). The first of these rules that applies decides what else happens:
//   - If the object has targets, such as targetRefs, and all can be read, the targets fail closed.
//   - If the object has parameters of Gateways that limit clients, the import is blocked.
//   - If the kind is known not to affect traffic, nothing else happens.
//   - If the kind is known to have no targetRefs, Settle makes the objects that refer to this object fail closed.
//   - In all other cases, the import is blocked.
func (c *classifier) unservedPolicy(object *item) {
	kind := object.key.GroupKind()
	if object.left || c.schemas.Versions(kind) != nil {
		return
	}
	object.left = true
	hint := "write what it says as a TrafficPolicy, or leave it out with --accept " + object.name()
	known, isKnown := c.schemas.KindNotServed(kind)
	targets, lost := object.targetsOf()
	switch {
	case len(targets) > 0 && !lost:
		c.protecting(object.place, object.name(), "gatefold does not serve the kind "+kind.String()+": its targets are closed", hint)
		c.closing.becauseOf(object.name(), "gatefold does not serve the kind "+kind.String())
		c.closing.closeTargets(object, targets, object.name())
	case isKnown && known.Parameters && limitsClients(object):
		c.block(object.place, object.name(), "it limits who connects to its Gateways, by loadBalancerSourceRanges",
			"write an acl into a TrafficPolicy of the Gateways, and leave it out with --accept "+object.name())
	case isKnown && !known.Error:
		c.add(Different, object.place, object.name(), "left out: "+known.Meaning)
	case isKnown && !known.Targets:
		c.closing.remove(object)
		c.add(Refused, object.place, object.name(), "gatefold does not serve the kind "+kind.String()+": "+known.Meaning)
	default:
		c.block(object.place, object.name(), "gatefold does not know the kind "+kind.String()+", nor what it protects", hint)
	}
}

// limitsClients reports whether parameters of Gateways, or overlays in them, limit the addresses of clients.
func limitsClients(parameters *item) bool {
	found := false
	Leaves(parameters.fields, func(path string, _ any) { found = found || strings.Contains(path, ".loadBalancerSourceRanges") })
	return found
}

// parameters checks the parametersRef of a GatewayClass. It blocks the import if the parameters object is not
// in the input, because the object may protect requests. It does not block the import if gatefold can ignore
// the object (see ignored).
func (c *classifier) parameters(class *item) {
	ref := at(class.fields, "spec", "parametersRef")
	key := keyOfParameters(ref, "")
	if ref == nil || c.ignored(key) || c.objects.find(key) != nil {
		return
	}
	c.block(class.place, class.name(), fmt.Sprintf("its parameters, %s, are not in the export: they may protect its Gateways", nameOf(key)),
		"export them, too, or leave the class out with --accept "+class.name(), "spec.parametersRef")
}

// gatewayParameters removes spec.infrastructure.parametersRef from a Gateway, and adds a verdict, if the
// Gateway can be served without these parameters (see ignored). Otherwise it does nothing.
func (c *classifier) gatewayParameters(gateway *item) {
	infrastructure, _ := gateway.spec()["infrastructure"].(map[string]any)
	ref := infrastructure["parametersRef"]
	if !gateway.is("Gateway") || ref == nil || !c.ignored(keyOfParameters(ref, gateway.key.Namespace)) {
		return
	}
	delete(infrastructure, "parametersRef")
	c.add(Different, gateway.place, gateway.name(), "left out: Gateways are served without parameters", "spec.infrastructure.parametersRef")
}

// keyOfParameters returns the key of the object that a parametersRef names. The parameter namespace is used if the
// parametersRef has no namespace.
func keyOfParameters(ref any, namespace string) manifest.Key {
	return manifest.Key{Group: text(at(ref, "group")), Kind: text(at(ref, "kind")), Namespace: cmp.Or(text(at(ref, "namespace")), namespace), Name: text(at(ref, "name"))}
}

// ignored reports whether a parameters object (the object that a parametersRef names) can be ignored without loss
// of protection. The object is given by its key. The result is true if the kind of the object is in the list of
// kinds that gatefold does not serve (KindNotServed), and does not affect traffic.
func (c *classifier) ignored(key manifest.Key) bool {
	known, isKnown := c.schemas.KindNotServed(apischema.GroupKind{Group: key.Group, Kind: key.Kind})
	return isKnown && !known.Error
}
