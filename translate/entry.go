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

// entry is a rule with its encoding, as tables keep it.
type entry struct {
	Rule    *ir.Rule
	Encoded []byte
	// Own are the policies of the route and those above it, nil for none.
	Own *policy.Resolved
}

func compareEntries(a, b *entry) int { return route.Compare(a.Rule, b.Rule) }

// sameEntry compares the encodings first, which Envoy gets, and then the rest, which explain shows.
func sameEntry(a, b *entry) bool {
	return a == b || a != nil && b != nil && bytes.Equal(a.Encoded, b.Encoded) && reflect.DeepEqual(a.Rule, b.Rule)
}

// closing is the reason why rules answer 500 instead of serving; nil if nothing is wrong.
type closing struct {
	Why string
	At  ir.Part // where that is written
	// Unasked is Respond.Unasked.
	Unasked string
}

// before reports whether a reason replaces an earlier one, which may be nil. A mistake goes before
// an issuer whose discovery document is not known yet, because no answer of the issuer can open the
// rule.
func (by *closing) before(earlier *closing) bool {
	return by != nil && (earlier == nil || earlier.Unasked != "" && by.Unasked == "")
}

// closed returns the entry that answers 500 in place of e.
func (e *entry) closed(by *closing) *entry {
	rule := xds.Closed(e.Rule)
	rule.Action.Respond.Why, rule.Action.Respond.Unasked, rule.Action.Parts = by.Why, by.Unasked, []ir.Part{by.At}
	encoded, problems := xds.Route(rule)
	if len(problems) > 0 { // its match was encoded before
		panic(fmt.Sprintf("translate: %s is refused when it is closed: %+v", rule.Name, problems))
	}
	return &entry{Rule: rule, Encoded: encoded}
}

// sets reports whether the route sets a field itself: by a policy or, for a field that its virtual
// host could set for it, by a filter.
func (e *entry) sets(field ir.Field) bool {
	return e.Own != nil && e.Own.Sets(field) || xds.HeldByHost(field) && policy.RouteHas(&e.Rule.Action, field)
}

// under returns the entry's rule with the fields that its host sets and the rule does not.
// connected are the host's extras with the services that they name.
func (e *entry) under(host *policy.Resolved, connected *ir.Extras) *ir.Rule {
	own, rule := e.Own, *e.Rule
	if own == nil {
		own = &policy.Resolved{}
	}
	open := host.Only(func(field ir.Field) bool { return !e.sets(field) })
	merged := own.Under(&open)
	rule.Action.Extras = merged.Extras()
	connect(rule.Action.Extras, e.Rule.Action.Extras, connected)
	parts := policyParts(open.Origins)
	for _, part := range extensionParts(rule.Action.Extras) {
		if field, ok := part.PolicyField(); ok && open.Sets(field) {
			parts = append(parts, part)
		}
	}
	parts = slices.DeleteFunc(parts, func(part ir.Part) bool { return slices.Contains(rule.Action.Parts, part) })
	rule.Action.Parts = slices.Concat(rule.Action.Parts, parts)
	return &rule
}

// connect copies the extensions and credentials that were already looked up for other extras.
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

// ruleField returns the field of a rule in its object.
func ruleField(rule *ir.Rule) string {
	return fmt.Sprintf("spec.rules[%d]", rule.Position[len(rule.Position)-2])
}

// matchField returns the field of a rule's match in its object. For a rule that was added for an
// identity provider it is the field of the rule.
func matchField(rule *ir.Rule) string {
	if rule.SignIn != (manifest.Key{}) {
		return ruleField(rule)
	}
	return fmt.Sprintf("%s.matches[%d]", ruleField(rule), rule.Position[len(rule.Position)-1])
}

// policyParts returns a Part for each effective field of a policy.
func policyParts(origins []policy.FieldOrigin) []ir.Part {
	var parts []ir.Part
	for _, origin := range origins {
		for _, key := range origin.From {
			parts = append(parts, ir.Part{Kind: origin.Field.PartKind(), Object: key, Field: origin.Field.Path()})
		}
	}
	return parts
}

// extensionParts returns a Part for each extension that an effective field names.
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
