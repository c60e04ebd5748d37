// Package route translates route objects into ir Rules: matches, filters, timeouts, and the order in which
// rules are tried. Its functions are pure.
package route

import (
	"fmt"
	"math"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
)

// Resolver resolves a backend reference. The parameter calls is true if Envoy itself calls the backend by gRPC, as an
// external service.
type Resolver func(ref gwv1.BackendObjectReference, calls bool) backend.Resolution

// Flat is the translation of one HTTPRoute or GRPCRoute for one port.
type Flat struct {
	// Rules have one match each, in the order of the object.
	Rules []*ir.Rule
	// Backends are the resolved backends of backendRefs and filters, sorted and unique.
	Backends []*backend.Key
	// Problems are the problems of fields of the object.
	Problems []manifest.Problem
	// Unresolved has the reason of the first reference that cannot be resolved, and a message about all such
	// references. Its Reason is "" if all references are resolved.
	Unresolved Unresolved
	// Unsupported lists, in words and each once, the fields of the route that gatefold does not serve as written.
	// Closed are the indexes of the rules with a filter that cannot be applied. Requests to them get an error.
	Unsupported []string
	Closed      []int

	// Points are the matches at which the route delegates requests to other routes.
	Points []*Point
	// Live names the Points of the parents below which this route has at least one rule, or a Point of its own.
	Live []string
	// Missed are the matches of this route that cannot be combined with any Point of the parents.
	Missed []Miss
	// Conflict is the reason why a parent cannot include the route, or "". If one rule conflicts, no rule is
	// included (GEP-1058, Binding).
	Conflict string
}

// Unresolved is the reason and message of a condition ResolvedRefs that is False. It is zero if the condition
// is True.
type Unresolved struct {
	Reason  gwv1.RouteConditionReason
	Message string
}

// Miss is a match of a child route that cannot be combined with any match of its parents (Point), so that it
// serves nothing. Why is the reason.
type Miss struct {
	Field, Why string
}

// String returns the field and the reason.
func (m Miss) String() string { return m.Field + ": " + m.Why }

// Setting is the input of Flatten besides the object.
type Setting struct {
	// Port is the listener's port, which a redirect without a port uses (Gateway API,
	// HTTPRequestRedirectFilter.port). It is 0 for a route that is not served.
	Port uint32
	// Schemes are the schemes of the route's listeners on the port, sorted: http, https, or both if they are listeners of
	// different Gateways.
	Schemes []string
	// Origin is the object's origin. If it is nil, Flatten computes it.
	Origin *ir.Origin
	// Wildcard is the word for all namespaces in a backendRef that selects routes by label (see AllNamespaces).
	Wildcard string
	// Weighted turns on the weights of routes (EP-11466). If Siblings is false, a rule's weight counts against all
	// rules of the host. If Siblings is true, it counts only against its siblings: the rules that are reached through
	// the same match of a delegating rule.
	Weighted, Siblings bool
	// Hosts are the hostnames that the route may serve: ir.EveryHost for a root, and for a child the Hosts of its
	// parent, limited by the child's hostnames and namespace. If the set is empty, the route has no rules.
	Hosts ir.Hosts
	// Links bind the route to Points of its parents. They are nil for a root.
	Links []Link
	// Trusted is true if proxies in front are trusted, so that requests keep the headers of ir.ClaimedHeaders.
	Trusted bool
	// Loops returns the listener to which an endpoint of a backend leads, in words, or "". It is nil if mirrors may lead
	// to listeners.
	Loops func(backend.Key) string
}

// Flatten translates an HTTPRoute or GRPCRoute for one port. If Setting.Links is nil, the HTTPRoute is a root;
// otherwise it is a child in a delegation tree. A GRPCRoute is always a root.
func Flatten(object *manifest.Object, setting Setting, resolve Resolver) *Flat {
	b := newBuilder(object, setting, resolve)
	if b.hosts.None() {
		return b.flat
	}
	switch route := object.Value.(type) {
	case *api.HTTPRoute:
		b.shut = closedRules(route.Annotations)
		b.readWeight(setting.Weighted)
		b.readStatuses(route.Spec.Rules)
		b.blocks = setting.Weighted && setting.Siblings
		b.bind(route, setting.Links)
		for i := range route.Spec.Rules {
			b.checkHTTPMatches(i, route.Spec.Rules[i].Matches)
			b.rule(i, &route.Spec.Rules[i], httpMatches(route.Spec.Rules[i].Matches))
		}
	case *gwv1.GRPCRoute:
		b.grpc = true
		b.shut = closedRules(route.Annotations)
		b.ignoreWeight()
		for i, rule := range grpcRules(route) {
			b.checkGRPCMatches(i, route.Spec.Rules[i].Matches)
			b.rule(i, &rule, grpcMatches(route.Spec.Rules[i].Matches))
		}
	}
	if b.flat.Unresolved.Reason != "" {
		b.flat.Unresolved.Message = Several(b.unresolved)
	}
	b.flat.Backends = backend.Unique(b.flat.Backends)
	return b.flat
}

// builder builds the Flat of one object.
type builder struct {
	object   *manifest.Object
	origin   *ir.Origin
	shut     map[string]string // the reasons of closed rules, by their names (api.AnnotationClosed)
	port     uint32
	schemes  []string // see Setting
	wildcard string
	weight   int32        // the weight from the route's annotation (EP-11466), or 0
	statuses []ruleStatus // of redirects, from the annotation statusAnnotation
	blocks   bool         // weights only order the rules below the same delegating match (Setting.Siblings, ir.Rule.Blocks)
	grpc     bool         // the object is a GRPCRoute
	hosts    ir.Hosts
	trusted  bool // see Setting
	loops    func(backend.Key) string
	links    []Link
	resolve  Resolver
	flat     *Flat
	live     map[string]bool // flat.Live as a set
	// unresolved are the messages about references that cannot be resolved, each once.
	unresolved []string
}

// newBuilder returns a builder without rules.
func newBuilder(object *manifest.Object, setting Setting, resolve Resolver) *builder {
	b := &builder{object: object, origin: setting.Origin, port: setting.Port, schemes: setting.Schemes, wildcard: setting.Wildcard, hosts: setting.Hosts, trusted: setting.Trusted, loops: setting.Loops, resolve: resolve, flat: &Flat{}}
	if b.origin == nil {
		b.origin = OriginOf(object)
	}
	return b
}

// problem adds a problem of a field of the object.
func (b *builder) problem(severity manifest.Severity, code, field, message, hint string) {
	b.flat.Problems = append(b.flat.Problems, manifest.Problem{
		Code: code, Severity: severity, Object: b.origin.Key, Field: field, Message: message, Hint: hint,
	})
}

// codeUnsupported is the code for a valid value that gatefold does not support.
const codeUnsupported = "UnsupportedValue"

// unsupported reports a valid field that gatefold does not support. The parameter what is the subject of the message,
// such as "filter type CORS here". The caller must make the rule or backend with this field answer an error.
func (b *builder) unsupported(field, what string) {
	message := what + " is not supported yet"
	b.problem(manifest.Error, codeUnsupported, field, message, "the rule answers an error until it is taken out")
	b.flat.Unserved(field + ": " + message)
}

// Unserved adds a text to f.Unsupported, unless the list already has the text.
func (f *Flat) Unserved(what string) {
	if !slices.Contains(f.Unsupported, what) {
		f.Unsupported = append(f.Unsupported, what)
	}
}

// Rules returns the rules of an HTTPRoute or GRPCRoute. For a GRPCRoute, it converts the rules to HTTPRouteRules,
// without their matches. It returns nil for other kinds. The caller must not change the rules.
func Rules(object *manifest.Object) []api.HTTPRouteRule {
	switch route := object.Value.(type) {
	case *api.HTTPRoute:
		return route.Spec.Rules
	case *gwv1.GRPCRoute:
		return grpcRules(route)
	}
	return nil
}

// rule translates the rule with index i and adds the result to b.flat: Points (the matches at which it delegates)
// if the rule delegates to child routes, and otherwise Rules. If the rule has a filter that cannot be applied, its
// index is added to Closed, and its requests get an error.
func (b *builder) rule(i int, rule *api.HTTPRouteRule, matches []ir.Match) {
	at := fmt.Sprintf("spec.rules[%d]", i)
	if rule.SessionPersistence != nil {
		b.problem(manifest.Warning, "UnsupportedValue", at+".sessionPersistence",
			"sessionPersistence is not supported; requests of one client go to several endpoints",
			"for sessions, write loadBalancer.maglev.hashPolicies with a cookie into a BackendConfigPolicy of the backend, then remove sessionPersistence")
	}
	reason, shut := b.shut[Section(rule.Name)]
	var ok bool
	if !shut && b.delegates(rule) {
		ok = b.delegate(i, rule, matches)
	} else {
		action := ir.Action{Respond: b.closed()}
		if ok = shut; shut {
			action.Respond.Why = b.closedByAnnotation(at, Section(rule.Name), reason)
		} else {
			action, ok = b.action(at, rule)
		}
		for _, p := range b.places(i, rule, matches) {
			b.loosens(p.link, &action)
			b.flat.Rules = append(b.flat.Rules, b.newRule(p, action))
		}
	}
	if !ok {
		b.flat.Closed = append(b.flat.Closed, i)
	}
}

// Section returns the name of a rule as a string, and "" for nil.
func Section(name *gwv1.SectionName) string {
	if name == nil {
		return ""
	}
	return string(*name)
}

// httpMatches converts the matches of a rule of an HTTPRoute. For an empty list, it returns one match, for every
// request.
func httpMatches(list []gwv1.HTTPRouteMatch) []ir.Match {
	if len(list) == 0 {
		list = []gwv1.HTTPRouteMatch{{}}
	}
	out := make([]ir.Match, len(list))
	for i := range list {
		out[i] = httpMatch(&list[i])
	}
	return out
}

// httpMatch converts a match. A match without a path gets the path prefix "/". A header or query parameter without a
// match type is compared exactly.
func httpMatch(m *gwv1.HTTPRouteMatch) ir.Match {
	match := ir.Match{Path: httpPath(m.Path)}
	if m.Method != nil {
		match.Method = string(*m.Method)
	}
	for _, h := range m.Headers {
		match.Headers = append(match.Headers, ir.ValueMatch{
			Name: strings.ToLower(string(h.Name)), Value: h.Value,
			Regex: h.Type != nil && *h.Type == gwv1.HeaderMatchRegularExpression,
		})
	}
	for _, q := range m.QueryParams {
		match.Query = append(match.Query, ir.ValueMatch{
			Name: string(q.Name), Value: q.Value,
			Regex: q.Type != nil && *q.Type == gwv1.QueryParamMatchRegularExpression,
		})
	}
	match.Headers = firstOfName(match.Headers)
	match.Query = firstOfName(match.Query)
	return match
}

// firstOfName sorts matches of headers or query parameters by name. Of several matches with one name, it keeps
// only the first in the given list (Gateway API, HTTPRouteMatch.headers: "only the first entry with an equivalent
// name MUST be considered").
func firstOfName(values []ir.ValueMatch) []ir.ValueMatch {
	slices.SortStableFunc(values, func(a, b ir.ValueMatch) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(values, func(a, b ir.ValueMatch) bool { return a.Name == b.Name })
}

// httpPath converts a path match. The default is the prefix "/". Slashes at the end of a prefix are removed, except
// that of "/".
func httpPath(p *gwv1.HTTPPathMatch) ir.Path {
	path := ir.Path{Kind: ir.PathPrefix, Value: "/"}
	if p == nil {
		return path
	}
	if p.Value != nil {
		path.Value = *p.Value
	}
	if p.Type != nil {
		switch *p.Type {
		case gwv1.PathMatchExact:
			path.Kind = ir.PathExact
		case gwv1.PathMatchRegularExpression:
			path.Kind = ir.PathRegex
		case api.PathMatchPostfix:
			path.Kind = ir.PathPostfix
		}
	}
	if path.Kind == ir.PathPrefix && path.Value != "/" {
		path.Value = trimSlash(path.Value)
		if path.Value == "" {
			path.Value = "/"
		}
	}
	return path
}

// trimSlash removes all slashes at the end of a path.
func trimSlash(s string) string { return strings.TrimRight(s, "/") }

// action returns the action of a rule that does not delegate. The result ok is false if a filter of the rule, or filters
// of its backendRefs, cannot be applied: the action then answers an error. The parameter at is the field of the rule, such as spec.rules[0].
func (b *builder) action(at string, rule *api.HTTPRouteRule) (action ir.Action, ok bool) {
	a := &actionBuilder{builder: b, rule: Section(rule.Name)}
	sound := a.filters(at+".filters", rule.Filters, onRule)
	a.timeouts(at, rule)
	if !sound {
		if a.action.Redirect == nil {
			b.reportOnly(func(unused *actionBuilder) { unused.forward(at, rule.BackendRefs) })
		}
		return ir.Action{Respond: b.closed()}, false
	}
	if a.action.Redirect != nil {
		a.needsBackend("the rule redirects: ")
		return a.action, true
	}
	if len(rule.BackendRefs) == 0 {
		a.needsBackend("the rule has no backendRefs: ")
		message, hint := "the rule has no backendRefs and no redirect: requests that reach it get 500", "add backendRefs, or a RequestRedirect filter"
		if b.grpc {
			message, hint = "the rule has no backendRefs: calls that reach it get UNAVAILABLE", "add backendRefs"
		}
		a.problem(manifest.Warning, "NoBackends", at, message, hint)
	}
	return a.action, a.forward(at, rule.BackendRefs)
}

// needsBackend warns of settings that have an effect on requests to backends alone. The parameter why is why the rule
// forwards no request.
func (a *actionBuilder) needsBackend(why string) {
	effects := map[string]string{
		string(gwv1.HTTPRouteFilterRequestMirror): "no request is copied",
		ir.PartTimeouts: "timeouts have no effect", ir.PartRetry: "retry has no effect",
	}
	for _, part := range a.action.Parts {
		if effect := effects[part.Kind]; effect != "" {
			a.problem(manifest.Warning, "NoEffect", part.Field, why+effect, "take it out, or write it into a rule that forwards requests")
		}
	}
}

// closed returns the response for a rule that cannot serve its requests, because a filter cannot be applied or no
// backend can get requests. The response is 500, or 503 for a GRPCRoute.
func (b *builder) closed() *ir.Respond {
	return &ir.Respond{Status: ir.Path{RPC: ir.RPC{Is: b.grpc}}.Unresolved()}
}

// actionBuilder builds the Action of one rule or backend.
type actionBuilder struct {
	*builder
	rule   string // the name of the rule, "" without one
	action ir.Action
}

// timeouts sets the timeouts and the retry of a.action from the timeouts and the retry of a rule. The schema has
// validated their values. The parameter at is the path of the rule in the route, such as spec.rules[0].
func (a *actionBuilder) timeouts(at string, rule *api.HTTPRouteRule) {
	if t := rule.Timeouts; t != nil {
		a.part(ir.PartTimeouts, at+".timeouts")
		a.action.RequestTimeout = api.ParseDuration(t.Request)
		a.action.BackendTimeout = api.ParseDuration(t.BackendRequest)
	}
	if r := rule.Retry; r != nil {
		a.part(ir.PartRetry, at+".retry")
		a.action.Retry = httpRetry(r)
	}
}

// maxAttempts is the largest number of retries that Envoy accepts.
const maxAttempts = math.MaxUint32

// httpRetry converts the retry settings of a rule. If r.Attempts is not set, Attempts is 1, which is Envoy's default.
// A negative value becomes 0.
func httpRetry(r *gwv1.HTTPRouteRetry) *ir.Retry {
	retry := &ir.Retry{Attempts: 1}
	if r.Attempts != nil {
		retry.Attempts = uint32(min(max(int64(*r.Attempts), 0), maxAttempts))
	}
	for _, code := range r.Codes {
		retry.Codes = append(retry.Codes, uint32(code))
	}
	slices.Sort(retry.Codes)
	retry.Codes = slices.Compact(retry.Codes)
	if backoff := api.ParseDuration(r.Backoff); backoff != nil {
		retry.Backoff = *backoff
	}
	return retry
}
