package importer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// closing makes objects fail closed: their rules answer an error, or the objects are left out. The objects that
// refer to such an object fail closed, too, or lose the reference (see shutUsers).
type closing struct {
	*report
	objects *collection
	gone    []*item // removed objects; references to them fail closed
}

// closeTargets makes the targets of a policy fail closed (see failClosed), because the policy cannot be imported.
// If a target in targetRefs is not in the input, the objects that refer to this target fail closed instead (see
// shutUsers). Nothing is done for a missing HTTPRoute or GRPCRoute. If a target is of a kind that cannot fail
// closed, such as a GatewayClass, the import is blocked.
func (c *closing) closeTargets(policy *item, targets []target) {
	for _, t := range targets {
		if !t.closable() {
			c.block(policy.place, policy.name(), "it is for a "+t.kind+": what it protects is unknown", "leave it out with --accept "+policy.name())
		}
		found := false
		for _, object := range c.objects.all {
			if t.of(object, policy.key.Namespace) {
				found = true
				c.failClosed(object, t.section, policy.name())
			}
		}
		if !found && t.labels == nil && t.kind != "HTTPRoute" && t.kind != "GRPCRoute" {
			// If the object is added later, the routes that refer to it must not be without the policy.
			c.shutUsers(&item{key: manifest.Key{Group: t.group, Kind: t.kind, Namespace: cmp.Or(t.namespace, policy.key.Namespace), Name: t.name}, left: true})
		}
	}
}

// failClosed makes an object fail closed:
//   - All rules of an HTTPRoute answer 500, and those of a GRPCRoute UNAVAILABLE. If a rule has the name in the
//     parameter section, only the rules with this name change.
//   - Other routes, Gateways, ListenerSets, Services and Backends are left out of the import.
//   - Other kinds, and objects that are closed or left out already, do not change.
//
// The parameter because is the reason for the verdict: the name of the refused object or field.
func (c *closing) failClosed(object *item, section, because string) {
	switch {
	case object.left || object.closed:
	case object.is("HTTPRoute", "GRPCRoute"):
		c.closeRules(object, section, because)
	case object.isRoute():
		c.refuse(object, "left out: "+because+" is refused, and connections cannot be answered with an error")
		c.shutNeighbours(object)
	case object.is("Gateway", "ListenerSet"), object.isCore("Service"), object.key.Group == api.Group && object.key.Kind == api.KindBackend:
		c.refuse(object, "left out: "+because+" is refused")
		c.shutUsers(object)
	}
}

// closeRules removes everything except the fields name and matches from the rules of a route. Envoy then answers
// 500 to the requests that match these rules (UNAVAILABLE for a GRPCRoute). If a rule has the name in the
// parameter section, only the rules with this name change. If none has it, all rules change. Child routes of the
// route fail closed, too. The parameter because is the reason for the verdict.
func (c *closing) closeRules(route *item, section, because string) {
	rules := list(route.spec()["rules"])
	named := func(rule any) bool { return section == "" || text(at(rule, "name")) == section }
	if !slices.ContainsFunc(rules, named) {
		section = ""
	}
	var fields []string
	for i, rule := range rules {
		if !named(rule) {
			continue
		}
		left := map[string]any{}
		for _, key := range []string{"name", "matches"} {
			if value := at(rule, key); value != nil {
				left[key] = value
			}
		}
		rules[i] = left
		fields = append(fields, fmt.Sprintf("spec.rules[%d]", i))
	}
	route.closed, route.refusing = section == "", true
	c.protecting(route.place, route.name(), "answers 500: "+because+" is refused", "", fields...)
	// Children of this route would be served without its policies.
	for _, child := range c.objects.all {
		for _, ref := range list(child.spec()["parentRefs"]) {
			if child != route && text(at(ref, "kind")) == "HTTPRoute" && text(at(ref, "name")) == route.key.Name &&
				cmp.Or(text(at(ref, "namespace")), child.key.Namespace) == route.key.Namespace {
				c.failClosed(child, "", route.name())
			}
		}
	}
}

// shutNeighbours leaves out TCPRoutes, TLSRoutes and UDPRoutes that have a parent with the same name as a parent
// of the given route. The given route is left out already. Without shutNeighbours, these other routes could get
// its connections.
func (c *closing) shutNeighbours(route *item) {
	for _, other := range c.objects.all {
		if other.left || !other.isRoute() || other.is("HTTPRoute", "GRPCRoute") {
			continue
		}
		for _, ref := range list(other.spec()["parentRefs"]) {
			for _, mine := range list(route.spec()["parentRefs"]) {
				if !other.left && text(at(ref, "name")) == text(at(mine, "name")) {
					c.refuse(other, "left out: it would get the connections of "+route.name())
				}
			}
		}
	}
}

// refuse leaves out an object that may protect requests, and adds a verdict. It does not change the objects
// that refer to the left-out object: the caller or Settle must make these objects fail closed.
func (c *closing) refuse(object *item, message string) {
	c.remove(object)
	c.protecting(object.place, object.name(), message, "")
}

// remove leaves out an object, and records the object in c.gone. Later, Settle makes the objects that refer to
// the left-out object fail closed.
func (c *closing) remove(object *item) {
	object.left = true
	c.gone = append(c.gone, object)
}

// removed returns the object in c.gone that a reference refers to. The parameter ref is the reference, and the
// parameter from is the object that contains the reference. The result is nil if the reference does not refer to
// an object in c.gone.
func (c *closing) removed(from *item, ref any) *item {
	i := slices.IndexFunc(c.gone, func(gone *item) bool { return refersTo(from, ref, gone) })
	if i < 0 {
		return nil
	}
	return c.gone[i]
}

// shutUsers changes the objects that refer to the parameter gone, an object that is left out or is not in the
// input. If the rules of a route refer to gone, the route fails closed. If gone is a parent of a route, it is
// removed from the route's parentRefs; a route without another parent is left out. If gone is a Gateway, its
// ListenerSets are left out.
func (c *closing) shutUsers(gone *item) {
	for _, user := range c.objects.all {
		switch {
		case user.left:
		case user.isRoute():
			c.leaveParents(user, gone)
			c.shutReferring(user, gone)
		case user.is("ListenerSet") && isParent(user, at(user.spec(), "parentRef"), gone):
			c.failClosed(user, "", gone.name())
		}
	}
}

// leaveParents removes the parameter gone, a parent that is left out, from the parentRefs of a route. A route
// without another parent is left out. If gone is not a parent of the route, leaveParents does nothing.
func (c *closing) leaveParents(route, gone *item) {
	refs := list(route.spec()["parentRefs"])
	kept := slices.DeleteFunc(slices.Clone(refs), func(ref any) bool { return isParent(route, ref, gone) })
	if len(kept) == len(refs) {
		return
	}
	route.spec()["parentRefs"] = kept
	c.add(Refused, route.place, route.name(), "the parent "+gone.name()+" is left out", "spec.parentRefs")
	if len(kept) == 0 {
		delete(route.spec(), "parentRefs")
		c.refuse(route, "left out: it has no other parent")
	}
}

// shutReferring makes a route fail closed if one of its rules refers to an object that the import leaves out (the
// parameter gone). If the object is a Gateway or ListenerSet, shutReferring does nothing, because leaveParents
// handles parents.
func (c *closing) shutReferring(route, gone *item) {
	if gone.is("Gateway", "ListenerSet") || route.left {
		return
	}
	found := false
	references(map[string]any{"rules": route.spec()["rules"]}, func(ref map[string]any) {
		found = found || refersTo(route, ref, gone)
	})
	if found {
		c.failClosed(route, "", gone.name())
	}
}

// isParent reports whether a parent reference names an object. The parameter ref is the reference: an entry of
// parentRefs, or the parentRef of a ListenerSet. The parameter from is the object that contains the reference, and
// the parameter to is the object that may be its parent. A reference without a kind names a Gateway.
func isParent(from *item, ref any, to *item) bool {
	return (text(at(ref, "kind")) != "" || to.is("Gateway")) && refersTo(from, ref, to)
}

// refersTo reports whether a reference names an object. The parameter ref is the reference, the parameter from is
// the object that contains it, and the parameter to is the object that it may name. A reference without a kind
// matches objects of all kinds. Groups are not compared.
func refersTo(from *item, ref any, to *item) bool {
	kind := text(at(ref, "kind"))
	return text(at(ref, "name")) == to.key.Name && (kind == "" || kind == to.key.Kind) &&
		cmp.Or(text(at(ref, "namespace")), from.key.Namespace) == to.key.Namespace
}

// refusePolicy leaves out a policy or GatewayExtension that gatefold cannot express, and makes its targets fail
// closed. If a target cannot be read, the import is blocked. Policies that refer to the left-out object are
// refused in the same way. Routes that refer to the left-out object fail closed. The parameter message is the
// reason.
func (c *closing) refusePolicy(policy *item, message string, fields ...string) {
	c.remove(policy)
	c.protecting(policy.place, policy.name(), message, "write it in another way, or leave it out with --accept "+policy.name(), fields...)
	targets, lost := policy.targetsOf()
	if lost {
		c.block(policy.place, policy.name(), "its targets cannot be read", "")
	}
	c.closeTargets(policy, targets)
	for _, user := range c.objects.all {
		if user.left || user == policy {
			continue
		}
		named := false
		references(user.spec(), func(ref map[string]any) {
			named = named || text(ref["kind"]) == policy.key.Kind && refersTo(user, ref, policy) || policy.key.Kind == api.KindGatewayExtension && refersTo(user, ref, policy)
		})
		switch {
		case !named:
		case user.isPolicy():
			c.refusePolicy(user, policy.name()+" is refused")
		case user.isRoute():
			c.failClosed(user, "", policy.name())
		}
	}
}
