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

// childEntry is an entry in the status of a child route, for one parent route. An entry belongs to a parentRef of the
// child, or to a parent that selects the child although no parentRef names the parent. The Gateway API identifies
// entries by parentRef. So each parentRef has its own entry, even if two parentRefs differ only in sectionName. One
// entry can stand for several rules of the parent, several ports, and several chains of parents. The child is
// accepted if at least one of these rules accepts the child.
type childEntry struct {
	Ref    gwv1.ParentReference
	Index  int // index in spec.parentRefs, -1 if no parentRef names the parent
	Parent manifest.Key
	Named  bool // a rule of the parent selects the child by name
	// Accepted is for the condition Accepted. If no rule accepts the child, Accepted has the Reason of the first
	// rejection, and the messages of all rejections (see reject). If a rule accepts the child, Reason is "". Message
	// then lists the rules that reject the child only because no match of the child fits (BindingRejection.Unfit).
	Accepted route.BindingRejection
	Resolved manifest.Verdict[gwv1.RouteConditionReason]
	// Dropped has the messages of the condition PartiallyInvalid, which an accepted child gets. They name the rules
	// that reject the child for another reason than Unfit, and the matches and settings of the child that are not
	// served.
	Dropped []string
	// beside has all rejections of the child that this entry is about. reject moves them to Accepted, so that beside
	// is empty if no rule accepts the child.
	beside []route.BindingRejection
}

// of returns the bindings of a child to one parent, nil if there are none. A binding says which rules of the parent
// accept or reject the child (see bindingOut). There are several bindings if the parent has several nodes (see
// flatKey), one binding for each node. The parameter bound has the bindings of the child to all parents, sorted by
// parent.
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

// concerned reports whether the parent has a rule that accepts or rejects the child, although no parentRef of the
// child names this rule by its sectionName. The parameter bindings has the bindings of the child to the parent (see
// bindingOut). The function unnamed returns true for a sectionName that no parentRef of the child to this parent has.
func (e *childEntry) concerned(bindings []*bindingOf, unnamed func(string) bool) bool {
	return slices.ContainsFunc(bindings, func(b *bindingOf) bool {
		return slices.ContainsFunc(b.Sections, unnamed) ||
			slices.ContainsFunc(b.Rejections, func(r route.BindingRejection) bool { return unnamed(r.Section) && r.Rule != "" })
	})
}

// join fills the entry with the bindings of the child to one parent. The parameter bindings has one binding for each
// node of the parent. A binding says which rules of the parent accept or reject the child (see bindingOut). join uses
// the results of those rules for whose name the function meant returns true, and all rejections by the whole parent.
// It ignores other rules. If none of the used rules accepts the child, the entry becomes a rejection. The message of
// the rejection may contain the sectionName of the parentRef (the parameter section).
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

// drop adds messages of the binding b to Dropped: one for each match and each setting of the child that is not
// served. Messages that are in Dropped already are not repeated.
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

// reject makes the entry a rejection, because no rule of the parent accepts the child. The field Accepted gets the
// Reason of the first rejection in e.beside, and the messages of all rejections in e.beside. If e.beside is empty,
// the Reason is UnsupportedValue, and the message names the sectionName of the parentRef (the parameter section).
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

// status returns the entry in the form that the status of the child contains. The conditions are Accepted and
// ResolvedRefs, and also PartiallyInvalid if the child is accepted and Dropped is not empty. The parameter
// generation is the generation of the child.
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

// problem returns the problem that is shown at a child (key) for a rejection (why). The Field of the problem is
// why.Field. If why.Field is "", Field is the path of the parentRef, or "spec" if the entry belongs to no parentRef.
// If the entry belongs to no parentRef, the message also says that requests from e.Parent never reach the child.
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

// besideProblems appends a warning to out for each rejection in e.beside: a rule of the parent rejects the child
// (key), while another rule of the parent accepts it. There is no warning if the child is rejected only because its
// matches do not fit the rule (Unfit), or if another problem of the child already reports the rejection (Reported).
func (e *childEntry) besideProblems(out []manifest.Problem, key manifest.Key) []manifest.Problem {
	for _, why := range e.beside {
		if why.Unfit || why.Reported || why.Foreign {
			continue
		}
		why.Message = why.String()
		out = append(out, e.problem(key, why, manifest.Warning))
	}
	return out
}

// nowhere returns the warning for a route without parentRefs that no other route delegates to. The parameter
// labels has the labels of the route, for the hint.
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

// missedEverywhere appends to out a warning for each match of a child (key) that gets requests from none of the
// child's parents. The parameter bound has the results for the child below each parent (see bindingOut).
// Parents that do not accept the child do not count. If no parent accepts the child, nothing is appended.
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
