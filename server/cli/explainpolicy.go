package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// policyWords returns the end of the first line of explain's text, "" if there is nothing to add. It names each
// policy that does not apply, and each policy that applies in its last valid version. There are two exceptions:
//   - If r.Reason already names a policy that does not apply, policyWords adds only the file and line of this
//     policy.
//   - If the rule fails closed, policyWords adds nothing about any other policy.
func policyWords(r *explain.Report) string {
	closed := slices.IndexFunc(r.Actions, func(a explain.ActionReport) bool { return a.Type == ir.PartClosed })
	var words strings.Builder
	for _, p := range r.Policies {
		place := ""
		if p.At.Line > 0 {
			place = fmt.Sprintf(" (%s:%d)", p.At.File, p.At.Line)
		}
		switch {
		case p.State == ir.NotInForce && strings.Contains(r.Reason, p.Object.String()):
			words.WriteString(place)
		case closed >= 0:
		case p.State == ir.NotInForce:
			fmt.Fprintf(&words, ", WITHOUT %s, which is not in force: %s%s", p.Object, p.Reason, place)
		case p.Stale:
			fmt.Fprintf(&words, ", with the last valid version of %s: %s%s", p.Object, p.Reason, place)
		}
	}
	return words.String()
}

// policy adds a row for a policy of the request, with the state of the policy (see stateWords).
func (t *explainPage) policy(p explain.PolicyReport) {
	text := p.Object.String()
	if p.Target != "" {
		text += " at " + p.Target
	}
	t.row("policy", text+": "+stateWords(p), p.At)
}

// stateWords returns in words the state of a policy: its fields that apply, and the policies that override it or
// are merged with it. If the policy is stale, the text also has the reason. If the policy is not in force, the
// text has only the reason.
func stateWords(p explain.PolicyReport) string {
	fields, others := strings.Join(p.Fields, ", "), joinKeys(p)
	var words string
	switch p.State {
	case ir.NotInForce:
		return "not in force: " + p.Reason
	case ir.Overridden:
		words = "overridden by " + others
	case ir.Merged:
		words = "merged with " + others
		if fields != "" {
			words = "in force: " + fields + ", " + words
		}
		if len(p.Overridden) > 0 {
			words = "in force: " + fields + "; overridden by " + others + ": " + strings.Join(p.Overridden, ", ")
		}
	default:
		words = strings.TrimSuffix("in force: "+fields, ": ")
	}
	if p.Stale {
		words += "; this is the last valid version: " + p.Reason
	}
	return words
}

// joinKeys returns the names of the policies that override the policy of the report p or are merged with it. It
// returns "others" if these are not known.
func joinKeys(p explain.PolicyReport) string {
	var names []string
	for _, key := range p.By {
		names = append(names, key.String())
	}
	if len(names) == 0 {
		return "others"
	}
	return strings.Join(names, ", ")
}
