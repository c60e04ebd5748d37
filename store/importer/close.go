package importer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// closeTargets makes the targets of a policy fail closed (Objects.failClosed), because the policy cannot be
// imported. If a named target is not in the input, routes that refer to it fail closed. If objects of a
// target's kind cannot fail closed, such as a GatewayClass, the import is blocked.
func (o *Objects) closeTargets(policy *item, targets []target) {
	for _, t := range targets {
		if !t.closable() {
			o.block(policy.place, policy.name(), "it is for a "+t.kind+": what it protects is unknown", "leave it out with --accept "+policy.name())
		}
		found := false
		for _, object := range o.objects {
			if t.of(object, policy.key.Namespace) {
				found = true
				o.failClosed(object, t.section, policy.name())
			}
		}
		if !found && t.labels == nil && t.kind != "HTTPRoute" && t.kind != "GRPCRoute" {
			// If the object is added later, the routes that refer to it must not be without the policy.
			o.shutUsers(&item{key: manifest.Key{Group: t.group, Kind: t.kind, Namespace: cmp.Or(t.namespace, policy.key.Namespace), Name: t.name}, left: true})
		}
	}
}

// failClosed makes an object fail closed. The parameter because names the refused object or field that is the
// reason. All rules of an HTTPRoute answer 500, and those of a GRPCRoute UNAVAILABLE. If section is the name of
// some of the rules, only these change (closeRules). Other routes, Gateways, ListenerSets, Services and
// Backends are left out of the import. failClosed does nothing for other kinds, and for objects that are closed
// or left out already.
func (o *Objects) failClosed(object *item, section, because string) {
	switch {
	case object.left || object.closed:
	case object.is("HTTPRoute", "GRPCRoute"):
		o.closeRules(object, section, because)
	case object.isRoute():
		o.refuse(object, "left out: "+because+" is refused, and connections cannot be answered with an error")
		o.shutNeighbours(object)
	case object.is("Gateway", "ListenerSet"), object.isCore("Service"), object.key.Group == api.Group && object.key.Kind == api.KindBackend:
		o.refuse(object, "left out: "+because+" is refused")
		o.shutUsers(object)
	}
}

// closeRules removes everything except name and matches from the rules of a route. Envoy then answers 500 for
// these rules (UNAVAILABLE for a GRPCRoute), and no other rule gets their requests. If section is the name of
// some rules, it changes only these rules, otherwise all. Child routes of the route fail closed, too.
func (o *Objects) closeRules(route *item, section, because string) {
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
	o.protecting(route.place, route.name(), "answers 500: "+because+" is refused", "", fields...)
	// Children of this route would be served without its policies.
	for _, child := range o.objects {
		for _, ref := range list(child.spec()["parentRefs"]) {
			if child != route && text(at(ref, "kind")) == "HTTPRoute" && text(at(ref, "name")) == route.key.Name &&
				cmp.Or(text(at(ref, "namespace")), child.key.Namespace) == route.key.Namespace {
				o.failClosed(child, "", route.name())
			}
		}
	}
}

// shutNeighbours leaves out TCPRoutes, TLSRoutes and UDPRoutes that have a parent of the same name as a parent
// of the route. Otherwise they would get the connections of the route.
func (o *Objects) shutNeighbours(route *item) {
	for _, other := range o.objects {
		if other.left || !other.isRoute() || other.is("HTTPRoute", "GRPCRoute") {
			continue
		}
		for _, ref := range list(other.spec()["parentRefs"]) {
			for _, mine := range list(route.spec()["parentRefs"]) {
				if !other.left && text(at(ref, "name")) == text(at(mine, "name")) {
					o.refuse(other, "left out: it would get the connections of "+route.name())
				}
			}
		}
	}
}

// refuse leaves out an object that may protect requests, and adds a verdict. It does not change the objects
// that refer to this object: the caller or Settle must make them fail closed.
func (o *Objects) refuse(object *item, message string) {
	object.left = true
	o.gone[object.key] = true
	o.protecting(object.place, object.name(), message, "")
}

// shutUsers makes routes fail closed if their rules refer to a removed object. It also removes the object from
// the parentRefs of routes, and leaves out the ListenerSets of a removed Gateway.
func (o *Objects) shutUsers(gone *item) {
	for _, user := range o.objects {
		switch {
		case user.left:
		case user.isRoute():
			o.leaveParents(user, gone)
			o.shutReferring(user, gone)
		case user.is("ListenerSet") && o.names(user, at(user.spec(), "parentRef"), gone):
			o.failClosed(user, "", gone.name())
		}
	}
}

// leaveParents removes a parent that no longer exists from a route. It leaves out a route that has no other
// parent.
func (o *Objects) leaveParents(route, gone *item) {
	refs := list(route.spec()["parentRefs"])
	kept := slices.DeleteFunc(slices.Clone(refs), func(ref any) bool { return o.names(route, ref, gone) })
	if len(kept) == len(refs) {
		return
	}
	route.spec()["parentRefs"] = kept
	o.add(Refused, route.place, route.name(), "the parent "+gone.name()+" is left out", "spec.parentRefs")
	if len(kept) == 0 {
		delete(route.spec(), "parentRefs")
		o.refuse(route, "left out: it has no other parent")
	}
}

// shutReferring makes a route fail closed if one of its rules refers to a removed object, the parameter gone.
// It does nothing for a removed Gateway or ListenerSet.
func (o *Objects) shutReferring(route, gone *item) {
	if gone.is("Gateway", "ListenerSet") || route.left {
		return
	}
	found := false
	references(map[string]any{"rules": route.spec()["rules"]}, func(ref map[string]any) {
		found = found || o.names(route, ref, gone)
	})
	if found {
		o.failClosed(route, "", gone.name())
	}
}

// names reports whether ref, a reference in one object (from), names another object (to). A reference without a
// kind matches an object of any kind. Groups are not compared.
func (o *Objects) names(from *item, ref any, to *item) bool {
	kind := text(at(ref, "kind"))
	return text(at(ref, "name")) == to.key.Name && (kind == "" || kind == to.key.Kind) &&
		cmp.Or(text(at(ref, "namespace")), from.key.Namespace) == to.key.Namespace
}

// refusePolicy leaves out a policy or extension, and makes its targets fail closed. If a target cannot be read,
// the import is blocked. Policies that refer to the object are refused in the same way. Routes that refer to
// the object fail closed.
func (o *Objects) refusePolicy(policy *item, message string, fields ...string) {
	policy.left = true
	o.gone[policy.key] = true
	o.protecting(policy.place, policy.name(), message, "write it in another way, or leave it out with --accept "+policy.name(), fields...)
	targets, lost := targetsOf(policy.spec())
	if lost {
		o.block(policy.place, policy.name(), "its targets cannot be read", "")
	}
	o.closeTargets(policy, targets)
	for _, user := range o.objects {
		if user.left || user == policy {
			continue
		}
		named := false
		references(user.spec(), func(ref map[string]any) {
			named = named || text(ref["kind"]) == policy.key.Kind && o.names(user, ref, policy) || policy.key.Kind == api.KindGatewayExtension && o.names(user, ref, policy)
		})
		switch {
		case !named:
		case user.isPolicy():
			o.refusePolicy(user, policy.name()+" is refused")
		case user.isRoute():
			o.failClosed(user, "", policy.name())
		}
	}
}

// Settle makes the objects with errors from validate fail closed, or leaves them out. The function hangs
// reports whether a problem with a code may be about an object outside the input. changed is true if an object
// changed: then validate must run again.
func (o *Objects) Settle(problems []manifest.Problem, hangs func(code string) bool) (changed bool) {
	// Only one problem of an object is handled at a time, because a change invalidates the fields of its other
	// problems.
	settled := map[*item]bool{}
	for _, p := range problems {
		object := o.find(p.Object)
		if p.Severity == manifest.Error && object != nil && !object.left && !settled[object] {
			settled[object] = o.settle(object, p, hangs(p.Code))
			changed = changed || settled[object]
		}
	}
	return changed
}

// settle makes an object with a problem fail closed, or leaves the object out. The parameter hangs is what the
// function hangs of Settle returns for the problem. changed is false if the object stays as it is.
func (o *Objects) settle(object *item, p manifest.Problem, hangs bool) (changed bool) {
	words := p.Code + ": " + p.Message
	switch {
	case p.Code == "TargetNotFound":
		return o.leaveTarget(object, p)
	case hangs:
		return o.settleReference(object, p)
	case object.isPolicy(), object.key.Group == api.Group && object.key.Kind == api.KindGatewayExtension:
		o.refusePolicy(object, words, fieldsOf(p)...)
	case object.is("HTTPRoute", "GRPCRoute"):
		if object.closed {
			o.block(object.place, object.name(), "it cannot be closed: "+words, "correct it in the input, or leave it out with --accept "+object.name(), fieldsOf(p)...)
			object.left = true
			return true
		}
		o.add(Refused, object.place, object.name(), words, fieldsOf(p)...).Hint = p.Hint
		o.closeRules(object, "", cmp.Or(p.Field, "the route"))
		object.closed = true
	default:
		o.failClosed(object, "", words)
		if !object.left {
			o.refuse(object, words)
		}
	}
	return true
}

// fieldsOf returns the field of a problem as a list. It returns nil if the problem has no field.
func fieldsOf(p manifest.Problem) []string {
	if p.Field == "" {
		return nil
	}
	return []string{p.Field}
}

// leaveTarget removes a target that does not exist from a policy. A policy without another target is left out,
// because it protects nothing. It returns false if the problem is not about an entry of spec.targetRefs.
func (o *Objects) leaveTarget(policy *item, p manifest.Problem) bool {
	refs := list(policy.spec()["targetRefs"])
	i := index(p.Field, "spec.targetRefs")
	if i < 0 || i >= len(refs) {
		return false
	}
	o.add(Different, policy.place, policy.name(), "a target is not among the files: "+p.Message, p.Field)
	if len(refs) == 1 {
		policy.left = true
		return true
	}
	policy.spec()["targetRefs"] = slices.Delete(slices.Clone(refs), i, i+1)
	return true
}

// settleReference makes an object fail closed if the field of the problem refers to a refused object. A route
// that names a refused object as parent loses the parent instead. It returns false if it changes nothing: the
// object is closed already, or the reference is to an object outside the input. Such a reference stays:
// gatefold answers an error until that object exists.
func (o *Objects) settleReference(object *item, p manifest.Problem) bool {
	_, ref := lookup(object.fields, parse(p.Field))
	for key := range o.gone {
		gone := o.find(key)
		if ref == nil || gone == nil || !o.names(object, ref, gone) {
			continue
		}
		switch {
		case object.isPolicy(), object.key.Kind == api.KindGatewayExtension:
			o.refusePolicy(object, gone.name()+" is refused")
		case object.isRoute() && index(p.Field, "spec.parentRefs") >= 0:
			o.leaveParents(object, gone)
		case object.closed:
			return false
		default:
			o.failClosed(object, "", gone.name())
			if !object.left && !object.closed {
				o.refuse(object, gone.name()+" is refused")
			}
		}
		return true
	}
	return false
}
