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
	"github.com/gatefold/gatefold/translate/route"
)

// words returns the requests of a pair as text: the narrower match, or both.
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

// narrower reports whether every request that a takes surely is one that b takes.
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

// reasons says why the rules of a pair are not the same, or do something else.
func (h *hostPair) reasons(p pair) []Reason {
	if p.before == nil || p.after == nil {
		return []Reason{h.order(p)}
	}
	if p.before.match == p.after.match && p.before.rule.Source.Key == p.after.rule.Source.Key {
		return h.differences(p)
	}
	return append([]Reason{h.order(p)}, h.losses(p)...)
}

// losses says which policies no longer hold for the requests of a pair, as another rule takes them, and
// counts them. A rule that closes its requests loses nothing.
func (h *hostPair) losses(p pair) (out []Reason) {
	a, b := &p.before.rule.Action, &p.after.rule.Action
	if b.Respond != nil {
		return nil
	}
	for _, part := range components(a) {
		field, isPolicy := (ir.Part{Kind: part.kind}).PolicyField()
		had, has := partWords(part.kind, a), partWords(part.kind, b)
		if !isPolicy || had == "" || had == explain.TurnedOff || has != "" && has != explain.TurnedOff {
			continue
		}
		places := partPlaces(part.kind, a, true)
		out = append(out, Reason{fmt.Sprintf("%s no longer holds for these requests: %s has none; before: %s", field, ruleOf(p.after).Words(), had), places})
		if p.before.match != p.after.match { // countPolicies has those of one match
			h.count(PolicyChange{Kind: Removed, Field: string(field), Before: had, Policies: objectsOf(places)}, p.before.rule.Source.Key)
		}
	}
	return out
}

// order says why another rule takes the requests.
func (h *hostPair) order(p pair) Reason {
	var at []Place
	if p.after != nil {
		at = append(at, placeOfRule(p.after, false))
	}
	gone := p.before != nil && h.counterpart(1, p.before) == nil
	isNew := p.after != nil && h.counterpart(0, p.after) == nil
	if gone {
		at = append(at, placeOfRule(p.before, true))
	}
	a, b := ruleOf(p.before), ruleOf(p.after)
	switch {
	case p.after == nil && h.views[1] == nil:
		return Reason{fmt.Sprintf("no route serves the host any more; before, %s did", a.Words()), at}
	case p.after == nil:
		return Reason{fmt.Sprintf("%s is gone, and no other rule takes the requests", a.Words()), at}
	case p.before == nil:
		return Reason{b.Words() + " is new", at}
	case p.before.match == p.after.match:
		return Reason{fmt.Sprintf("%s now takes the requests of %s, which has the same match and comes later", b.Words(), a.Words()), at}
	case gone && isNew:
		return Reason{fmt.Sprintf("%s is new, in the place of %s, which is gone", b.Words(), a.Words()), at}
	case gone:
		return Reason{fmt.Sprintf("%s is gone; %s takes its requests", a.Words(), b.Words()), at}
	case isNew:
		return Reason{fmt.Sprintf("%s is new, and comes before %s: %s", b.Words(), a.Words(), route.Why(p.after.rule, h.counterpart(1, p.before).rule)), at}
	}
	return Reason{fmt.Sprintf("%s now comes before %s: %s", b.Words(), a.Words(), route.Why(p.after.rule, h.counterpart(1, p.before).rule)), at}
}

// counterpart returns the entry of a side with the same match, nil if there is none.
func (h *hostPair) counterpart(side int, e *entry) *entry {
	if e.twin != nil {
		return e.twin
	}
	for _, other := range h.indexes[side].all(e.rule.Match.Path) {
		if other.match == e.match {
			return other
		}
	}
	return nil
}

func placeOfRule(e *entry, before bool) Place {
	rule := ruleOf(e)
	return Place{Source: rule.At, Before: before}
}

// component is a part of an action that is compared by itself.
type component struct {
	kind  string // as Part.Kind
	value any
}

// components returns the parts of an action, beside what it forwards to. The fields of policies are
// those of ir.Extras.
func components(a *ir.Action) []component {
	e := a.Extras.OrNone()
	field := func(f ir.Field, value any) component { return component{f.PartKind(), value} }
	return []component{
		{string(gwv1.HTTPRouteFilterRequestRedirect), a.Redirect},
		{string(gwv1.HTTPRouteFilterURLRewrite), a.Rewrite},
		{string(gwv1.HTTPRouteFilterRequestHeaderModifier), a.RequestHeaders},
		{string(gwv1.HTTPRouteFilterResponseHeaderModifier), a.ResponseHeaders},
		{string(gwv1.HTTPRouteFilterRequestMirror), a.Mirrors},
		{string(gwv1.HTTPRouteFilterCORS), a.CORS},
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

// differences says what the actions of two rules with the same match do otherwise.
func (h *hostPair) differences(p pair) (out []Reason) {
	a, b := &p.before.rule.Action, &p.after.rule.Action
	out = append(out, h.targets(p)...)
	before, after := components(a), components(b)
	for i := range before {
		if h.effects[0].of(before[i].value) == h.effects[1].of(after[i].value) {
			continue
		}
		kind := before[i].kind
		text := fmt.Sprintf("%s: %s", kind, change(partWords(kind, a), partWords(kind, b)))
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

// currentFirst leaves places before out if there are places after.
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

// change says what was and what is; "" is nothing.
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

// partWords returns what the parts of a kind do together, "" if there are none.
func partWords(kind string, a *ir.Action) string {
	for _, part := range a.Parts {
		if part.Kind == kind {
			return cmp.Or(explain.ActionWords(part, a), "set")
		}
	}
	return ""
}

func partPlaces(kind string, a *ir.Action, before bool) (out []Place) {
	for _, part := range a.Parts {
		if part.Kind == kind {
			out = append(out, Place{Source: explain.Source{Object: part.Object, Field: part.Field}, Before: before})
		}
	}
	return out
}

// targets says what differs about where the requests go.
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
			out = append(out, h.cluster(one.Cluster, place))
		}
		one.Cluster, other.Cluster = "", ""
		if h.effects[0].of(one) != h.effects[1].of(other) {
			at := explain.Source{Object: p.after.rule.Source.Key, Field: other.Field}
			out = append(out, Reason{"filters of the backend reference differ", []Place{{Source: at}}})
		}
	}
	return out
}

// targetPlaces returns the references of the rule after, or else the rule.
func (h *hostPair) targetPlaces(p pair) (out []Place) {
	action := &p.after.rule.Action
	if action.Respond != nil && len(action.Parts) > 0 {
		return partPlaces(action.Parts[0].Kind, action, false)
	}
	if action.Forward == nil {
		return []Place{placeOfRule(p.after, false)}
	}
	for _, b := range action.Forward.Backends {
		if b.Field != "" {
			out = append(out, Place{Source: explain.Source{Object: p.after.rule.Source.Key, Field: b.Field}})
		}
	}
	return out
}

// answers says what an action answers with: its backends with their weights, or itself.
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

// cluster says what differs about a backend that both sides have.
func (h *hostPair) cluster(name string, place []Place) Reason {
	before, after := h.before.View.Clusters[name], h.after.View.Clusters[name]
	if before == nil || after == nil {
		return Reason{"backend " + name + " differs", place}
	}
	var at []Place
	for _, object := range after.Objects {
		at = append(at, Place{Source: explain.Source{Object: object}})
	}
	x, y := explain.Endpoints(before), explain.Endpoints(after)
	if !slices.Equal(x, y) {
		return Reason{fmt.Sprintf("backend %s has the endpoints %s; before: %s", name, orNone(y), orNone(x)), at}
	}
	if h.effects[0].of(before.TLS) != h.effects[1].of(after.TLS) {
		return Reason{fmt.Sprintf("TLS to backend %s: %s", name, change(tlsWords(before.TLS), tlsWords(after.TLS))), at}
	}
	return Reason{"how Envoy connects to backend " + name + " differs", at}
}

func tlsWords(t *ir.UpstreamTLS) string {
	if t == nil {
		return ""
	}
	return "with the server name " + t.Hostname
}

// countPolicies notes the fields of policies that a rule gains, loses or has otherwise.
func (h *hostPair) countPolicies(p pair) {
	if h.counted[[2]*ir.Rule{p.before.rule, p.after.rule}] {
		return
	}
	h.counted[[2]*ir.Rule{p.before.rule, p.after.rule}] = true
	a, b := &p.before.rule.Action, &p.after.rule.Action
	before, after := components(a), components(b)
	for i := range before {
		kind := before[i].kind
		field, isPolicy := (ir.Part{Kind: kind}).PolicyField()
		if !isPolicy || h.effects[0].of(before[i].value) == h.effects[1].of(after[i].value) {
			continue
		}
		one := PolicyChange{Kind: Changed, Field: string(field), Before: partWords(kind, a), After: partWords(kind, b)}
		one.Policies = objectsOf(currentFirst(append(partPlaces(kind, b, false), partPlaces(kind, a, true)...)))
		switch {
		case one.Before == "" || one.Before == explain.TurnedOff:
			one.Kind = Added
		case one.After == "" || one.After == explain.TurnedOff:
			one.Kind = Removed
		}
		source := p.after.rule.Source.Key
		if one.Kind == Removed {
			source = p.before.rule.Source.Key
		}
		h.count(one, source)
	}
}

func (h *hostPair) count(one PolicyChange, source manifest.Key) {
	key := fmt.Sprint(one.Kind, one.Field, one.Before, one.After, one.Policies)
	known := h.policies[key]
	if known == nil {
		known = &one
		h.policies[key] = known
	}
	known.Rules++
	if i, is := slices.BinarySearchFunc(known.Routes, source, manifest.CompareKeys); !is {
		known.Routes = slices.Insert(known.Routes, i, source)
	}
}
