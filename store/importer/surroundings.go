package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
)

// In a cluster, objects around a Gateway may keep requests from it: load balancers, network policies,
// annotations and parameters of other controllers. A controller may also not have accepted a route. gatefold
// does not have these limits.

// surroundings looks for objects and settings of the cluster that restrict which requests reach a Gateway, a route or
// a Service. An example is a load balancer that admits only some source addresses. gatefold does not apply these
// restrictions, so the import makes the Gateway, route or Service fail closed.
type surroundings struct {
	*report
	objects *collection
	accept  *acceptance
	closing *closing
}

// notServed leaves out an object that got no requests in the cluster: a Gateway or ListenerSet with the
// condition Accepted=False, or a route with this condition for each parent in its status. An object without a
// status is not left out.
func (s *surroundings) notServed(object *item) {
	if accepted := conditionOf(object.fields["status"], "Accepted"); object.is("Gateway", "ListenerSet") && text(at(accepted, "status")) == "False" {
		s.closing.refuse(object, fmt.Sprintf("left out: the controller did not accept it in the cluster (%s), and it got no connections; to import it, take its status out of the export", text(at(accepted, "reason"))))
		s.closing.shutUsers(object)
		return
	}
	parents := list(at(object.fields, "status", "parents"))
	if !object.isRoute() || len(parents) == 0 {
		return
	}
	reason := ""
	for _, parent := range parents {
		accepted := conditionOf(parent, "Accepted")
		if text(at(accepted, "status")) != "False" {
			return
		}
		reason = text(at(accepted, "reason"))
	}
	object.left = true
	s.add(Different, object.place, object.name(), fmt.Sprintf("left out: no parent accepted it in the cluster (%s)", reason)).
		Hint = "to import it, take its status out of the export"
}

// conditionOf returns the condition of the given type (kind) in a status. It returns nil if the status does not
// have the condition.
func conditionOf(status any, kind string) any {
	conditions := list(at(status, "conditions"))
	i := slices.IndexFunc(conditions, func(condition any) bool { return text(at(condition, "type")) == kind })
	if i < 0 {
		return nil
	}
	return conditions[i]
}

// limitedAddresses checks a Service that is the load balancer in front of a Gateway. If the load balancer
// admits only some clients, or is reachable only from inside (see insideOnly), the Gateway is left out, because
// gatefold would admit all clients. If the load balancer admits only some clients, but the Gateway is unknown,
// the import is blocked.
func (s *surroundings) limitedAddresses(service *item) {
	if !service.isCore("Service") {
		return
	}
	s.insideOnly(service)
	for _, field := range limits(service) {
		message := "the load balancer keeps all other clients from "
		hint := "write the ranges as acl in a TrafficPolicy of the Gateway, and leave the field out with --accept " + service.name() + "/" + field
		if gateway := gatewayOf(s.objects, service); gateway != nil {
			s.protecting(service.place, service.name(), message+gateway.name()+", which is left out", hint, field)
			s.closing.failClosed(gateway, "", service.name())
			continue
		}
		s.block(service.place, service.name(), message+"what it leads to, and import does not know which Gateway that is", hint, field)
	}
}

// limits returns the fields by which the load balancer of a Service admits only some clients: the field
// spec.loadBalancerSourceRanges, and annotations of cloud providers. It returns nil if all clients are
// admitted.
func limits(service *item) (fields []string) {
	const ranges = "spec.loadBalancerSourceRanges"
	if value := service.spec()["loadBalancerSourceRanges"]; value != nil && (len(list(value)) > 0 || list(value) == nil) {
		fields = append(fields, ranges)
	}
	annotations, _ := at(service.fields, "metadata", "annotations").(map[string]any)
	for _, name := range sortedKeys(annotations) {
		limit := slices.ContainsFunc([]string{
			"source-ranges", "inbound-cidrs", "allowed-ip-ranges", "allowed-service-tags", "allow-rules", "deny-rules",
			"aws-load-balancer-security-groups", "loadbalancer-acl", "network-access-control",
		}, func(word string) bool { return strings.Contains(name, word) })
		if limit && text(service.spec()["type"]) == "LoadBalancer" && annotations[name] != "" {
			fields = append(fields, join("metadata.annotations", name))
		}
	}
	return fields
}

// insideOnly leaves out the Gateway of a Service that was reachable only inside the cluster's network, because
// gatefold would listen on all interfaces. The Gateway stays if it has spec.addresses, or if another Service
// makes the Gateway reachable from outside.
func (s *surroundings) insideOnly(service *item) {
	gateway := gatewayOf(s.objects, service)
	field := insideBy(service)
	if gateway == nil || gateway.left || field == "" || len(list(gateway.spec()["addresses"])) > 0 {
		return
	}
	for _, other := range s.objects.all {
		if other.isCore("Service") && other != service && gatewayOf(s.objects, other) == gateway && insideBy(other) == "" {
			return
		}
	}
	s.protecting(service.place, service.name(), "clients inside of the cluster's network alone reached "+gateway.name()+", which is left out",
		"write the addresses to listen on into spec.addresses of the Gateway, or leave the field out with --accept "+service.name()+"/"+field, field)
	s.closing.failClosed(gateway, "", service.name())
}

// insideBy returns the field that makes a Service reachable only inside a network: spec.type, or an annotation
// for an internal load balancer. It returns "" if the Service is reachable from outside.
func insideBy(service *item) string {
	if text(service.spec()["type"]) == "ClusterIP" && len(list(service.spec()["externalIPs"])) == 0 {
		return "spec.type"
	}
	annotations, _ := at(service.fields, "metadata", "annotations").(map[string]any)
	for _, name := range sortedKeys(annotations) {
		value := strings.ToLower(text(annotations[name]))
		on := strings.HasSuffix(name, "load-balancer-internal") && value != "false" && value != ""
		if on || value == "internal" && (strings.HasSuffix(name, "load-balancer-scheme") || strings.HasSuffix(name, "load-balancer-type")) {
			return join("metadata.annotations", name)
		}
	}
	return ""
}

// gatewayOf returns the Gateway whose proxies get the connections of a Service. The labels or the ownerReferences of
// the Service name this Gateway. The result is nil if they name no Gateway, or one that is not in objects.
func gatewayOf(objects *collection, service *item) *item {
	labels, _ := at(service.fields, "metadata", "labels").(map[string]any)
	namespace := cmp.Or(text(labels["gateway.envoyproxy.io/owning-gateway-namespace"]), service.key.Namespace)
	names := []string{text(labels["gateway.networking.k8s.io/gateway-name"]), text(labels["gateway.envoyproxy.io/owning-gateway-name"])}
	for _, owner := range list(at(service.fields, "metadata", "ownerReferences")) {
		if text(at(owner, "kind")) == "Gateway" && strings.HasPrefix(text(at(owner, "apiVersion")), gatewayGroup+"/") {
			names = append(names, text(at(owner, "name")))
		}
	}
	for _, name := range names {
		if gateway := objects.find(manifest.Key{Group: gatewayGroup, Kind: "Gateway", Namespace: namespace, Name: name}); gateway != nil {
			return gateway
		}
	}
	return nil
}

// networkPolicy leaves out a NetworkPolicy. If the NetworkPolicy limits incoming connections, the import is
// blocked, because the NetworkPolicy may keep clients away from the Pods of a Gateway.
func networkPolicy(r *report, policy *item) {
	policy.left = true
	types := list(policy.spec()["policyTypes"])
	if len(types) > 0 && !slices.Contains(types, any("Ingress")) {
		r.add(Same, policy.place, policy.name(), "left out: it is about connections that Pods open")
		return
	}
	r.block(policy.place, policy.name(), "it may keep clients from the Pods of a Gateway, and import does not know which Pods those are",
		"if it is for Pods of applications alone, leave it out with --accept "+policy.name()+", or all of them with --accept NetworkPolicy.networking.k8s.io")
}

// annotated looks for annotations that are for another controller (see ofController). It checks routes, Gateways,
// ListenerSets, and the Services that other objects refer to. An object with such an annotation fails closed,
// because import does not know what the annotation protects. Annotations in Options.Accept do not count.
func (s *surroundings) annotated() {
	referred := referred(s.objects.all)
	for _, object := range s.objects.all {
		isService := object.isCore("Service") && referred[object.key.Namespace+"/"+object.key.Name]
		if object.left || !isService && !object.isRoute() && !object.is("Gateway", "ListenerSet") {
			continue
		}
		annotations, _ := at(object.fields, "metadata", "annotations").(map[string]any)
		for _, name := range sortedKeys(annotations) {
			field := join("metadata.annotations", name)
			switch {
			case !ofController(name):
			case s.accept.contains(name):
				s.add(Different, object.place, object.name(), "gatefold does not read it, as --accept says", field)
			default:
				const unknown = "another controller reads this annotation, and import does not know what it protects"
				s.protecting(object.place, object.name(), unknown, "leave it out with --accept "+name, field)
				s.closing.becauseOf(name, unknown)
				s.closing.failClosed(object, "", name)
			}
		}
	}
}
