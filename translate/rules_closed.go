package translate

import (
	"fmt"
	"slices"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/xds"
)

// A route may have a match that cannot be read, or be rejected by its schema. If only that match, or nothing of the
// route, were served, its requests could fall to another route, for example one for all paths of the same hostname. If
// a policy protects the route, that other route may be open. So a closed copy stands in for the whole route.

// servedRoutes has the routes of all kinds as they are served: as they are written, or as closed copies.
type servedRoutes = memo.Fold[manifest.Key, bool, *manifest.Object, *manifest.Object]

type closedIn struct {
	aims            targetRules
	routes          *objects
	listenerSets    *objects
	trafficPolicies *objects
	invalid         *memo.Input[manifest.Key, *store.Invalid]
}

// closedRules decide which routes are served as closed copies.
type closedRules struct {
	in     closedIn
	closed *memo.Rule[manifest.Key, *closedOut]
	served *servedRoutes
}

// closedOut is what is served for a route with a match that cannot be read, or that its schema rejects. Served is nil
// if nothing is.
type closedOut struct {
	Served   *manifest.Object
	Problems []manifest.Problem
}

func newClosedRules(e *memo.Engine, in closedIn) *closedRules {
	r := &closedRules{in: in}
	r.closed = memo.NewRule(e, "closedroute", r.runClosed, deepEqual)
	memo.EachOf(r.closed, in.routes, mayNotBeRead)
	memo.EachOf(r.closed, in.invalid, hasRoute)
	forms := memo.NewFold[manifest.Key, bool](e, "servedforms", gatherForms, servedForms.same)
	memo.From(forms, in.routes, func(key manifest.Key, o *manifest.Object, yield func(memo.Place[manifest.Key, bool], *manifest.Object)) {
		if mayNotBeRead(key, o) == nil {
			yield(memo.Place[manifest.Key, bool]{Key: key, ID: false}, o)
		}
	}, (*manifest.Object).Same)
	memo.From(forms, r.closed, func(key manifest.Key, out *closedOut, yield func(memo.Place[manifest.Key, bool], *manifest.Object)) {
		if out.Served != nil {
			yield(memo.Place[manifest.Key, bool]{Key: key, ID: true}, out.Served)
		}
	}, (*manifest.Object).Same)
	r.served = memo.NewFold[manifest.Key, bool](e, "served", lastMember[bool, *manifest.Object], (*manifest.Object).Same)
	memo.From(r.served, forms, func(key manifest.Key, f servedForms, yield func(memo.Place[manifest.Key, bool], *manifest.Object)) {
		if one := f.served(); one != nil {
			yield(memo.Place[manifest.Key, bool]{Key: key}, one)
		}
	}, (*manifest.Object).Same)
	return r
}

// servedForms has a route as it is written, if each of its matches can be read, and as the rule closedroute has it served.
// The latter may be there still when the former came: an interruption keeps what nobody needs any more.
type servedForms struct{ written, judged *manifest.Object }

func (f servedForms) same(g servedForms) bool {
	same := func(a, b *manifest.Object) bool { return a == b || a != nil && b != nil && a.Same(b) }
	return same(f.written, g.written) && same(f.judged, g.judged)
}

// served returns what is served of the route, nil if nothing is.
func (f servedForms) served() *manifest.Object {
	if f.written != nil {
		return f.written
	}
	return f.judged
}

// gatherForms is the step of the fold of servedForms. The member true is what closedroute says.
func gatherForms(f servedForms, members []memo.Member[bool, *manifest.Object]) servedForms {
	for _, m := range members {
		form := &f.written
		if m.ID {
			form = &f.judged
		}
		if *form = nil; m.Has {
			*form = m.New
		}
	}
	return f
}

func (r *closedRules) report(all *problemFold) {
	problemsFrom(all, "closedroute", r.closed, func(out *closedOut) []manifest.Problem { return out.Problems })
}

// lastMember is the step of a fold whose keys have one member each, of one source.
func lastMember[ID comparable, M any](present M, members []memo.Member[ID, M]) M {
	for _, m := range members {
		if m.Has {
			present = m.New
		}
	}
	return present
}

// mayNotBeRead returns a list with the key of a route that may have a match which cannot be read, and nil for any other
// route. It parses no regular expression, so that a rule can do it, which can be interrupted.
func mayNotBeRead(key manifest.Key, object *manifest.Object) []manifest.Key {
	if object.Closed != nil {
		return nil
	}
	regex := func(v ir.ValueMatch) bool { return v.Regex }
	for _, m := range route.Matches(object) {
		if m.Path.Kind == ir.PathRegex || slices.ContainsFunc(m.Headers, regex) || slices.ContainsFunc(m.Query, regex) || !readMatch(m).Whole {
			return []manifest.Key{key}
		}
	}
	return nil
}

// hasRoute returns a list with the key of an invalid route of which something can be read, and nil for any other
// invalid object.
func hasRoute(key manifest.Key, invalid *store.Invalid) []manifest.Key {
	if invalid.Route == nil {
		return nil
	}
	return []manifest.Key{key}
}

// runClosed returns what is served for a route: the route itself if no policy protects it, or else a closed copy. An
// invalid route that no policy protects is not served.
func (r *closedRules) runClosed(c *memo.Ctx, key manifest.Key) *closedOut {
	written, valid := r.in.routes.Get(c, key)
	closed, cause, object := manifest.Closed{Of: written}, manifest.Problem{}, written
	if !valid {
		from, ok := r.in.invalid.Get(c, key)
		if !ok || from.Route == nil {
			return &closedOut{}
		}
		object, cause.Field, cause.Message = from.Route, from.Mistakes[0].Field, from.Mistakes[0].Message
	} else if cause, valid = unreadable(c, object); !valid {
		return &closedOut{Served: written}
	}
	by := r.protector(c, object)
	if by.IsZero() {
		return &closedOut{Served: written}
	}
	closed.Why = fmt.Sprintf("%s protects %s, which has a mistake: %s", by, key, cause.Message)
	out := &closedOut{Served: closedCopy(object, closed)}
	answer := ir.Path{RPC: ir.RPC{Is: key.Kind == "GRPCRoute"}}.UnresolvedWords()
	cause.Code, cause.Severity, cause.Object = "RouteClosed", manifest.Error, key
	cause.Message = fmt.Sprintf("the whole route answers %s because of this mistake, as %s protects it: %s", answer, by, cause.Message)
	lost := func(m ir.Match) bool { return !readMatch(m).Left }
	if len(route.Read(object).Parents) == 0 || slices.ContainsFunc(route.Matches(object), lost) {
		cause.Message += "; requests that another route of the same hostname takes are served by that route"
	}
	cause.Hint = "fix the mistake; what the route would not serve could fall to a route that is not protected"
	out.Problems = []manifest.Problem{cause}
	return out
}

// unreadable returns the first problem of the matches of a route that cannot be read. found is false if all can be read.
func unreadable(c *memo.Ctx, object *manifest.Object) (first manifest.Problem, found bool) {
	whole := func(m ir.Match) route.ClosedMatch {
		return route.ClosedMatch{Match: m, Place: m, Whole: true, Left: true}
	}
	for _, rule := range route.FlattenClosed(object, route.Setting{Hosts: ir.EveryHost()}, whole).Rules {
		c.Pause()
		if problems := xds.CheckMatch(rule); len(problems) > 0 {
			return problems[0], true
		}
	}
	return first, false
}

// protector returns the first policy, by its key, that protects a route: a policy that a filter names, or that targets
// the route, one of its rules or one of its parents. It returns the zero Key if there is none.
func (r *closedRules) protector(c *memo.Ctx, object *manifest.Object) (first manifest.Key) {
	consider := func(of manifest.Key) {
		if !of.IsZero() && (first.IsZero() || manifest.CompareKeys(of, first) < 0) {
			first = of
		}
	}
	for _, rule := range route.Rules(object) {
		for _, filter := range rule.Filters {
			if of, ok := extension(object.Key.Namespace, filter); ok && r.protects(c, of) {
				consider(of)
			}
		}
	}
	consider(r.protectorAt(c, object.Key, object.Value.GetLabels()))
	if plugin := pluginFor(c, r.in.invalid, object); plugin != nil {
		consider(plugin.Key)
	}
	for _, ref := range route.Read(object).Parents {
		parent := parentKey(object.Key, ref)
		consider(r.protectorAt(c, parent, r.labels(c, parent)))
		if set, ok := r.in.listenerSets.Get(c, parent); ok {
			gateway := listen.ParentOf(set)
			consider(r.protectorAt(c, gateway, r.labels(c, gateway)))
		}
	}
	return first
}

// labels returns the labels of an object.
func (r *closedRules) labels(c *memo.Ctx, key manifest.Key) map[string]string {
	_, labels := r.in.aims.groups(c, key)
	return labels
}

// protectorAt returns the first policy, by its key, that targets an object or a section of it, and protects it. The
// parameter labels has the labels of the object.
func (r *closedRules) protectorAt(c *memo.Ctx, key manifest.Key, labels map[string]string) (first manifest.Key) {
	named, _ := r.in.aims.named.Get(c, key)
	groups := []aims{named}
	for _, label := range offeredLabels(key, labels) {
		group, _ := r.in.aims.wanted.Get(c, label)
		groups = append(groups, group)
	}
	for _, group := range groups {
		for one := range group.Ordered.All() {
			if !first.IsZero() && manifest.CompareKeys(one.Policy, first) >= 0 {
				break
			}
			for _, target := range one.Targets {
				if target.Selects(key, labels) && r.protects(c, one.Policy) {
					first = one.Policy
					break
				}
			}
		}
	}
	return first
}

// protects reports whether a TrafficPolicy may protect what it is for. Nobody knows what one that is invalid or missing
// was to do.
func (r *closedRules) protects(c *memo.Ctx, key manifest.Key) bool {
	object, _ := r.in.trafficPolicies.Get(c, key)
	from, ok := manifest.As[*api.TrafficPolicy](object)
	return !ok || policy.Protects(&from.Spec)
}
