package importer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
)

// closing makes objects fail closed: their rules answer an error, or the objects are left out. The objects that
// refer to such an object fail closed, too, or lose the reference (see shutUsers).
type closing struct {
	*report
	objects *collection
	gone    []*item // removed objects; references to them fail closed
	// reasons has the reason why an object was refused, by its name (item.name).
	reasons map[string]string
}

// why returns why what needs the refused object or field (the parameter name) is closed.
func (c *closing) why(name string) string {
	if reason := c.reasons[name]; reason != "" {
		return name + " is refused: " + reason
	}
	return name + " is refused"
}

// becauseOf records why an object is refused, for the reasons of what it closes.
func (c *closing) becauseOf(name, reason string) {
	if c.reasons == nil {
		c.reasons = map[string]string{}
	}
	c.reasons[name] = cmp.Or(c.reasons[name], reason)
}

// closeTargets makes the targets of a policy fail closed (see failClosed), because the policy cannot be imported.
// The parameter because is the reason for the verdicts: the name of the policy or of a field of it.
// If a target in targetRefs is not in the input, the objects that refer to this target fail closed instead (see
// shutUsers). Nothing is done for a missing HTTPRoute or GRPCRoute. If a target is of a kind that cannot fail
// closed, such as a GatewayClass, the import is blocked.
func (c *closing) closeTargets(policy *item, targets []target, because string) {
	for _, t := range targets {
		if !t.closable() {
			c.block(policy.place, policy.name(), "it is for a "+t.Kind+": what it protects is unknown", "leave it out with --accept "+policy.name())
		}
		found := false
		for _, object := range c.objects.all {
			if t.of(object, policy.key.Namespace) {
				found = true
				c.failClosed(object, t.Section, because)
			}
		}
		if !found && t.Name != "" && t.Kind != "HTTPRoute" && t.Kind != "GRPCRoute" {
			// If the object is added later, the routes that refer to it must not be without the policy.
			c.shutUsers(&item{key: t.Key(cmp.Or(t.namespace, policy.key.Namespace)), left: true})
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

// closeRules closes the rules of a route (see shutRule). Envoy then answers 500 to the requests that match these rules
// (UNAVAILABLE for a GRPCRoute). If a rule has the name in the
// parameter section, only the rules with this name change. If none has it, all rules change. Child routes of the
// route fail closed, too. The parameter because is the reason for the verdict.
func (c *closing) closeRules(route *item, section, because string) {
	rules := list(route.spec()["rules"])
	reason := c.why(because)
	named := func(rule any) bool { return section == "" || text(at(rule, "name")) == section }
	if !slices.ContainsFunc(rules, named) {
		section = ""
	}
	var fields []string
	for i, rule := range rules {
		if !named(rule) {
			continue
		}
		shutRule(route, i, reason)
		fields = append(fields, fmt.Sprintf("spec.rules[%d]", i))
	}
	route.closed, route.refusing = section == "", true
	c.protecting(route.place, route.name(), "answers 500: "+because+" is refused; all but names and matches is left out, and "+api.AnnotationClosed+" has the reason", "", fields...)
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

// refusePart leaves out a field of a policy that gatefold cannot express, and makes the policy's targets fail closed.
// What the policy says besides is written, so that it applies when somebody opens the targets. The parameter field is
// the path of what is refused, and the parameter message is the reason. If nothing else would be left of the policy, or
// the field is not a setting of the policy, the whole policy is refused (see refusePolicy).
func (c *closing) refusePart(policy *item, message, field string) {
	setting, others := settingOf(policy, field)
	targets, lost := policy.targetsOf()
	if setting == "" || others == 0 || lost {
		c.refusePolicy(policy, message, fieldOf(field)...)
		return
	}
	delete(policy.spec(), setting)
	field = "spec." + setting
	c.becauseOf(policy.name()+" "+field, message)
	c.protecting(policy.place, policy.name(), message+"; the other fields are written, and the targets are closed",
		"write it in another way, or leave it out with --accept "+policy.name()+"/"+field, field)
	c.closeTargets(policy, targets, policy.name()+" "+field)
}

// settingOf returns the setting of a policy, a key of its spec, that has the field at a path. The result is "" if the
// path is in none. The result others is the number of other settings of the policy.
func settingOf(policy *item, field string) (setting string, others int) {
	for key := range policy.spec() {
		switch {
		case within(field, "spec."+key):
			setting = key
		case !slices.Contains([]string{"targetRefs", "targetSelectors"}, key):
			others++
		}
	}
	if store.MayNameTargets(setting) {
		return "", others
	}
	return setting, others
}

// fieldOf returns a field as a list, nil for "".
func fieldOf(field string) []string {
	if field == "" {
		return nil
	}
	return []string{field}
}

// refusePolicy leaves out a policy or GatewayExtension that gatefold cannot express, and makes its targets fail
// closed. If a target cannot be read, the import is blocked. Policies that refer to the left-out object are
// refused in the same way. Routes that refer to the left-out object fail closed. The parameter message is the
// reason.
func (c *closing) refusePolicy(policy *item, message string, fields ...string) {
	c.remove(policy)
	c.becauseOf(policy.name(), message)
	c.protecting(policy.place, policy.name(), message, "write it in another way, or leave it out with --accept "+policy.name(), fields...)
	targets, lost := policy.targetsOf()
	if lost {
		c.block(policy.place, policy.name(), "its targets cannot be read", "")
	}
	c.closeTargets(policy, targets, policy.name())
	for _, user := range c.objects.all {
		if user.left || user == policy {
			continue
		}
		named := ""
		for _, key := range sortedKeys(user.spec()) {
			references(user.spec()[key], func(ref map[string]any) {
				if text(ref["kind"]) == policy.key.Kind && refersTo(user, ref, policy) || policy.key.Kind == api.KindGatewayExtension && refersTo(user, ref, policy) {
					named = "spec." + key
				}
			})
		}
		switch {
		case named == "":
		case user.isPolicy():
			c.refusePart(user, policy.name()+" is refused", named)
		case user.isRoute():
			c.failClosed(user, "", policy.name())
		}
	}
}
