package translate

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/xds"
)

// entry is a rule of a virtual host, with its encoding for Envoy.
type entry struct {
	Rule    *ir.Rule
	Encoded []byte
	// Own are the merged policies of the rule and of the delegating rules above it, nil if there are none.
	// Policies of the virtual host are not included.
	Own *policy.Resolved
	// Aim has what the rule leads to and what its policies write, also if the rule answers 500. It is nil if there is
	// neither.
	Aim *aim
}

func compareEntries(a, b *entry) int { return route.Compare(a.Rule, b.Rule) }

// sameEntry reports whether two entries have the same encoding for Envoy, and the same rule and policies for
// explain. Their aims may differ: a virtual host does not read them. Both may be nil.
func sameEntry(a, b *entry) bool {
	return a == b || a != nil && b != nil &&
		bytes.Equal(a.Encoded, b.Encoded) && reflect.DeepEqual(a.Rule, b.Rule) && reflect.DeepEqual(a.Own, b.Own)
}

// closing is the reason why rules answer 500 (rules of a GRPCRoute: UNAVAILABLE) instead of serving. A nil
// closing means that they serve.
type closing struct {
	Why string
	At  ir.Part // the cause in the user's objects
	// Unasked is the issuer whose discovery document was not requested, if that is the only reason
	// (ir.Respond.Unasked). Otherwise it is "".
	Unasked string
}

// before reports whether the new reason c must replace the reason that was found first (the parameter earlier). A
// nil closing means no reason: nil replaces nothing, and any reason replaces nil. If both reasons exist, the earlier
// reason stays, with one exception: an earlier reason with Unasked is replaced by a new reason without Unasked. A
// reason with Unasked ends when the issuer is requested; a reason without Unasked does not.
func (c *closing) before(earlier *closing) bool {
	return c != nil && (earlier == nil || earlier.Unasked != "" && c.Unasked == "")
}

// closed returns an entry that has the same match as e and answers 500 (UNAVAILABLE for a GRPCRoute). The
// parameter by is the reason, which is shown to users. It must not be nil.
func (e *entry) closed(by *closing) *entry {
	rule := xds.Closed(e.Rule)
	rule.Action.Respond.Why, rule.Action.Respond.Unasked, rule.Action.Parts = by.Why, by.Unasked, []ir.Part{by.At}
	encoded, problems := xds.Route(rule)
	if len(problems) > 0 { // the match was encoded before
		panic(fmt.Sprintf("translate: %s is refused when it is closed: %+v", rule.Name, problems))
	}
	return &entry{Rule: rule, Encoded: encoded, Aim: e.Aim}
}

// sets reports whether the route of e itself sets a policy field, so that the listener's policies must not set it. A
// TrafficPolicy of the route can set any policy field. A filter of the rule counts only for fields that a virtual
// host can configure for all of its routes (xds.HeldByHost). For other fields, the rule's setting takes precedence
// over the listener's policies anyway (policy.RouteHas).
func (e *entry) sets(field ir.Field) bool {
	return e.Own != nil && e.Own.Sets(field) || xds.HeldByHost(field) && policy.RouteHas(&e.Rule.Action, field)
}

// lifts returns the Loosening with the policy of e, or its filter, that goes before a policy of cluster paths. found is
// false if e has none, or one of cluster paths.
func (e *entry) lifts(l policy.Loosening) (_ policy.Loosening, found bool) {
	if filter := policy.FilterOf(l.Field); filter != "" && policy.RouteHas(&e.Rule.Action, l.Field) {
		at := slices.IndexFunc(e.Rule.Action.Parts, func(p ir.Part) bool { return p.Kind == filter })
		if at < 0 || e.Rule.Source.Key != e.Rule.Action.Parts[at].Object {
			return l, false
		}
		l.Child, l.At = e.Rule.Source.Key, e.Rule.Action.Parts[at].Field
		return l, e.Rule.Source.Outside
	}
	if e.Own == nil {
		return l, false
	}
	return e.Own.LiftedFrom(l)
}

// under returns a copy of the rule of e with the policy fields of the listener (host): those that the route does not
// set itself, and those that go before the route's or are combined with them (policy.Stack). The parameter connected
// has the extensions and credentials that the listener's fields refer to; the copy gets them. The parameter connected
// may be nil.
func (e *entry) under(host policy.Stack, connected *ir.Extras) *ir.Rule {
	own, rule := e.Own, *e.Rule
	if own == nil {
		own = &policy.Resolved{}
	}
	merged := own.Below(host.Only(func(field ir.Field) bool {
		return !xds.HeldByHost(field) || !policy.RouteHas(&e.Rule.Action, field)
	}))
	rule.Action.Extras = withForged(merged.Extras(), e.Rule.Forged())
	connect(rule.Action.Extras, e.Rule.Action.Extras, connected)
	current := policyParts(merged.Origins)
	for _, part := range extensionParts(rule.Action.Extras) {
		if _, ok := part.PolicyField(); ok {
			current = append(current, part)
		}
	}
	parts := slices.DeleteFunc(slices.Clone(rule.Action.Parts), func(part ir.Part) bool {
		_, ofPolicy := part.PolicyField()
		return ofPolicy && !slices.Contains(current, part)
	})
	for _, part := range current {
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	rule.Action.Parts = parts
	return &rule
}

// connect fills in the extensions and credentials that extras refers to. The parameter others has the values
// for these references. A reference without a value in others gets nil.
func connect(extras *ir.Extras, others ...*ir.Extras) {
	known, read := map[manifest.Key]*ir.Extension{}, map[ir.CredentialSource][]ir.Credential{}
	for _, other := range others {
		for _, use := range other.Extensions() {
			known[use.Key] = use.Extension
		}
		for _, use := range other.Credentials() {
			read[use.Source] = use.List
		}
	}
	for _, use := range extras.Extensions() {
		use.Extension = known[use.Key]
	}
	for _, use := range extras.Credentials() {
		use.List = read[use.Source]
	}
}

// ruleField returns the path of a rule in its route, for example "spec.rules[0]".
func ruleField(rule *ir.Rule) string {
	return fmt.Sprintf("spec.rules[%d]", rule.Position[len(rule.Position)-2])
}

// matchField returns the path of a rule's match in its route, for example "spec.rules[0].matches[1]". For a
// rule that was added for an identity provider it returns ruleField.
func matchField(rule *ir.Rule) string {
	if rule.SignIn != (manifest.Key{}) {
		return ruleField(rule)
	}
	return fmt.Sprintf("%s.matches[%d]", ruleField(rule), rule.Position[len(rule.Position)-1])
}

// policyParts returns an ir.Part for each policy of each effective field.
func policyParts(origins []policy.FieldOrigin) []ir.Part {
	var parts []ir.Part
	for _, origin := range origins {
		for _, key := range origin.From {
			parts = append(parts, ir.Part{Kind: origin.Field.PartKind(), Object: key, Field: origin.Field.Path()})
		}
	}
	return parts
}

// extensionParts returns an ir.Part for each extension that extras names, nil for nil extras.
func extensionParts(extras *ir.Extras) []ir.Part {
	if extras == nil {
		return nil
	}
	var parts []ir.Part
	for _, use := range extras.Extensions() {
		parts = append(parts, ir.Part{Kind: use.Field.PartKind(), Object: use.Key, Field: use.Extension.Path()})
	}
	return parts
}
