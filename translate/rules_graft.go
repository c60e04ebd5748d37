package translate

import (
	"cmp"
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/route"
)

// bindingOut is a binding: the result for a candidate child below one parent. It says which rules of the parent
// accept or reject the child. If the parent serves on several ports, or is itself below several chains of routes, the
// child has one binding for each port and each chain (see linkKey). The status of the child is built from all its
// bindings.
type bindingOut struct {
	Parent manifest.Key
	// Named is true if a rule of the parent names the child.
	Named bool
	// Sections are the names of the parent's rules that accept the child, "" for a rule without a name.
	Sections   []string
	Rejections []route.BindingRejection
	Resolved   manifest.Verdict[gwv1.RouteConditionReason]
	// Missed are matches of the child that fit no rule of the parent. Unsupported are messages about other
	// settings that are not served as written.
	Missed      []route.Miss
	Unsupported []string
}

// bindingOf is the binding (bindingOut) of one link, together with the key of the link. The field graftRules.bindings
// collects the bindings of each child.
type bindingOf struct {
	key linkKey
	*bindingOut
}

func compareBindings(a, b *bindingOf) int {
	return cmp.Or(manifest.CompareKeys(a.Parent, b.Parent), cmp.Compare(a.key.Parent.Port, b.key.Parent.Port), cmp.Compare(a.key.Parent.Via, b.key.Parent.Via))
}

type graftIn struct {
	*hintRules
	*contestRules
	*hostPolicyRules
	offers *offerRules
	*wantRules
	link              *memo.Rule[linkKey, *linkOut]
	live              *memo.Fold[pointKey, flatKey, struct{}, int]
	pairs             *memo.Join[flatKey, manifest.Key, route.Property]
	rejected          *memo.Fold[flatKey, rejectedChildKey, *rejectedChild, ordered.Set[*rejectedChild]]
	flat              *memo.Rule[flatKey, *flatOut]
	overload          *memo.Rule[struct{}, *overloads]
	delegators        *memo.Rule[string, tenancy.Namespaces]
	routes            *servedRoutes
	WildcardNamespace string
}

// graftRules handle delegation:
//   - The memo.Rule "graft" has a value for each node of a delegation tree (see flatKey): the route rules that the
//     node adds to the virtual hosts (tableKey) of its root route.
//   - The memo.Rule "binding" has a value for each candidate child of a node: which route rules of the parent accept
//     or reject the child.
//   - The memo.Fold "bindings" collects the values of "binding" by child.
type graftRules struct {
	in       graftIn
	graft    *memo.Rule[flatKey, *graftOut]
	binding  *memo.Rule[linkKey, *bindingOut]
	bindings *memo.Fold[manifest.Key, linkKey, *bindingOf, ordered.Set[*bindingOf]]
}

func newGraftRules(e *memo.Engine, in graftIn) *graftRules {
	r := &graftRules{in: in}
	r.graft = memo.NewRule(e, "graft", r.runGraft, deepEqual)
	memo.EachOf(r.graft, in.flat, ifDelegating)
	memo.EachOf(r.graft, in.link, childOf)

	r.binding = memo.NewRule(e, "binding", r.runBinding, deepEqual)
	memo.EachOf(r.binding, in.pairs, func(p memo.Pair[flatKey, manifest.Key], _ struct{}) []linkKey { return []linkKey{{p.Left, p.Right}} })
	r.bindings = memo.NewFold[manifest.Key, linkKey](e, "bindings", gather[linkKey](compareBindings), ordered.Set[*bindingOf].Same)
	memo.From(r.bindings, r.binding, func(key linkKey, b *bindingOut, yield func(memo.Place[manifest.Key, linkKey], *bindingOf)) {
		if b != nil {
			yield(memo.Place[manifest.Key, linkKey]{Key: key.Child, ID: key}, &bindingOf{key, b})
		}
	}, deepEqual)
	return r
}

func (r *graftRules) report(all *problemFold) {
	problemsFrom(all, "graft", r.graft, func(g *graftOut) []manifest.Problem { return g.Problems })
}

// runGraft returns the rules that a node adds to the virtual hosts of its root route. A node is a route in a
// delegation tree (see flatKey). If the node is a child, it adds the rules of its route. If the node is the root, its
// own rules are not included, because they are in the mountOut.
//
// Every node also adds guards. The guard of a delegating match (route.Point) is the rule Point.Rest, which answers
// the requests that no child route matches. It is added in these cases only:
//   - The match accepts no route as a child.
//   - A route that the delegating rule names does not exist.
//   - The match selects a route that has too many copies (see overloads).
//   - The match must not delegate, because delegation would create too many rules (see budgetOut).
//   - The delegating rule also has backends (Point.Guarded).
//
// If the node's own route or the root has too many copies, no rule is added.
func (r *graftRules) runGraft(c *memo.Ctx, key flatKey) *graftOut {
	flat := r.in.flat.Get(c, key)
	tables, guests := r.in.tablesOf(c, key, flat.Hosts)
	out := &graftOut{Tables: append(tables, guests...)}
	over := r.in.overload.Get(c, struct{}{})
	if over.cuts(key) {
		out.Tables, out.Cut = nil, out.Tables
	}
	if key.Via != "" {
		out.Entries, out.Backends = slices.Clone(flat.Entries), flat.Backends
		out.Uses, out.SignIns, out.Unplaced = flat.Uses, flat.SignIns, flat.Unplaced
	}
	budgets := r.in.overBudget(c, key)
	for _, point := range flat.Points {
		found, stopped := r.searchOf(c, key, point), r.in.overPoint(c, key, point, budgets)
		if stopped != nil {
			out.tooMany(point, stopped)
		} else {
			out.complain(found)
		}
		if found.live > 0 && found.missing.Message == "" && stopped == nil && !point.Guarded && !over.closes(key, point) {
			continue
		}
		e, problems := flat.encode(point.Rest, flat.Guards[point.Name])
		if out.Problems = append(out.Problems, problems...); e != nil {
			entries, problems := flat.rejected.withPreflights([]*entry{e}, false)
			out.Entries, out.Problems = append(out.Entries, entries...), append(out.Problems, problems...)
		}
	}
	out.placed = r.in.place(c, key.Route, r.in.admitted.Get(c, key.root()), func(yield func(tableKey, []*entry) bool) {
		for _, table := range out.Tables {
			if !yield(table, out.Entries) {
				return
			}
		}
	})
	return out
}

// runBinding returns the binding of a candidate child below a parent (see bindingOut and linkKey). It returns nil if
// no rule of the parent accepts or rejects the candidate. For example, a wildcard of the parent may select the parent
// itself, which is then ignored (see runLink).
func (r *graftRules) runBinding(c *memo.Ctx, key linkKey) *bindingOut {
	link := r.in.link.Get(c, key)
	out := &bindingOut{Parent: key.Parent.Route, Named: link.Named, Rejections: link.Rejections}
	if len(link.Links) == 0 {
		if len(link.Rejections) == 0 {
			return nil
		}
		return out
	}
	if why, cut := r.in.overload.Get(c, struct{}{}).Cut[shareKey{key.child().root(), key.Child}]; cut {
		out.Rejections = append(slices.Clone(out.Rejections), route.BindingRejection{Reason: gwv1.RouteReasonUnsupportedValue, Message: why.reason(), Reported: true})
		return out
	}
	flat := r.in.flat.Get(c, key.child())
	if why := flat.rejection(); why.Reason != "" {
		out.Rejections = append(slices.Clone(out.Rejections), why)
	}
	if flat.serves() {
		out.Sections = link.Sections(setOf(flat.Live))
		out.Missed, out.Unsupported = flat.Missed, flat.Unsupported
	}
	out.Resolved = flat.unresolved()
	if len(flat.Points) > 0 {
		out.Resolved = out.Resolved.And(r.graft.Get(c, key.child()).resolved())
	}
	return out
}

// searchOf returns what a delegating match (the parameter point) finds:
//   - live is the number of routes that the match accepts as children.
//   - rejected has the routes that the match rejects. If the match accepts other routes, rejected has only the
//     rejections that users must see nevertheless (see rejectedChild.matters). A message names at most route.Named
//     routes; rejected has at most one more, which tells that there are others.
//   - missing is the first route that a backendRef of the rule names and that does not exist.
//   - nobody is a message. It is set only if the match neither accepts nor rejects a route.
func (r *graftRules) searchOf(c *memo.Ctx, key flatKey, point *route.Point) search {
	out := search{Point: point}
	out.live, _ = r.in.live.Get(c, pointKey{key, point.Name})
	refused, _ := r.in.rejected.Get(c, key)
	for one := range refused.All() {
		if len(out.rejected) > maxForeign {
			break
		}
		if why, ok := one.reasonUnder(point); ok && (out.live == 0 || one.matters(why)) {
			out.rejected = append(out.rejected, candidate{why, one.Child, one.Cycle})
		}
	}
	for _, s := range point.Selectors {
		key := routeKey(s.Namespace + "/" + s.Value)
		if s.Form == route.ByName && out.missing.Message == "" {
			if _, ok := r.in.routes.Get(c, key); !ok {
				out.missing, out.missingRef = r.in.absent(c, key, wordReference), s.Ref
			}
		}
	}
	out.strangers = r.strangers(c, point)
	if out.live == 0 && len(out.rejected) == 0 {
		out.nobody, out.nobodyHint = r.nobody(c, point)
	}
	return out
}

// strangers returns the namespaces with routes that a delegating match selects by their namespace or label, without
// the consent of their Namespace (route.Home). It returns at most maxForeign namespaces.
func (r *graftRules) strangers(c *memo.Ctx, point *route.Point) (out []stranger) {
	own := point.Rest.Source
	if !own.Outside {
		return nil
	}
	for _, s := range point.Selectors {
		if s.Form == route.ByName {
			continue
		}
		property := route.Property{Form: s.Form, Namespace: s.Namespace, Value: s.Value}
		for _, space := range r.in.offers.spacesOf(c, property) {
			if len(out) == maxForeign {
				return out
			}
			named := r.in.delegators.Get(c, space)
			if space == own.Key.Namespace || named.Has(own.Key.Namespace) || r.in.offers.breadth(c, property.In(space)).Routes == 0 {
				continue
			}
			out = appendNew(out, stranger{space, route.ConsentHint(own.Key.Namespace, space, named)})
		}
	}
	return out
}

// nobody returns the message for a delegating rule (point) that finds no route, and a hint about how to fix
// that.
func (r *graftRules) nobody(c *memo.Ctx, point *route.Point) (message, hint string) {
	if point.Allowed != nil {
		return "no route that the rule allows has named it in its parentRefs",
			fmt.Sprintf("give a route a parentRef of kind HTTPRoute, name %s, that allowedRoutes admit", point.Rest.Source.Key.Name)
	}
	var words []string
	for _, s := range point.Selectors {
		switch {
		case s.Form == route.ByNamespace:
			words = append(words, fmt.Sprintf("namespace %s has no HTTPRoute without parentRefs, or with one to this route", s.Namespace))
			hint = "only labels can be looked for in all namespaces: name the namespace of the routes"
			if s.Namespace != route.AllNamespaces {
				hint = "create it, or correct the namespace of the reference; a route that names other parents only is not handed anything"
			}
		case s.Form == route.ByLabel:
			where := "namespace " + s.Namespace
			if s.Namespace == "" {
				where = "any namespace"
			}
			words = append(words, fmt.Sprintf("no HTTPRoute of %s has the label %s: %s", where, route.DelegationLabel, s.Value))
			hint = r.labelHint(c, s)
		}
	}
	return "no route is bound to this rule: " + route.Several(words), hint
}

// labelHint returns the hint for a selector by label that finds no route.
func (r *graftRules) labelHint(c *memo.Ctx, s route.Selector) string {
	offered, _ := r.in.offers.offered.Get(c, route.Property{Form: route.ByLabel, Value: s.Value})
	elsewhere := offered.Routes
	switch {
	case s.Namespace == route.AllNamespaces && elsewhere > 0:
		return fmt.Sprintf("the word for all namespaces is %s here (--delegation-wildcard-namespace)", r.in.WildcardNamespace)
	case s.Namespace != "" && elsewhere > 0:
		return fmt.Sprintf("a route of another namespace has it: correct the namespace, or write namespace: %s for all", r.in.WildcardNamespace)
	}
	return "give a route that label, or correct the name of the reference, which is the label's value"
}
