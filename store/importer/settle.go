package importer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
)

// Settle handles the errors that validate reports: the objects with errors fail closed, are left out, or lose a
// reference. The parameter external is a function. It reports whether a problem with the given code may be solved by
// an object outside of the input. Settle ignores such a problem, with two exceptions: a target of a policy is
// missing, or the problem is about a reference to an object that the import itself has left out (closing.gone). If
// changed is true, the caller must validate again.
func (o *Objects) Settle(problems []manifest.Problem, external func(code string) bool) (changed bool) {
	s := &settling{report: o.report, closing: o.closing}
	// Only one problem of an object is handled at a time, because a change invalidates the fields of its other
	// problems.
	settled := map[*item]bool{}
	for _, p := range problems {
		object := o.objects.find(p.Object)
		if p.Severity == manifest.Error && object != nil && !object.left && !settled[object] {
			settled[object] = s.settle(object, p, external(p.Code))
			changed = changed || settled[object]
		}
	}
	return changed
}

// settling is one call of Settle. Its methods change the objects in which validate found problems.
type settling struct {
	*report
	closing *closing
}

// settle handles one problem p that validate found in an object: the object fails closed, is left out, or loses the
// reference that p is about. The parameter external is true if an object outside of the input may solve the problem
// (see Settle). The result changed is false if the object stays as it was.
func (s *settling) settle(object *item, p manifest.Problem, external bool) (changed bool) {
	words := p.Code + ": " + p.Message
	switch {
	case p.Code == "TargetNotFound":
		return leaveTarget(s.report, object, p)
	case external:
		return s.settleReference(object, p)
	case p.Code == schema.NotServed && schema.ProtectsNothing(object.key.Kind, p.Field):
		s.leaveField(object, p)
	case object.key.Kind == api.KindTrafficPolicy && schema.SetsNothing(object.spec()):
		s.add(Different, object.place, object.name(), "left out, it sets nothing", p.Field)
		object.left = true
	case object.isPolicy():
		s.closing.refusePart(object, words, p.Field)
	case object.key.Group == api.Group && object.key.Kind == api.KindGatewayExtension:
		s.closing.refusePolicy(object, words, fieldOf(p.Field)...)
	case object.is("HTTPRoute", "GRPCRoute"):
		if object.closed {
			s.block(object.place, object.name(), "it cannot be closed: "+words, "correct it in the input, or leave it out with --accept "+object.name(), fieldOf(p.Field)...)
			object.left = true
			return true
		}
		s.add(Refused, object.place, object.name(), words, fieldOf(p.Field)...).Hint = p.Hint
		because := cmp.Or(p.Field, "the route")
		s.closing.becauseOf(because, words)
		s.closing.closeRules(object, "", because)
		object.closed = true
	default:
		s.closing.failClosed(object, "", words)
		if !object.left {
			s.closing.refuse(object, words)
		}
	}
	return true
}

// leaveField removes a field that gatefold does not serve, and that protects nothing. It also removes the fields above it
// that are empty without it.
func (s *settling) leaveField(object *item, p manifest.Problem) {
	steps := parse(p.Field)
	remove(object.fields, steps)
	for n := len(steps) - 1; n > 1; n-- {
		above, _ := lookup(object.fields, steps[:n])
		if fields, ok := above.(map[string]any); !ok || len(fields) > 0 {
			break
		}
		remove(object.fields, steps[:n])
	}
	s.add(Different, object.place, object.name(), "left out, it protects nothing: "+strings.TrimPrefix(p.Hint, "remove it: "), p.Field)
}

// leaveTarget removes a target that does not exist from the targetRefs of a policy. If the policy has no other
// targetRefs and no targetSelectors, the policy is left out, because it protects nothing. leaveTarget returns
// false, and changes nothing, if the problem is not about an entry of spec.targetRefs.
func leaveTarget(r *report, policy *item, p manifest.Problem) bool {
	refs := list(policy.spec()["targetRefs"])
	i := index(p.Field, "spec.targetRefs")
	if i < 0 || i >= len(refs) {
		return false
	}
	r.add(Different, policy.place, policy.name(), "a target is not among the files: "+p.Message, p.Field)
	switch {
	case len(refs) > 1:
		policy.spec()["targetRefs"] = slices.Delete(slices.Clone(refs), i, i+1)
	case len(list(policy.spec()["targetSelectors"])) > 0:
		delete(policy.spec(), "targetRefs")
	default:
		policy.left = true
	}
	return true
}

// settleReference handles a problem p that would not exist if an object outside of the input were there. The field of
// p is usually a reference to a missing object. settleReference returns false if it changes nothing.
//
// If the import itself did not leave out the missing object (closing.gone), nothing changes: gatefold answers an
// error until that object exists. If the import left it out, the first of these rules that applies decides:
//   - A policy or GatewayExtension with the reference is left out, and its targets fail closed.
//   - A route loses the parent, if the field is one of the route's parentRefs.
//   - An object that already answers an error to all requests (item.closed) does not change.
//   - An HTTPRoute or GRPCRoute fails closed: its rules answer an error. An object of another kind is left out.
func (s *settling) settleReference(object *item, p manifest.Problem) bool {
	_, ref := lookup(object.fields, parse(p.Field))
	gone := s.closing.removed(object, ref)
	if gone == nil {
		return false
	}
	switch {
	case object.isPolicy():
		s.closing.refusePart(object, gone.name()+" is refused", p.Field)
	case object.key.Kind == api.KindGatewayExtension:
		s.closing.refusePolicy(object, gone.name()+" is refused")
	case object.isRoute() && index(p.Field, "spec.parentRefs") >= 0:
		s.closing.leaveParents(object, gone)
	case object.closed:
		return false
	default:
		s.closing.failClosed(object, "", gone.name())
		if !object.left && !object.closed {
			s.closing.refuse(object, gone.name()+" is refused")
		}
	}
	return true
}
