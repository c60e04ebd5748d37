package translate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/route"
)

// graftOut is the result for one node of a delegation tree. Each node is a route (see flatKey). graftOut has what
// the node adds to the virtual hosts (tableKey) of the tree's root route, and what is wrong with the node's
// delegating rules. If the node is the root itself, Entries has only guards (see runGraft): the root's other rules
// are in its mountOut.
type graftOut struct {
	Tables []tableKey
	// Cut are the virtual hosts that do not get the node's rules, because the rules have too many copies.
	Cut []tableKey
	// Unplaced is as flatOut.Unplaced.
	Unplaced []*aim
	Entries  []*entry
	Backends []*backend.Key
	SignIns  []manifest.Key // as flatOut.SignIns; nil if the node is a root
	// Uses says how much of each policy is effective at the node's own rules. It is nil if the node is a root.
	Uses []policy.Use
	// Unresolved says which delegating rules find no route or must not delegate. It is good if there are none.
	Unresolved manifest.Verdict[gwv1.RouteConditionReason]
	// Beside are messages about rules that accept some of the routes they select and reject others.
	Beside   []string
	Problems []manifest.Problem
	placed   placed
}

// resolved returns the verdict for the condition ResolvedRefs: whether each delegating rule of the node
// (flatKey) finds a route. The message of the verdict also contains the messages in Beside, even if the verdict
// is good.
func (out *graftOut) resolved() manifest.Verdict[gwv1.RouteConditionReason] {
	verdict := out.Unresolved
	if beside := route.Several(out.Beside); verdict.Good() {
		verdict.Message = beside
	} else if beside != "" {
		verdict.Message += "; " + beside
	}
	return verdict
}

// search is the result for one delegating match (route.Point): the number of routes that the match accepts as
// children (live), and the routes that it rejects.
type search struct {
	*route.Point
	live     int
	rejected []candidate // only the first ones, cycles first
	// missing is a route that a backendRef names and that does not exist, "" if all exist. missingRef is the
	// index of the backendRef.
	missing    absence
	missingRef int
	// strangers are selected by their namespace or label only, and have not consented.
	strangers []stranger
	// nobody is the message for a rule that finds no route at all, and nobodyHint says what to do. Both are ""
	// if the rule finds a route, accepted or not.
	nobody, nobodyHint string
}

// stranger is a namespace whose routes do not follow the delegating rule, and what to write so that they do.
type stranger struct{ Namespace, Hint string }

func (s stranger) String() string {
	return "the HTTPRoutes of namespace " + s.Namespace + " are not selected, as their Namespace does not permit it"
}

// candidate is a route that a delegating match (route.Point) does not accept as child, with the reason.
type candidate struct {
	route.BindingRejection
	Child manifest.Key
	// Cycle is true if Child is the delegating route itself, or a parent above the delegating route. Delegation to
	// Child would then never end.
	Cycle bool
}

func (c candidate) String() string { return c.Child.String() + " is not accepted (" + c.Message + ")" }

// rejections returns the rejected candidates as text, at most route.Named of them.
func (s search) rejections() string {
	text := route.Several(s.rejected[:min(len(s.rejected), route.Named)])
	if len(s.rejected) > route.Named {
		text += "; and others"
	}
	return text
}

// complain adds what is wrong with a delegating rule (s) to out.Problems and out.Unresolved. It reports only the
// first of these faults that the rule has:
//   - A route that the rule names does not exist.
//   - A reference closes a cycle.
//   - The rule accepts no route.
//
// If the rule has none of these faults, complain calls beside, which reports the routes that the rule rejects.
func (out *graftOut) complain(s search) {
	at := fmt.Sprintf("spec.rules[%d]", s.Rule)
	problem := manifest.Problem{Code: string(gwv1.RouteReasonBackendNotFound), Severity: manifest.Error, Object: s.Rest.Source.Key, Field: at}
	switch {
	case s.missing.Message != "":
		problem.Field = fmt.Sprintf("%s.backendRefs[%d]", at, s.missingRef)
		problem.Message, problem.Hint = s.missing.Message, s.missing.Hint
	case len(s.rejected) > 0 && s.rejected[0].Cycle:
		problem.Code, problem.Message = string(gwv1.RouteReasonRefNotPermitted), s.rejected[0].Message
		problem.Hint = "take the reference that closes the cycle out"
		if s.live > 0 {
			problem.Severity = manifest.Warning
		}
	case s.live > 0:
		out.beside(at, s)
		return
	case len(s.rejected) > 0 && s.rejected[0].Foreign:
		out.beside(at, s)
		return
	case len(s.rejected) > 0:
		problem.Message = "no route is bound to this rule: " + s.rejections()
		problem.Hint = cmp.Or(s.rejected[0].Hint, "gatefold status shows what is wrong with it")
	case len(s.strangers) > 0:
		out.unconsented(at, s)
		return
	default:
		problem.Message, problem.Hint = s.nobody, s.nobodyHint
	}
	out.add(at, problem)
}

// unconsented adds a problem for each namespace whose routes are all that a rule (s) selects, and have not consented.
func (out *graftOut) unconsented(at string, s search) {
	for _, one := range s.strangers {
		out.add(at, manifest.Problem{
			Code: string(route.ReasonDelegationNotAllowed), Severity: manifest.Error, Object: s.Rest.Source.Key, Field: at,
			Message: "no route is bound to this rule: " + one.String(), Hint: one.Hint, Cause: consentOf(one.Namespace),
		})
	}
}

// add adds the problem of a delegating rule to Problems and to Unresolved. The parameter at is the path of the rule.
func (out *graftOut) add(at string, problem manifest.Problem) {
	out.Problems = append(out.Problems, problem)
	if out.Unresolved.Good() {
		out.Unresolved = manifest.Verdict[gwv1.RouteConditionReason]{Reason: gwv1.RouteConditionReason(problem.Code), Message: at + ": " + problem.Message}
	} else if more := at + ": " + problem.Message; !strings.Contains(out.Unresolved.Message, more) {
		out.Unresolved.Message += "; " + more
	}
}

// beside reports the routes that a delegating rule rejects, although the rule accepts other routes. The parameter at
// is the path of the rule. beside adds a message about the rejected routes to out.Beside. It also adds a warning to
// out.Problems for each rejected route that the rule names in backendRefs, if the parentRefs of the rejected route
// do not name the delegating route.
func (out *graftOut) beside(at string, s search) {
	var words []string
	if len(s.strangers) > 0 {
		words = append(words, route.Several(s.strangers))
	}
	for _, refused := range s.rejected {
		switch {
		case refused.Foreign:
			out.refused(at, s, refused, manifest.Error)
		case refused.Reason == route.ReasonNotAllowedByParent: // otherwise the owner of that route gets a problem
			out.refused(at, s, refused, manifest.Warning)
		}
	}
	if s.rejected = slices.DeleteFunc(s.rejected, func(c candidate) bool { return c.Foreign }); len(s.rejected) > 0 {
		words = append(words, s.rejections())
	}
	if note := at + ": " + strings.Join(words, "; "); len(words) > 0 && !slices.Contains(out.Beside, note) {
		out.Beside = append(out.Beside, note)
	}
}

// refused adds a problem at each backendRef that names a rejected route. The parameter at is the path of the delegating
// rule (s).
func (out *graftOut) refused(at string, s search, refused candidate, severity manifest.Severity) {
	for _, selector := range s.Selectors {
		if selector.Form != route.ByName || routeKey(selector.Namespace+"/"+selector.Value) != refused.Child {
			continue
		}
		problem := manifest.Problem{Code: string(refused.Reason), Severity: severity, Object: s.Rest.Source.Key,
			Field: fmt.Sprintf("%s.backendRefs[%d]", at, selector.Ref), Message: refused.String(), Hint: refused.Hint}
		if refused.Foreign {
			problem.Cause = consentOf(refused.Child.Namespace)
		}
		switch {
		case slices.Contains(out.Problems, problem): // another match of the rule
		case refused.Foreign:
			out.add(at, problem)
		default:
			out.Problems = append(out.Problems, problem)
		}
	}
}

// consentOf returns the annotation of a Namespace that lets other namespaces delegate to its routes.
func consentOf(namespace string) manifest.Field {
	return manifest.Field{Object: manifest.Key{Kind: "Namespace", Name: namespace}, Path: "metadata.annotations[" + tenancy.AnnotationDelegation + "]"}
}

// tooMany adds the problem that a delegating rule (point) does not delegate, because delegation would create
// too many rules. The parameter over is the exceeded budget, with the message and the hint of the problem.
// Unresolved is set too, so that the condition ResolvedRefs of the route becomes False.
func (out *graftOut) tooMany(point *route.Point, over *budgetOut) {
	at := fmt.Sprintf("spec.rules[%d]", point.Rule)
	out.Problems = append(out.Problems, manifest.Problem{
		Code: "TooManyRoutes", Severity: manifest.Error, Object: point.Rest.Source.Key, Field: at,
		Message: over.Message, Hint: over.Hint,
	})
	out.Unresolved = manifest.Verdict[gwv1.RouteConditionReason]{Reason: gwv1.RouteReasonUnsupportedValue, Message: at + ": " + over.Message}
}
