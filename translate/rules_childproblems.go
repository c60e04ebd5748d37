package translate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

// childrenOut is what a route comes to below others.
type childrenOut struct {
	// Parents are the entries of its status for routes above it.
	Parents  []gwv1.RouteParentStatus
	Problems []manifest.Problem
}

type childIn struct {
	*hintRules
	*graftRules
	admitted *memo.Rule[manifest.Key, *attachOut]
	routes   *objects
}

// childRules say what routes have come to below others.
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

// belowRoutes names a route that stands below others if anywhere.
func belowRoutes(key manifest.Key, o *manifest.Object) []manifest.Key {
	from, ok := manifest.As[*api.HTTPRoute](o)
	if !ok || len(from.Spec.ParentRefs) > 0 && len(route.ParentRoutes(o)) == 0 {
		return nil
	}
	return []manifest.Key{key}
}

// mayStandBelow reports whether a route has entries for routes above it: a root has,
// when one asks for it by name.
func (r *childRules) mayStandBelow(c *memo.Ctx, o *manifest.Object) bool {
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

// childProblems tells the owner of a route what is refused of it by the routes
// above: what its own parentRefs asked for, all of it when it names no parent
// and none takes it, and matches that stand nowhere. That a parent which looks
// for all of a namespace or label leaves it alone while another takes it is
// nothing to mend.
func (r *childRules) childProblems(c *memo.Ctx, object *manifest.Object, entries []childEntry) []manifest.Problem {
	key := object.Key
	stands := slices.ContainsFunc(entries, func(e childEntry) bool { return e.Accepted.Reason == "" })
	from, _ := manifest.As[*api.HTTPRoute](object)
	if len(entries) == 0 {
		return []manifest.Problem{nowhere(key, from.Labels)}
	}
	var out []manifest.Problem
	for _, e := range entries {
		switch {
		case e.Accepted.Told:
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

// nowhere warns of a route that no Gateway and no route leads to.
func nowhere(key manifest.Key, labels map[string]string) manifest.Problem {
	problem := manifest.Problem{
		Code: "ServesNowhere", Severity: manifest.Warning, Object: key, Field: "spec",
		Message: "this route is never reached: it has no parentRefs, and no route that serves delegates to it",
		Hint:    "add a parentRef to a Gateway, or name it in the backendRefs of an HTTPRoute that serves",
	}
	if value, ok := labels[route.DelegationLabel]; ok {
		problem.Hint = fmt.Sprintf("no rule that serves looks for the label %s: %s in this namespace; correct either side", route.DelegationLabel, value)
		return problem
	}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if strings.HasPrefix(name, "delegation.kgateway.dev/") {
			problem.Hint = fmt.Sprintf("the label by which routes are found is %s, not %s", route.DelegationLabel, name)
		}
	}
	return problem
}

// problem tells of a refusal at the field to mend.
func (e *childEntry) problem(key manifest.Key, why route.Refusal, severity manifest.Severity) manifest.Problem {
	problem := manifest.Problem{Code: string(why.Reason), Severity: severity, Object: key, Field: why.Field, Message: why.Message, Hint: why.Hint}
	if reasonBound(why.Reason) {
		problem.Cause = listen.Bound{Namespace: manifest.Key{Kind: "Namespace", Name: key.Namespace}}.Cause()
	}
	if why.Field == "" {
		problem.Field = "spec"
		if e.Index >= 0 {
			problem.Field = fmt.Sprintf("spec.parentRefs[%d]", e.Index)
		}
	}
	if e.Index < 0 {
		problem.Message = "this route is never reached from " + e.Parent.String() + ": " + problem.Message
	}
	return problem
}

// besideProblems warns of rules that refuse a route which others of the same
// parent take.
func (e *childEntry) besideProblems(out []manifest.Problem, key manifest.Key) []manifest.Problem {
	for _, why := range e.beside {
		if why.Unfit || why.Told {
			continue
		}
		why.Message = why.InWords()
		out = append(out, e.problem(key, why, manifest.Warning))
	}
	return out
}

// missedEverywhere warns of matches that stand under none of the parents that
// take others of the route.
func missedEverywhere(out []manifest.Problem, key manifest.Key, bound []*bindingOf) []manifest.Problem {
	bound = slices.DeleteFunc(bound, func(b *bindingOf) bool { return len(b.Sections) == 0 })
	if len(bound) == 0 {
		return out
	}
	for _, miss := range bound[0].Missed {
		everywhere := !slices.ContainsFunc(bound, func(b *bindingOf) bool {
			return !slices.ContainsFunc(b.Missed, func(m route.Miss) bool { return m.Field == miss.Field })
		})
		if everywhere {
			out = append(out, manifest.Problem{
				Code: "UnsupportedValue", Severity: manifest.Warning, Object: key, Field: miss.Field,
				Message: "this match is never reached: " + miss.Why, Hint: hintSuperset,
			})
		}
	}
	return out
}
