package translate

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/status"
)

// outcome is the result for a route of any kind, from which its status is built.
type outcome struct {
	Attach *attachOut
	// Whole is true if the route is rejected as a whole, because no rule works as it is written. Unsupported says
	// which fields do not work.
	// Closed has, by Gateway, the reason why the route, or a part of it, is not served there (see placed.Closed).
	Whole       bool
	Unsupported []string
	Closed      map[string]string
	Resolved    manifest.Verdict[gwv1.RouteConditionReason]
	// Lost is for a TCPRoute, TLSRoute or UDPRoute. It has, by listener, messages about connections (ir.Stream) that
	// go to an older route, although this route selects them, too.
	Lost map[listenerKey][]string
}

type routeStatusIn struct {
	*childRules
	mount  *memo.Rule[manifest.Key, *mountOut]
	stream *memo.Rule[manifest.Key, *streamOut]
	losses *memo.Fold[manifest.Key, lossKey, *loss, ordered.Set[*loss]]
	routes *objects
}

// routeStatusRules build the statuses of routes.
type routeStatusRules struct {
	in          routeStatusIn
	sound       *memo.Rule[int64, []metav1.Condition]
	routeStatus *memo.Rule[manifest.Key, *status.Update]
}

func newRouteStatusRules(e *memo.Engine, in routeStatusIn) *routeStatusRules {
	r := &routeStatusRules{in: in}
	r.sound = memo.NewRule(e, "sound", soundConditions, deepEqual)
	r.routeStatus = memo.NewRule(e, "routestatus", r.runRouteStatus, deepEqual)
	memo.Each(r.routeStatus, in.routes)
	return r
}

// outcome returns the outcome of a route, which the rules for the route's kind compute.
func (r *routeStatusRules) outcome(c *memo.Ctx, key manifest.Key) outcome {
	if route.IsStream(key) {
		return r.streamOutcome(c, key)
	}
	mount := r.in.mount.Get(c, key)
	flat := mount.anyFlat()
	return outcome{
		Attach: mount.Attach, Whole: flat.Whole, Unsupported: flat.Unsupported, Closed: mount.placed.Closed,
		Resolved: flat.unresolved().And(r.in.handedOn(c, key, mount)),
	}
}

// runRouteStatus returns the status of a route, with an entry for each parentRef in attachOut.Parents and for
// each parent route. It returns nil if the route does not exist, or if there is no entry.
func (r *routeStatusRules) runRouteStatus(c *memo.Ctx, key manifest.Key) *status.Update {
	object, ok := r.in.routes.Get(c, key)
	if !ok {
		return nil
	}
	generation := object.Value.GetGeneration()
	out, is := &gwv1.RouteStatus{}, r.outcome(c, key)
	for _, parent := range is.Attach.Parents {
		out.Parents = append(out.Parents, gwv1.RouteParentStatus{
			ParentRef: parent.Ref, ControllerName: status.ControllerName, Conditions: r.conditions(c, is, parent, generation),
		})
	}
	if r.in.mayHaveParentRoutes(c, object) {
		out.Parents = append(out.Parents, r.in.children.Get(c, key).Parents...)
	}
	if len(out.Parents) == 0 {
		return nil
	}
	return &status.Update{Key: key, Generation: generation, Status: out, State: closedIf(is.Whole)}
}

// closedIf returns the state of a valid object that may be closed.
func closedIf(closed bool) status.State {
	if closed {
		return status.Closed
	}
	return status.OK
}

// soundConditions returns the conditions of a route that is accepted and has no problem. They depend only on
// the generation, so that most routes share them.
func soundConditions(_ *memo.Ctx, generation int64) []metav1.Condition {
	none := manifest.Verdict[gwv1.RouteConditionReason]{}
	return []metav1.Condition{status.RouteAccepted(generation, none), status.RouteResolvedRefs(generation, none)}
}

// conditions returns the conditions of a route for one parentRef to a Gateway or ListenerSet.
func (r *routeStatusRules) conditions(c *memo.Ctx, o outcome, parent parentOut, generation int64) []metav1.Condition {
	accepted := parent.Accepted
	if lost := o.lost(parent); accepted.Good() && lost != "" {
		accepted.Message = lost
	}
	if accepted.Good() && o.Whole {
		accepted = manifest.Verdict[gwv1.RouteConditionReason]{Reason: gwv1.RouteReasonUnsupportedValue, Message: route.Several(o.Unsupported)}
	}
	why := o.Unsupported
	if closed := o.Closed[parent.Gateway]; closed != "" {
		why = append(slices.Clone(why), closed)
	}
	if accepted == (manifest.Verdict[gwv1.RouteConditionReason]{}) && o.Resolved == accepted && len(why) == 0 {
		return r.sound.Get(c, generation)
	}
	conditions := []metav1.Condition{
		status.RouteAccepted(generation, accepted),
		status.RouteResolvedRefs(generation, o.Resolved),
	}
	if accepted.Good() && len(why) > 0 {
		conditions = append(conditions, status.RoutePartiallyInvalid(generation, route.Several(why)))
	}
	return conditions
}

// lost returns the messages about connections that an older route gets instead of this route, at the listeners of a
// parentRef (parent). If there are none, the result is "".
func (o outcome) lost(parent parentOut) string {
	var words []string
	for _, name := range parent.Listeners {
		words = append(words, o.Lost[listenerKey{parent.Gateway, name}]...)
	}
	return route.Several(words)
}

// attachedTo yields each listener that a route is attached to. The status of a listener has the number of routes
// for which attachedTo yields it (Gateway API, ListenerStatus.attachedRoutes). The parameter whole is true if the
// route is rejected as a whole, because none of its rules works. attachedTo then yields nothing, because a rejected
// route does not count.
func attachedTo(key manifest.Key, attach *attachOut, whole bool, yield func(memo.Place[listenerKey, manifest.Key], struct{})) {
	if whole {
		return
	}
	seen := map[listenerKey]bool{}
	for _, parent := range attach.Parents {
		for _, name := range parent.Listeners {
			if at := (listenerKey{parent.Gateway, name}); !seen[at] {
				seen[at] = true
				yield(memo.Place[listenerKey, manifest.Key]{Key: at, ID: key}, struct{}{})
			}
		}
	}
}

// streamOutcome returns the outcome of a TCPRoute, TLSRoute or UDPRoute. A route that lost connections to an
// older route is accepted, with a message (Gateway API, conflicts).
func (r *routeStatusRules) streamOutcome(c *memo.Ctx, key manifest.Key) outcome {
	s := r.in.stream.Get(c, key)
	out := outcome{Attach: s.Attach, Resolved: manifest.Verdict[gwv1.RouteConditionReason](s.Unresolved)}
	if access := s.Route.Access; access != nil && access.Closed != "" {
		out.Closed = map[string]string{}
		for _, parent := range s.Attach.Parents {
			out.Closed[parent.Gateway] = access.Closed
		}
	}
	if lost, _ := r.in.losses.Get(c, key); lost.Len() > 0 {
		out.Lost = map[listenerKey][]string{}
		for l := range lost.All() {
			if l.Wins {
				continue
			}
			at := listenerKey{l.Gateway, l.Listener}
			out.Lost[at] = append(out.Lost[at], l.String())
		}
	}
	return out
}
