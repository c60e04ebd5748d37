package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// words returns a text for the requests that can meet a pair. It is the text of the narrower match. If neither
// match is narrower, it is the text of both matches.
func (p pair) words() string {
	switch {
	case p.before == nil:
		return explain.MatchWords(p.after.rule.Match)
	case p.after == nil:
		return explain.MatchWords(p.before.rule.Match)
	}
	a, b := &p.before.rule.Match, &p.after.rule.Match
	first, second := explain.MatchWords(*a), explain.MatchWords(*b)
	switch {
	case narrower(a, b):
		return first
	case narrower(b, a):
		return second
	}
	return first + ", and also " + second
}

// narrower reports whether b certainly matches every request that a matches. A false result may also mean that
// this is not known.
func narrower(a, b *ir.Match) bool {
	inPath := a.Path == b.Path && a.Within == b.Within
	if b.Path.Kind == ir.PathPrefix && b.Within == "" && a.Path.Kind != ir.PathRegex {
		inPath = within(a.Path.Value, b.Path.Value)
	}
	if b.Path.Kind == ir.PathPrefix && b.Within == "" && segments(b.Path.Value) == "" {
		inPath = true
	}
	has := func(list []ir.ValueMatch, all []ir.ValueMatch) bool {
		return !slices.ContainsFunc(all, func(one ir.ValueMatch) bool { return !slices.Contains(list, one) })
	}
	return inPath && (b.Method == "" || a.Method == b.Method) && has(a.Headers, b.Headers) && has(a.Query, b.Query)
}

// reasons returns why the rules of a pair differ. If both rules have the same route and match, it returns the
// differences of their actions. Otherwise it returns why another rule matches, and which policies do not apply
// any more.
func (h *hostPair) reasons(p pair) []Reason {
	if p.before == nil || p.after == nil {
		return []Reason{h.order(p)}
	}
	if p.before.match == p.after.match && p.before.rule.Source.Key == p.after.rule.Source.Key {
		return h.differences(p)
	}
	return append([]Reason{h.order(p)}, h.losses(p)...)
}

// placeOfRule returns the place of an entry's match. The parameter before says whether the place is in the
// configuration before.
func placeOfRule(e *entry, before bool) Place {
	rule := ruleOf(e)
	return Place{Source: rule.At, Before: before}
}

const corsFilter = string(gwv1.HTTPRouteFilterCORS)

// component is a part of an action that is compared on its own.
type component struct {
	kind  string // as Part.Kind
	value any
}

// components returns the components of an action, except its backends and its direct answer, which targets
// compares. All results have the same kinds in the same order.
func components(a *ir.Action) []component {
	e := a.Extras.OrNone()
	field := func(f ir.Field, value any) component { return component{f.PartKind(), value} }
	return []component{
		{string(gwv1.HTTPRouteFilterRequestRedirect), a.Redirect},
		{string(gwv1.HTTPRouteFilterURLRewrite), a.Rewrite},
		{string(gwv1.HTTPRouteFilterRequestHeaderModifier), a.RequestHeaders},
		{string(gwv1.HTTPRouteFilterResponseHeaderModifier), a.ResponseHeaders},
		{string(gwv1.HTTPRouteFilterRequestMirror), a.Mirrors},
		{corsFilter, a.CORS},
		{ir.PartExternalAuth, a.ExternalAuth},
		{ir.PartTimeouts, [2]any{a.RequestTimeout, a.BackendTimeout}},
		{ir.PartRetry, a.Retry},
		field(ir.FieldACL, e.ACL), field(ir.FieldRBAC, e.RBAC), field(ir.FieldExtAuth, e.ExtAuth), field(ir.FieldExtProc, e.ExtProc),
		field(ir.FieldBasicAuth, e.BasicAuth), field(ir.FieldAPIKeyAuth, e.APIKeyAuth), field(ir.FieldOAuth2, e.OAuth2), field(ir.FieldJWTAuth, e.JWTAuth),
		field(ir.FieldLocalRateLimit, e.RateLimit), field(ir.FieldGlobalRateLimit, e.GlobalLimit), field(ir.FieldCORS, e.CORS), field(ir.FieldCSRF, e.CSRF),
		field(ir.FieldTransformation, [2]any{e.Request, e.Response}), field(ir.FieldBuffer, e.BufferBytes),
		field(ir.FieldHeaderModifiers, [2]any{e.RequestHeaders, e.ResponseHeaders}), field(ir.FieldAutoHostRewrite, e.AutoHost),
		field(ir.FieldTimeouts, [2]any{e.RequestTimeout, e.IdleTimeout}), field(ir.FieldRetry, e.Retry), field(ir.FieldHashPolicies, e.Hash),
	}
}

// differences returns how the actions of two rules with the same match differ. It returns at least one Reason.
func (h *hostPair) differences(p pair) (out []Reason) {
	a, b := &p.before.rule.Action, &p.after.rule.Action
	out = append(out, h.targets(p)...)
	before, after := components(a), components(b)
	// A rule that an invalid policy makes answer 500 has no parts. The missing parts are not reported as removed.
	if a.ClosedBy() != b.ClosedBy() {
		before = nil
	}
	for i := range before {
		if h.effects[0].of(before[i].value) == h.effects[1].of(after[i].value) {
			continue
		}
		kind := before[i].kind
		text := joined(fmt.Sprintf("%s: %s", kind, change(partWords(kind, a), partWords(kind, b))), h.details(kind, a, b))
		out = append(out, Reason{text, append(partPlaces(kind, b, false), partPlaces(kind, a, true)...)})
	}
	for i := range out {
		out[i].At = currentFirst(out[i].At)
	}
	if len(out) == 0 {
		out = []Reason{{"the rule does something else", []Place{placeOfRule(p.after, false)}}}
	}
	return out
}

// currentFirst returns the places in the configuration after, each once. If there are none, it returns all
// places.
func currentFirst(places []Place) []Place {
	var now []Place
	for _, at := range places {
		if !at.Before && !slices.Contains(now, at) {
			now = append(now, at)
		}
	}
	if len(now) > 0 {
		return now
	}
	return places
}

// change returns the old and the new value of a setting, in words. "" means that the setting has no value. If
// both values are equal, it returns the value, or "changed" for "", followed by "(changed)".
func change(before, after string) string {
	switch {
	case before == after:
		return cmp.Or(after, "changed") + " (changed)"
	case before == "":
		return "added: " + after
	case after == "":
		return "removed; before: " + before
	}
	return after + "; before: " + before
}

// partWords returns, in words, what the first Part of a kind does. For rbac it adds at most maxListed
// expressions. It returns "" if the action has no such Part.
func partWords(kind string, a *ir.Action) string {
	for _, part := range a.Parts {
		if part.Kind == kind {
			words := cmp.Or(explain.ActionWords(part, a), "set")
			if rbac := a.Extras.OrNone().RBAC; rbac != nil && kind == ir.FieldRBAC.PartKind() && len(rbac.Expressions) > 0 {
				words += " (" + oneLine(strings.Join(rbac.Expressions[:min(len(rbac.Expressions), maxListed)], "; ")) + ")"
			}
			return words
		}
	}
	return ""
}

// partPlaces returns the places of an action's Parts of a kind. The parameter before says whether the places
// are in the configuration before.
func partPlaces(kind string, a *ir.Action, before bool) (out []Place) {
	for _, part := range a.Parts {
		if part.Kind == kind {
			out = append(out, Place{Source: explain.Source{Object: part.Object, Field: part.Field}, Before: before})
		}
	}
	return out
}

// targets returns how the backends of two rules differ, or how their answers without a backend differ. It
// returns nil if there is no difference.
func (h *hostPair) targets(p pair) (out []Reason) {
	a, b := &p.before.rule.Action, &p.after.rule.Action
	place := []Place{placeOfRule(p.after, false)}
	x, y := answers(a), answers(b)
	if x != y {
		return []Reason{{fmt.Sprintf("%s; before: %s", y, x), h.targetPlaces(p)}}
	}
	if a.Forward == nil || b.Forward == nil {
		return nil
	}
	for i := range min(len(a.Forward.Backends), len(b.Forward.Backends)) {
		one, other := a.Forward.Backends[i], b.Forward.Backends[i]
		if h.effects[0].ofCluster(one.Cluster) != h.effects[1].ofCluster(other.Cluster) {
			out = append(out, h.cluster(one.Cluster, place)...)
		}
		one.Cluster, other.Cluster = "", ""
		if h.effects[0].of(one) != h.effects[1].of(other) {
			at := explain.Source{Object: p.after.rule.Source.Key, Field: other.Field}
			out = append(out, Reason{"filters of the backend reference differ", []Place{{Source: at}}})
		}
	}
	return out
}

// targetPlaces returns the places to blame for a changed answer of a rule, in this order of preference: the
// policy that makes the rule answer 500; the removed backends; the changed backendRefs; the rule.
func (h *hostPair) targetPlaces(p pair) (out []Place) {
	a, b := &p.before.rule.Action, &p.after.rule.Action
	source := p.after.rule.Source.Key
	if b.ClosedBy() != "" {
		return partPlaces(ir.PartClosed, b, false)
	}
	if out = h.goneBackends(p); len(out) > 0 {
		return out
	}
	if b.Forward == nil || a.Forward == nil {
		if references := h.references(p.after); references.Field != "" && b.Redirect == nil {
			return []Place{{Source: references}}
		}
		return []Place{placeOfRule(p.after, false)}
	}
	before := a.Forward.Backends
	for i, to := range b.Forward.Backends {
		if to.Field != "" && (i >= len(before) || before[i].Cluster != to.Cluster || before[i].Weight != to.Weight) {
			out = append(out, Place{Source: explain.Source{Object: source, Field: to.Field}})
		}
	}
	if len(out) == 0 {
		return []Place{{Source: h.references(p.after)}}
	}
	return out
}

// references returns the field backendRefs of the rule of an entry.
func (h *hostPair) references(e *entry) explain.Source {
	rule := ruleOf(e)
	return explain.Source{Object: rule.Object, Field: fmt.Sprintf("spec.rules[%d].backendRefs", rule.Rule)}
}

// goneBackends returns the places of the backends of the rule before whose Service or Backend was removed. If
// the newest version of that object is invalid, the place is in the configuration after. Otherwise it is in the
// configuration before. It returns nil if there are no such backends.
func (h *hostPair) goneBackends(p pair) (out []Place) {
	a, b := p.before.rule.Action.Forward, p.after.rule.Action.Forward
	if a == nil {
		return nil
	}
	for _, from := range a.Backends {
		cluster := h.before.View.Clusters[from.Cluster]
		kept := b != nil && slices.ContainsFunc(b.Backends, func(to ir.Backend) bool { return to.Cluster == from.Cluster })
		if cluster == nil || kept || len(cluster.Objects) == 0 || h.objectKinds()[cluster.Objects[0]] != Removed {
			continue
		}
		object := cluster.Objects[0]
		out = append(out, Place{Source: explain.Source{Object: object}, Before: h.mistakeOf(object) == ""})
	}
	return out
}

// mistakeOf returns the error that makes an object of the configuration before missing in the configuration
// after. It returns "" if the object is not missing, or if no error names it.
func (c *comparison) mistakeOf(object manifest.Key) string {
	if c.objectKinds()[object] != Removed {
		return ""
	}
	if c.mistakes == nil {
		c.mistakes = map[manifest.Key]string{}
		for _, p := range slices.Backward(c.after.Problems) {
			if p.Severity == manifest.Error {
				c.mistakes[p.Object] = p.Message
			}
		}
	}
	return c.mistakes[object]
}

// answers returns, in words, the backends of an action with their weights. For an action without backends it
// returns what Envoy answers.
func answers(a *ir.Action) string {
	switch {
	case a.Respond != nil:
		return strings.TrimSuffix(fmt.Sprintf("the rule answers %d: %s", a.Respond.Status, a.Respond.Why), ": ")
	case a.Redirect != nil:
		return "the rule redirects"
	case a.Forward == nil:
		return "the rule has no backend"
	}
	var all []string
	for _, b := range a.Forward.Backends {
		name := cmp.Or(b.Cluster, "a reference that is not resolved")
		if len(a.Forward.Backends) > 1 || b.Weight != 1 {
			name = fmt.Sprintf("%s (weight %d)", name, b.Weight)
		}
		all = append(all, name)
	}
	return "the backends are " + cmp.Or(strings.Join(all, ", "), "none")
}
