package translate

import (
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/route"
)

// childrenOut has the status and the problems of a route as the child of other routes.
type childrenOut struct {
	// Parents are the entries of the route's status for its parent routes.
	Parents  []gwv1.RouteParentStatus
	Problems []manifest.Problem
}

type childIn struct {
	*hintRules
	bindings *memo.Fold[manifest.Key, linkKey, *bindingOf, ordered.Set[*bindingOf]]
	graft    *memo.Rule[flatKey, *graftOut]
	admitted *memo.Rule[manifest.Key, *attachOut]
	routes   *objects
}

// childRules build the status entries and problems of routes below other routes.
type childRules struct {
	in       childIn
	children *memo.Rule[manifest.Key, *childrenOut]
}

func newChildRules(e *memo.Engine, in childIn) *childRules {
	r := &childRules{in: in}
	r.children = memo.NewRule(e, "children", r.runChildren, deepEqual)
	memo.EachOf(r.children, in.routes, belowRoutes)
	return r
}

func (r *childRules) report(all *problemFold) {
	problemsFrom(all, "children", r.children, func(l *childrenOut) []manifest.Problem { return l.Problems })
}

// belowRoutes returns the key of an HTTPRoute that may be below other routes: one that has no parentRefs, or
// whose parentRefs name a route. It returns nil for any other route, and for other kinds.
func belowRoutes(key manifest.Key, o *manifest.Object) []manifest.Key {
	from, ok := manifest.As[*api.HTTPRoute](o)
	if !ok || len(from.Spec.ParentRefs) > 0 && len(route.ParentRoutes(o)) == 0 {
		return nil
	}
	return []manifest.Key{key}
}

// mayHaveParentRoutes reports whether a route's status can have entries for parent routes. It is also true for a
// route with parentRefs to Gateways only, if another route selects it as a child (for example, by name).
func (r *childRules) mayHaveParentRoutes(c *memo.Ctx, o *manifest.Object) bool {
	bindings, _ := r.in.bindings.Get(c, o.Key)
	return bindings.Len() > 0 || len(belowRoutes(o.Key, o)) > 0
}

func (r *childRules) runChildren(c *memo.Ctx, key manifest.Key) *childrenOut {
	object, ok := r.in.routes.Get(c, key)
	if !ok {
		return &childrenOut{}
	}
	out, entries := &childrenOut{}, r.childEntries(c, object)
	for _, entry := range entries {
		out.Parents = append(out.Parents, entry.status(object.Value.GetGeneration()))
	}
	if len(belowRoutes(key, object)) > 0 {
		out.Problems = r.childProblems(c, object, entries)
	}
	return out
}

// childProblems returns the problems that a route has as the child of other routes. The parameter entries has the
// route's status entries for its parents. If there are none but those of parents that must not delegate here
// (BindingRejection.Foreign), the only problem is the warning that no route
// delegates to this route (see the function nowhere). Otherwise childProblems reports the entries that are
// rejections:
//   - as an error, if a parentRef of the route names the parent;
//   - as an error, if the route has no parentRefs, and no parent accepts the route;
//   - as a warning, if the route has no parentRefs, this parent names the route, and another parent accepts the
//     route.
//
// Other rejections are not reported. A rejection is also not reported if another problem already reports it
// (Reported). Further warnings come from besideProblems and missedEverywhere.
func (r *childRules) childProblems(c *memo.Ctx, object *manifest.Object, entries []childEntry) []manifest.Problem {
	key := object.Key
	stands := slices.ContainsFunc(entries, func(e childEntry) bool { return e.Accepted.Reason == "" })
	from, _ := manifest.As[*api.HTTPRoute](object)
	if !slices.ContainsFunc(entries, func(e childEntry) bool { return !e.Accepted.Foreign }) {
		if route.Read(object).AsksForDefaults {
			return nil // the field has a warning
		}
		return []manifest.Problem{nowhere(key, from.Labels)}
	}
	var out []manifest.Problem
	for _, e := range entries {
		switch {
		case e.Accepted.Reported, e.Accepted.Foreign:
		case e.Accepted.Reason == "":
			out = e.besideProblems(out, key)
		case e.Index >= 0, !stands && len(from.Spec.ParentRefs) == 0:
			out = append(out, e.problem(key, e.Accepted, manifest.Error))
		case e.Named && len(from.Spec.ParentRefs) == 0:
			out = append(out, e.problem(key, e.Accepted, manifest.Warning))
		}
	}
	if stands && len(r.in.admitted.Get(c, key).Ports) == 0 {
		out = missedEverywhere(out, key, r.boundTo(c, key))
	}
	return out
}

// handedOn returns the verdict for the condition ResolvedRefs of a root route (key): whether each delegating rule
// of the root finds a route. The parameter mount has the ports that the root serves on, and the root's rules for
// each port. Each port with delegating rules has a verdict (see graftOut.resolved). The result is the first bad
// verdict. If all verdicts are good, the result is the last verdict.
//
// A verdict can be good although a delegating rule rejects some routes, if the rule also accepts a route. The
// message of the verdict then names the rejected routes.
func (r *childRules) handedOn(c *memo.Ctx, key manifest.Key, mount *mountOut) manifest.Verdict[gwv1.RouteConditionReason] {
	var out manifest.Verdict[gwv1.RouteConditionReason]
	for _, port := range mount.Attach.Ports {
		if len(mount.flat(port).Points) > 0 {
			if out = r.in.graft.Get(c, flatKey{Route: key, Port: port}).resolved(); !out.Good() {
				return out
			}
		}
	}
	return out
}

// childEntries returns the status entries of a route for its parent routes, accepted or rejected
// (docs/design/routes.md). The parents are the routes that the object's parentRefs name, and the routes that
// select the object.
func (r *childRules) childEntries(c *memo.Ctx, object *manifest.Object) []childEntry {
	var out []childEntry
	bound := r.boundTo(c, object.Key)
	from, _ := manifest.As[*api.HTTPRoute](object)
	named := map[manifest.Key][]string{} // sectionNames of the parentRefs, by parent
	for _, ref := range route.ParentRoutes(object) {
		if slices.Contains(named[ref.Key], ref.Section) {
			continue
		}
		named[ref.Key] = append(named[ref.Key], ref.Section)
		entry := childEntry{Ref: from.Spec.ParentRefs[ref.Index], Index: ref.Index, Parent: ref.Key}
		if bindings := of(bound, ref.Key); len(bindings) > 0 {
			entry.join(bindings, func(section string) bool { return ref.Section == "" || section == ref.Section }, ref.Section)
		} else {
			entry.Accepted = r.unbound(c, ref, bound)
		}
		out = append(out, entry)
	}
	foreign := 0
	for len(bound) > 0 {
		parent := bound[0].Parent
		bindings := of(bound, parent)
		bound = bound[len(bindings):]
		group, kind, namespace := gwv1.Group(parent.Group), gwv1.Kind(parent.Kind), gwv1.Namespace(parent.Namespace)
		entry := childEntry{Index: -1, Parent: parent,
			Ref: gwv1.ParentReference{Group: &group, Kind: &kind, Namespace: &namespace, Name: gwv1.ObjectName(parent.Name)}}
		unnamed := func(section string) bool { return !slices.Contains(named[parent], section) }
		if len(named[parent]) == 0 || unnamed("") && entry.concerned(bindings, unnamed) {
			entry.Named = slices.ContainsFunc(bindings, func(b *bindingOf) bool { return b.Named })
			entry.join(bindings, unnamed, "")
			if entry.Accepted.Foreign {
				foreign++
			}
			if foreign <= maxForeign || !entry.Accepted.Foreign {
				out = append(out, entry)
			}
		}
	}
	return out
}

// maxForeign is how many parents that must not delegate to a route (BindingRejection.Foreign) its status names. Any
// team can write such parents.
const maxForeign = 16

// boundTo returns the bindings of a route (key), sorted by parent: the results for the route as a child of other
// routes (see bindingOut). The route can have several bindings for the same parent: one for each port of the parent,
// and for each chain of routes above the parent.
func (r *childRules) boundTo(c *memo.Ctx, key manifest.Key) []*bindingOf {
	bindings, _ := r.in.bindings.Get(c, key)
	return slices.AppendSeq(make([]*bindingOf, 0, bindings.Len()), bindings.All())
}

// unbound returns the rejection for a parentRef (ref) of a child that has no binding for that parent (see
// bindingOut). There are three reasons: the parent does not exist, the parent itself is not served, or no rule of the
// parent selects or admits the child. The parameter bound has the child's bindings for other parents. If the parent
// does not exist, and another parent in bound has the same name in another namespace, the hint suggests that other
// parent.
func (r *childRules) unbound(c *memo.Ctx, ref route.ParentRoute, bound []*bindingOf) route.BindingRejection {
	out := route.BindingRejection{Reason: gwv1.RouteReasonNoMatchingParent}
	if _, ok := r.in.routes.Get(c, ref.Key); !ok {
		absent := r.in.absent(c, ref.Key, "parentRef")
		out.Message, out.Hint = absent.Message, absent.Hint
		for _, b := range bound { // a parent that selects the route is probably the intended one
			if b.Parent.Name == ref.Key.Name {
				out.Hint = fmt.Sprintf("%s hands requests to this route: add namespace: %s to the parentRef", b.Parent, b.Parent.Namespace)
			}
		}
		return out
	}
	above, _ := r.in.bindings.Get(c, ref.Key)
	switch {
	case r.serves(c, ref.Key):
		return route.NotAllowed(ref.Key)
	case above.Len() > 0:
		out.Message, out.Hint = ref.Key.String()+" is rejected itself, and delegates nothing", "fix that route: gatefold status says why it is rejected"
	default:
		out.Message, out.Hint = ref.Key.String()+" serves nowhere itself", "attach it to a Gateway, or to an HTTPRoute that serves"
	}
	return out
}

// serves reports whether a route is attached to a Gateway, or accepted below another route.
func (r *childRules) serves(c *memo.Ctx, key manifest.Key) bool {
	if len(r.in.admitted.Get(c, key).Ports) > 0 {
		return true
	}
	bindings, _ := r.in.bindings.Get(c, key)
	for b := range bindings.All() {
		if len(b.Sections) > 0 {
			return true
		}
	}
	return false
}
