package translate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

// Why candidates do not stand below a node: their parent says so as well as
// they themselves (docs/design/routes.md).

// refusal is a candidate that does not stand under some Points of a node that
// name or admit it, or that it asked for.
type refusal struct {
	refusalKey
	// Points are the names of those that it does not stand under.
	Points []string
	Why    []route.Refusal
	// Cycle is true if the candidate stands above itself, Elsewhere that it stands
	// under other rules of the parent.
	Cycle, Elsewhere bool
}

// refusalKey is a candidate, and whether it was refused by its own node or
// before there was one.
type refusalKey struct {
	Child manifest.Key
	Node  bool
}

// compareRefusals puts cycles first.
func compareRefusals(a, b *refusal) int {
	return cmp.Or(ir.TrueFirst(a.Cycle, b.Cycle), manifest.CompareKeys(a.Child, b.Child), ir.TrueFirst(a.Node, b.Node))
}

func refusedLinks(key linkKey, l *linkOut, yield func(memo.Place[flatKey, refusalKey], *refusal)) {
	if len(l.Refused) == 0 {
		return
	}
	out := &refusal{refusalKey: refusalKey{Child: key.Child}, Why: l.Refused, Cycle: l.Cycle, Elsewhere: len(l.Links) > 0}
	if !out.Elsewhere {
		out.Points = l.Points
	}
	yield(memo.Place[flatKey, refusalKey]{Key: key.Parent, ID: out.refusalKey}, out)
}

func refusedNodes(key flatKey, f *flatOut, yield func(memo.Place[flatKey, refusalKey], *refusal)) {
	out := &refusal{refusalKey: refusalKey{key.Route, true}, Elsewhere: len(f.Live) > 0}
	live := setOf(f.Live)
	for _, point := range f.Under {
		if !live[point] {
			out.Points = append(out.Points, point)
		}
	}
	if len(out.Points) == 0 {
		return
	}
	why := f.refusal()
	if why.Reason == "" {
		why = route.Refusal{Reason: gwv1.RouteReasonUnsupportedValue, Message: "none of its matches fits the parent's match", Hint: hintSuperset}
	}
	out.Why = []route.Refusal{why}
	yield(memo.Place[flatKey, refusalKey]{Key: key.link().Parent, ID: out.refusalKey}, out)
}

// setOf returns the names as a set: a node can be placed under thousands of Points.
func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// matters reports whether the refusal is of interest under a rule that others stand
// under: not of a route that has its place under other rules, or asked for a rule
// that there is not.
func (r *refusal) matters(why route.Refusal) bool {
	return r.Cycle || !(r.Node && r.Elsewhere) && (why.Section == "" || why.Rule != "")
}

// at returns the reason why the candidate does not stand under a Point. Who asked
// for no rule in particular, and was admitted by none, is of interest to each
// that admits some.
func (r *refusal) at(point *route.Point) (why route.Refusal, ok bool) {
	for _, why := range r.Why {
		switch {
		case why.Rule == point.At(), why.Rule == "" && slices.Contains(r.Points, point.Name):
			return why, true
		case why.Rule == "" && len(r.Points) == 0 && !r.Elsewhere && point.Allowed != nil:
			return why, true
		}
	}
	return why, false
}

const hintSuperset = "repeat the parent's path, headers, query parameters and method, or inherit them by annotation"

// refusal says why the node, or what was included of it, does not serve below
// its parent; its Reason is "" when it does.
func (out *flatOut) refusal() route.Refusal {
	refused := route.Refusal{Reason: gwv1.RouteReasonUnsupportedValue}
	switch {
	case out.Conflict != "":
		refused.Message, refused.Hint = "conflict with the parent at "+out.Conflict, "change either side"
	case out.Whole, len(out.Live) == 0 && len(out.Unsupported) > 0:
		refused.Message, refused.Told = route.Several(out.Unsupported), true
	case len(out.Live) == 0 && len(out.Missed) > 0:
		refused.Message, refused.Hint = route.Several(out.Missed), hintSuperset
		refused.Field, refused.Unfit = out.Missed[0].Field, true
	default:
		return route.Refusal{}
	}
	return refused
}

// unresolved says which backends its own rules name in vain.
func (out *flatOut) unresolved() manifest.Verdict[gwv1.RouteConditionReason] {
	return manifest.Verdict[gwv1.RouteConditionReason](out.Unresolved)
}

// stands reports whether any of the node serves below its parent.
func (out *flatOut) stands() bool { return len(out.Live) > 0 && !out.Whole }

// serving returns the names of the parents' Points that something of the node
// stands under: a rule that Envoy takes, or a Point of its own.
func (out *flatOut) serving() []string {
	stands := map[string]bool{}
	above := func(rule *ir.Rule) { stands[rule.Name[:max(strings.LastIndexByte(rule.Name, '>'), 0)]] = true }
	for _, e := range out.Entries {
		above(e.Rule)
	}
	for _, point := range out.Points {
		above(point.Rest)
	}
	var names []string
	for _, name := range out.Live {
		if stands[name] {
			names = append(names, name)
		}
	}
	return names
}

// search is what a Point has found of the routes that it looks for.
type search struct {
	*route.Point
	live    int
	refused []candidate // the first of them, cycles before others
	// missing is a route that it refers to by name and that does not exist.
	missing, missingHint string
	missingRef           int
	// nobody says in words what it looks for.
	nobody, nobodyHint string
}

// candidate is a route that does not stand under a Point, and why.
type candidate struct {
	route.Refusal
	Child manifest.Key
	Cycle bool
}

func (c candidate) String() string { return c.Child.String() + " is not accepted (" + c.Message + ")" }

// refusals names the candidates that are refused, the first of many.
func (s search) refusals() string {
	text := route.Several(s.refused[:min(len(s.refused), route.Named)])
	if len(s.refused) > route.Named {
		text += "; and others"
	}
	return text
}

// searchOf gathers what became of the routes that a Point looks for.
func (r *graftRules) searchOf(c *memo.Ctx, key flatKey, point *route.Point) search {
	out := search{Point: point}
	out.live, _ = r.in.live.Get(c, pointKey{key, point.Name})
	refused, _ := r.in.refused.Get(c, key)
	for one := range refused.All() {
		if len(out.refused) > route.Named {
			break
		}
		if why, ok := one.at(point); ok && (out.live == 0 || one.matters(why)) {
			out.refused = append(out.refused, candidate{why, one.Child, one.Cycle})
		}
	}
	for _, s := range point.Selectors {
		key := routeKey(s.Namespace + "/" + s.Value)
		if s.Form == route.ByName && out.missing == "" {
			if _, ok := r.in.routes.Get(c, key); !ok {
				out.missing, out.missingRef, out.missingHint = key.String(), s.Ref, r.in.absent(c, key, "reference")
			}
		}
	}
	if out.live == 0 && len(out.refused) == 0 {
		out.nobody, out.nobodyHint = r.nobody(c, point)
	}
	return out
}

// nobody says what a Point looks for in vain, and what may have been meant.
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

func (r *graftRules) labelHint(c *memo.Ctx, s route.Selector) string {
	offered, _ := r.in.offered.Get(c, route.Property{Form: route.ByLabel, Value: s.Value})
	elsewhere := offered.Routes
	switch {
	case s.Namespace == route.AllNamespaces && elsewhere > 0:
		return fmt.Sprintf("the word for all namespaces is %s here (--delegation-wildcard-namespace)", r.in.WildcardNamespace)
	case s.Namespace != "" && elsewhere > 0:
		return fmt.Sprintf("a route of another namespace has it: correct the namespace, or write namespace: %s for all", r.in.WildcardNamespace)
	}
	return "give a route that label, or correct the name of the reference, which is the label's value"
}

// complain says that requests are handed to nobody, or in a cycle, or that some
// routes do not take them.
func (out *graftOut) complain(s search) {
	at := fmt.Sprintf("spec.rules[%d]", s.Rule)
	problem := manifest.Problem{Code: string(gwv1.RouteReasonBackendNotFound), Severity: manifest.Error, Object: s.Rest.Source.Key, Field: at}
	switch {
	case s.missing != "":
		problem.Field = fmt.Sprintf("%s.backendRefs[%d]", at, s.missingRef)
		problem.Message, problem.Hint = s.missing+" does not exist", s.missingHint
	case len(s.refused) > 0 && s.refused[0].Cycle:
		problem.Code, problem.Message = string(gwv1.RouteReasonRefNotPermitted), s.refused[0].Message
		problem.Hint = "take the reference that closes the cycle out"
		if s.live > 0 {
			problem.Severity = manifest.Warning
		}
	case s.live > 0:
		out.beside(at, s)
		return
	case len(s.refused) > 0:
		problem.Message = "no route is bound to this rule: " + s.refusals()
		problem.Hint = cmp.Or(s.refused[0].Hint, "gatefold status shows what is wrong with it")
	default:
		problem.Message, problem.Hint = s.nobody, s.nobodyHint
	}
	out.Problems = append(out.Problems, problem)
	if out.Unresolved.Good() {
		out.Unresolved = manifest.Verdict[gwv1.RouteConditionReason]{Reason: gwv1.RouteConditionReason(problem.Code), Message: at + ": " + problem.Message}
	} else if more := at + ": " + problem.Message; !strings.Contains(out.Unresolved.Message, more) {
		out.Unresolved.Message += "; " + more
	}
}

// beside notes routes that are refused where others stand: the parent's status
// tells of all, and there is a warning of those that its rule names and that do
// not want it.
func (out *graftOut) beside(at string, s search) {
	if len(s.refused) == 0 {
		return
	}
	if note := at + ": " + s.refusals(); !slices.Contains(out.Beside, note) {
		out.Beside = append(out.Beside, note)
	}
	for _, refused := range s.refused {
		if refused.Reason != route.ReasonNotAllowedByParent {
			continue // its owner is told
		}
		for _, selector := range s.Selectors {
			if selector.Form != route.ByName || routeKey(selector.Namespace+"/"+selector.Value) != refused.Child {
				continue
			}
			problem := manifest.Problem{Code: string(refused.Reason), Severity: manifest.Warning, Object: s.Rest.Source.Key,
				Field: fmt.Sprintf("%s.backendRefs[%d]", at, selector.Ref), Message: refused.String(), Hint: refused.Hint}
			if !slices.Contains(out.Problems, problem) {
				out.Problems = append(out.Problems, problem)
			}
		}
	}
}
