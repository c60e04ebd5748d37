package translate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

// Why candidates do not stand below a node: their parent says so as well as
// they themselves (design section 5).

// refusal is a candidate that does not stand under some Points of a node that
// name or admit it.
type refusal struct {
	refusalKey
	Points []string
	// Cycle tells that the candidate stands above itself.
	Cycle   bool
	Message string
}

// refusalKey is a candidate, and whether it was refused by its own node or
// before there was one.
type refusalKey struct {
	Child store.Key
	Node  bool
}

// compareRefusals puts cycles first.
func compareRefusals(a, b *refusal) int {
	return cmp.Or(trueFirst(a.Cycle, b.Cycle), store.CompareKeys(a.Child, b.Child), trueFirst(a.Node, b.Node))
}

func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func refusedLinks(key linkKey, l *linkOut, yield func(memo.Place[flatKey, refusalKey], *refusal)) {
	if len(l.Links) == 0 && l.Refused.Reason != "" {
		id := refusalKey{Child: key.Child}
		yield(memo.Place[flatKey, refusalKey]{Key: key.Parent, ID: id}, &refusal{id, l.Points, l.Cycle, l.Refused.Message})
	}
}

func refusedNodes(key flatKey, f *flatOut, yield func(memo.Place[flatKey, refusalKey], *refusal)) {
	out := &refusal{refusalKey: refusalKey{key.Route, true}, Message: f.refusal().Message}
	for _, point := range f.Under {
		if !slices.Contains(f.Live, point) {
			out.Points = append(out.Points, point)
		}
	}
	if out.Message == "" {
		out.Message = "none of its matches stands here"
	}
	if len(out.Points) > 0 {
		yield(memo.Place[flatKey, refusalKey]{Key: key.link().Parent, ID: out.refusalKey}, out)
	}
}

// refusal says why the node does not serve below its parent; its Reason is ""
// when it does.
func (out *flatOut) refusal() route.Refusal {
	switch {
	case out.Conflict != "":
		return route.Refusal{Reason: gwv1.RouteReasonUnsupportedValue, Message: "conflict with the parent at " + out.Conflict, Hint: "change either side"}
	case out.Whole, len(out.Live) == 0 && out.Unsupported != "":
		return route.Refusal{Reason: gwv1.RouteReasonUnsupportedValue, Message: out.Unsupported}
	case len(out.Live) == 0 && len(out.Missed) > 0:
		return route.Refusal{Reason: gwv1.RouteReasonUnsupportedValue, Message: "no match stands under the parent: " + strings.Join(out.Missed, "; "),
			Hint: "repeat the parent's path, headers, query parameters and method, or inherit them by annotation"}
	}
	return route.Refusal{}
}

// partially says what of the node does not serve below its parent, "" when all
// does.
func (out *flatOut) partially() string {
	if len(out.Missed) > 0 {
		return "some matches do not stand under the parent: " + strings.Join(out.Missed, "; ")
	}
	return out.Unsupported
}

// serving gives the names of the parents' Points that something of the node
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

// complain says that requests are handed to nobody, or in a circle.
func (out *graftOut) complain(point *route.Point, live int, missing string, refused memo.Ordered[*refusal]) {
	at := fmt.Sprintf("spec.rules[%d]", point.Rule)
	problem := store.Problem{Severity: store.Error, Object: point.Rest.Source.Key, Field: at}
	concerned := concerning(point, refused)
	switch {
	case missing != "":
		problem.Message = missing + " does not exist"
	case len(concerned) > 0 && concerned[0].Cycle:
		problem.Code, problem.Message = string(gwv1.RouteReasonRefNotPermitted), concerned[0].Message
		problem.Hint = "take the reference that closes the circle out"
		if live > 0 {
			problem.Severity = store.Warning
		}
	case live > 0:
		return
	case len(concerned) > 0:
		problem.Message = "no route stands under this rule: " + words(concerned)
	case point.Allowed != nil:
		problem.Message = "no route that the rule allows has named it in its parentRefs"
	default:
		problem.Message = "no route stands under this rule: there is none that it names"
	}
	if problem.Code == "" {
		problem.Code, problem.Hint = string(gwv1.RouteReasonBackendNotFound), "gatefold status shows the candidates and why each was refused"
	}
	out.Problems = append(out.Problems, problem)
	if out.Unresolved.Good() {
		out.Unresolved = listen.Verdict[gwv1.RouteConditionReason]{Reason: gwv1.RouteConditionReason(problem.Code), Message: at + ": " + problem.Message}
	} else if more := at + ": " + problem.Message; !strings.Contains(out.Unresolved.Message, more) {
		out.Unresolved.Message += "; " + more
	}
}

// shown is how many refused candidates a message names.
const shown = 3

// concerning gives the first candidates of the Point that do not stand under it,
// cycles before others, and one more than are shown. Who names a route that
// admits nobody of it is of interest to each rule that admits some.
func concerning(point *route.Point, refused memo.Ordered[*refusal]) []*refusal {
	var out []*refusal
	for r := range refused.All() {
		if len(out) > shown {
			break
		}
		if slices.Contains(r.Points, point.Name) || point.Allowed != nil && len(r.Points) == 0 {
			out = append(out, r)
		}
	}
	return out
}

func words(refused []*refusal) string {
	var out []string
	for i, r := range refused {
		if i == shown {
			out = append(out, "and others")
			break
		}
		out = append(out, r.Child.String()+" is refused ("+r.Message+")")
	}
	return strings.Join(out, ", ")
}
