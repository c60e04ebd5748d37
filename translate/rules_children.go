package translate

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/status"
)

// handedOn says whether the rules of a root that hand requests to other routes
// find any.
func (n *network) handedOn(c *memo.Ctx, key store.Key, mount *mountOut) listen.Verdict[gwv1.RouteConditionReason] {
	for _, port := range mount.Attach.Ports {
		if len(mount.Flat[port].Points) > 0 {
			if unresolved := n.graft.Get(c, flatKey{Route: key, Port: port}).Unresolved; !unresolved.Good() {
				return unresolved
			}
		}
	}
	return listen.Verdict[gwv1.RouteConditionReason]{}
}

// childParents gives the entries of a route's status for the routes above it,
// used or refused (design section 5): those that asked for it, and those that
// its own parentRefs name.
func (n *network) childParents(c *memo.Ctx, object *store.Object) []gwv1.RouteParentStatus {
	var out []gwv1.RouteParentStatus
	seen := map[store.Key]bool{}
	bindings, _ := n.bindings.Get(c, object.Key)
	for _, best := range bestBindings(bindings) {
		seen[best.Parent] = true
		out = append(out, childParent(best, object.Value.GetGeneration()))
	}
	for _, ref := range route.ParentRoutes(object) {
		if !seen[ref.Key] {
			seen[ref.Key] = true
			out = append(out, childParent(n.unbound(c, ref), object.Value.GetGeneration()))
		}
	}
	return out
}

// bestBindings gives one binding for each parent, which may stand on several
// ports and below several chains: a used one before a refused one.
func bestBindings(bindings memo.Ordered[*bindingOf]) []*bindingOut {
	var out []*bindingOut
	for b := range bindings.All() {
		last := len(out) - 1
		switch {
		case last < 0 || out[last].Parent != b.Parent:
			out = append(out, b.bindingOut)
		case out[last].Accepted.Reason != "" && b.Accepted.Reason == "":
			out[last] = b.bindingOut
		}
	}
	return out
}

// unbound is the binding to a parent that has none for the route.
func (n *network) unbound(c *memo.Ctx, ref route.ParentRoute) *bindingOut {
	out := &bindingOut{Parent: ref.Key, Accepted: route.NotAllowed(ref.Key)}
	if _, ok := n.in.httpRoutes.Get(c, ref.Key); !ok {
		out.Accepted = route.Refusal{Reason: gwv1.RouteReasonNoMatchingParent, Message: ref.Key.String() + " does not exist",
			Hint: "create it, mend it if it is listed with a problem, or correct the name or namespace of the parentRef"}
	} else if !n.standing(c, ref.Key) {
		out.Accepted = route.Refusal{Reason: gwv1.RouteReasonNoMatchingParent, Message: ref.Key.String() + " serves nowhere itself",
			Hint: "attach it to a Gateway, or to an HTTPRoute that serves"}
	}
	return out
}

// standing tells whether a route is attached to a Gateway or stands under a route.
func (n *network) standing(c *memo.Ctx, key store.Key) bool {
	if len(n.attach.Get(c, key).Ports) > 0 {
		return true
	}
	bindings, _ := n.bindings.Get(c, key)
	return slices.ContainsFunc(bestBindings(bindings), func(b *bindingOut) bool { return b.Accepted.Reason == "" })
}

func childParent(b *bindingOut, generation int64) gwv1.RouteParentStatus {
	group, kind, namespace := gwv1.Group(b.Parent.Group), gwv1.Kind(b.Parent.Kind), gwv1.Namespace(b.Parent.Namespace)
	accepted := listen.Verdict[gwv1.RouteConditionReason]{Reason: b.Accepted.Reason, Message: b.Accepted.Message}
	conditions := []metav1.Condition{
		status.RouteAccepted(generation, accepted),
		status.RouteResolvedRefs(generation, b.Resolved),
	}
	if accepted.Good() && b.Partially != "" {
		conditions = append(conditions, status.RoutePartiallyInvalid(generation, b.Partially))
	}
	return gwv1.RouteParentStatus{
		ParentRef: gwv1.ParentReference{
			Group: &group, Kind: &kind, Namespace: &namespace, Name: gwv1.ObjectName(b.Parent.Name),
		},
		ControllerName: status.ControllerName, Conditions: conditions,
	}
}

// childProblems are the refusals that a route's own parentRefs asked for.
func (n *network) childProblems(c *memo.Ctx, key store.Key) []store.Problem {
	object, ok := n.in.httpRoutes.Get(c, key)
	if !ok {
		return nil
	}
	var out []store.Problem
	bindings, _ := n.bindings.Get(c, key)
	best := map[store.Key]*bindingOut{}
	for _, b := range bestBindings(bindings) {
		best[b.Parent] = b
	}
	for _, ref := range route.ParentRoutes(object) {
		b := best[ref.Key]
		if b == nil {
			b = n.unbound(c, ref)
		}
		switch {
		case b.Accepted.Reason != "":
			out = append(out, parentProblem(key, ref.Index, string(b.Accepted.Reason), b.Accepted.Message, b.Accepted.Hint))
		case ref.Section != "" && !slices.Contains(b.Sections, ref.Section):
			out = append(out, parentProblem(key, ref.Index, string(route.ReasonNotAllowedByParent),
				fmt.Sprintf("no rule named %s of %s leads here; the route stands under others", ref.Section, ref.Key),
				"correct the sectionName, or take the parentRef out"))
		}
	}
	return out
}
