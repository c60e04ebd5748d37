package translate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/status"
)

// childEntry is an entry of a route's status for a route above it. It belongs to a parentRef as it
// is written, or to a parent that selects the route although no parentRef names that parent.
//
// The Gateway API keys entries by parentRef, so each parentRef, with its sectionName, has its own
// entry. One entry can stand for several rules of the parent, ports and chains above the parent.
// The route is accepted if one of them accepts it. PartiallyInvalid names those that reject it.
type childEntry struct {
	Ref    gwv1.ParentReference
	Index  int // in parentRefs, -1 for a parent that no parentRef names
	Parent manifest.Key
	Named  bool // by a rule of the parent
	// Accepted has the reason and messages of all parents that rejected the route. Without a
	// reason, its message names the chains above the parent that lead elsewhere.
	Accepted route.BindingRejection
	Resolved manifest.Verdict[gwv1.RouteConditionReason]
	// Dropped is what does not serve of a route that does.
	Dropped []string
	// beside are rejections by rules of the parent, of a route that others took.
	beside []route.BindingRejection
}

// of returns the bindings to one parent. They are neighbours in bound.
func of(bound []*bindingOf, parent manifest.Key) []*bindingOf {
	first := slices.IndexFunc(bound, func(b *bindingOf) bool { return b.Parent == parent })
	if first < 0 {
		return nil
	}
	last := first
	for last < len(bound) && bound[last].Parent == parent {
		last++
	}
	return bound[first:last]
}

// concerned reports whether an entry has something to report for rules that no parentRef names.
func (e *childEntry) concerned(bindings []*bindingOf, unnamed func(string) bool) bool {
	return slices.ContainsFunc(bindings, func(b *bindingOf) bool {
		return slices.ContainsFunc(b.Sections, unnamed) ||
			slices.ContainsFunc(b.Rejections, func(r route.BindingRejection) bool { return unnamed(r.Section) && r.Rule != "" })
	})
}

// join makes one entry of all bindings to a parent, for the sections that meant accepts. section is
// the sectionName of the parentRef.
func (e *childEntry) join(bindings []*bindingOf, meant func(section string) bool, section string) {
	used, chains := false, map[string]bool{}
	for _, b := range bindings {
		used = used || slices.ContainsFunc(b.Sections, meant)
		chains[b.key.Parent.path()] = true
	}
	seen := map[string]bool{}
	add := func(b *bindingOf, why route.BindingRejection) {
		if len(chains) > 1 {
			why.Message = "below " + b.key.Parent.path() + ": " + why.Message
		}
		if !seen[why.Message] {
			seen[why.Message] = true
			e.beside = append(e.beside, why)
		}
	}
	for _, b := range bindings {
		for _, why := range b.Rejections {
			if why.Section == "" && why.Rule == "" || meant(why.Section) {
				add(b, why)
			}
		}
		if slices.ContainsFunc(b.Sections, meant) {
			e.drop(b)
		}
		if e.Resolved.Message == "" || e.Resolved.Good() && !b.Resolved.Good() {
			e.Resolved = b.Resolved
		}
	}
	if !used {
		e.reject(section)
		return
	}
	var unfit []string
	for _, why := range e.beside {
		if why.Unfit {
			unfit = append(unfit, why.String())
		} else {
			e.Dropped = append(e.Dropped, why.String())
		}
	}
	e.Accepted.Message = route.Several(unfit)
}

// drop notes the parts of a binding that are not served.
func (e *childEntry) drop(b *bindingOf) {
	for _, miss := range b.Missed {
		if words := miss.String(); !slices.Contains(e.Dropped, words) {
			e.Dropped = append(e.Dropped, words)
		}
	}
	for _, words := range b.Unsupported {
		if !slices.Contains(e.Dropped, words) {
			e.Dropped = append(e.Dropped, words)
		}
	}
}

// reject sets the condition of an entry without any accepted rule: the reason of the first
// rejection, and the messages of all.
func (e *childEntry) reject(section string) {
	if len(e.beside) == 0 {
		e.Accepted = route.BindingRejection{Reason: gwv1.RouteReasonUnsupportedValue, Hint: hintSuperset,
			Message: fmt.Sprintf("none of its matches fits a rule named %q of %s", section, e.Parent)}
		return
	}
	var all []string
	for _, why := range e.beside {
		all = append(all, why.Message)
	}
	e.Accepted, e.beside = e.beside[0], nil
	e.Accepted.Message = route.Several(all)
}

func (e *childEntry) status(generation int64) gwv1.RouteParentStatus {
	accepted := manifest.Verdict[gwv1.RouteConditionReason]{Reason: e.Accepted.Reason, Message: e.Accepted.Message}
	conditions := []metav1.Condition{
		status.RouteAccepted(generation, accepted),
		status.RouteResolvedRefs(generation, e.Resolved),
	}
	if accepted.Good() && len(e.Dropped) > 0 {
		conditions = append(conditions, status.RoutePartiallyInvalid(generation, route.Several(e.Dropped)))
	}
	return gwv1.RouteParentStatus{ParentRef: e.Ref, ControllerName: status.ControllerName, Conditions: conditions}
}

// problem returns the problem of a rejection, at the field to fix.
func (e *childEntry) problem(key manifest.Key, why route.BindingRejection, severity manifest.Severity) manifest.Problem {
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

// besideProblems warns of rules that reject a route while other rules of the same parent accept it.
func (e *childEntry) besideProblems(out []manifest.Problem, key manifest.Key) []manifest.Problem {
	for _, why := range e.beside {
		if why.Unfit || why.Reported {
			continue
		}
		why.Message = why.String()
		out = append(out, e.problem(key, why, manifest.Warning))
	}
	return out
}

// nowhere returns the warning for a route that has no parent: no Gateway and no route leads to it.
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

// missedEverywhere warns of matches that fit no parent, while other matches of the route do.
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
