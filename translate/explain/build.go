package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
)

// listener adds the section Listener to the report. It does nothing if no listener accepts the request.
func (b *requestReporter) listener() {
	port := b.answer.Port
	if port == nil {
		return
	}
	l := &ListenerReport{
		Gateway: port.Gateway, Port: port.Port, Envoy: port.Name, At: Source{Object: ir.GatewayKey(port.Gateway)},
		VirtualHost: b.answer.Domain, Path: b.answer.Path,
	}
	asked, _, _ := strings.Cut(b.query.Path, "?")
	l.Normalized = asked != l.Path
	if own, ok := listenerOf(port.Listeners, hostname(b.query.Host)); ok {
		l.Name, l.At = own.Name, Source{Object: own.Object, Field: listenerField(own)}
		l.NotProgrammed = b.notProgrammed(own)
	}
	l.Certificates = b.certificates()
	b.report.Listener = l
}

// route adds the sections Route and Actions to the report. It does nothing if no rule matches the request.
func (b *requestReporter) route() {
	rule := b.answer.Rule
	if rule == nil {
		return
	}
	b.report.Route = &RouteReport{
		Name: rule.Name, Match: RuleWords(rule), Weight: rule.Weight, Guard: rule.Guard, Hops: HopsOf(rule),
	}
	for _, name := range b.answer.Forged {
		b.report.Actions = append(b.report.Actions, ActionReport{
			Type: IdentityHeader, Does: fmt.Sprintf("header %s of the client is removed: policies set it for backends or namespaces of the route", name), From: []Source{},
		})
	}
	byKind := map[string]int{}
	for _, part := range rule.Action.Parts {
		i, known := byKind[part.Kind]
		if !known {
			i = len(b.report.Actions)
			byKind[part.Kind] = i
			does := cmp.Or(b.unhashedWords(part.Kind), ActionWords(part, &rule.Action)+b.unreachableWords(part.Kind))
			b.report.Actions = append(b.report.Actions, ActionReport{Type: part.Kind, Does: does})
		}
		action := &b.report.Actions[i]
		action.From = append(action.From, Source{Object: part.Object, Field: part.Field})
	}
}

// unhashedWords returns what hashPolicies of a TrafficPolicy do if no backend of the rule takes the hash of a route. It
// returns "" if one does, and for another kind of setting (see ir.Part.Kind).
func (b *requestReporter) unhashedWords(kind string) string {
	if kind != ir.FieldHashPolicies.PartKind() {
		return ""
	}
	if forward := b.answer.Rule.Action.Forward; forward != nil {
		for _, to := range forward.Backends {
			if balancerOf(b.facts.View.Clusters[to.Cluster]).HashesRoutes() {
				return ""
			}
		}
	}
	return "nothing: no backend of the rule is balanced by a hash of the route"
}

// unreachableWords returns why Envoy cannot call an external service that the rule uses. The text is the end of a
// sentence, and begins with a comma. The parameter kind says which setting of the rule to check, for example the
// policy field extAuth (see ir.Part.Kind). The result is "" if Envoy can call the service, or if this setting uses no
// service.
func (b *requestReporter) unreachableWords(kind string) string {
	for _, use := range extrasInForce(&b.answer.Rule.Action).Extensions() {
		if reason := unreachable(b.facts.View.Clusters, use.Extension); kind == use.PartKind() && reason != "" {
			return ", as now: " + reason
		}
	}
	return ""
}

// nearMisses adds to the report the rules that nearly answer the request: first the rules that would delegate it, then
// the rules in Answer.Considered, and then the rules in Answer.Behind. It leaves out a rule that does not match for the
// same reason as the rule that delegates to it.
func (b *requestReporter) nearMisses() {
	delegations := b.delegationMisses()
	for _, miss := range delegations {
		b.report.NearMisses = append(b.report.NearMisses, miss.report())
	}
	for _, miss := range b.answer.Considered {
		if !slices.ContainsFunc(delegations, func(d delegationMiss) bool { return d.explains(miss) }) {
			b.addNearMiss(miss.Rule, miss.Reason)
		}
	}
	for _, rule := range b.answer.Behind {
		b.addNearMiss(rule, "lower precedence: "+route.Why(b.answer.Rule, rule))
	}
}

// addNearMiss adds to the report a rule that does not answer, with the reason.
func (b *requestReporter) addNearMiss(rule *ir.Rule, reason string) {
	hops := HopsOf(rule)
	last := hops[len(hops)-1]
	b.report.NearMisses = append(b.report.NearMisses, NearMissReport{
		Object: last.Object, Rule: last.Rule, Match: RuleWords(rule), Reason: reason, At: last.MatchAt,
	})
}

// outcome sets the report's Outcome. It also sets Reason, unless the Outcome is Forwarded or Redirected. It sets
// ReasonAt if a policy decides the answer, and the field of the policy is known. If no listener or no rule accepts
// the request, it may also set Suggestions and Delegation.
func (b *requestReporter) outcome() {
	rule := b.answer.Rule
	switch {
	case b.answer.Port == nil:
		b.report.Outcome = NoListener
		b.noListener()
	case b.answer.Outcome.Rejected:
		b.report.Outcome = Rejected
		b.report.Reason = b.answer.Outcome.Why
	case rule == nil:
		b.report.Outcome = NotFound
		b.notFound()
	case b.answer.Outcome.Policed:
		b.report.Outcome = Responded
		b.report.Reason = b.answer.Outcome.Why
		if at := b.answer.Outcome.At; at.Field != "" {
			b.report.ReasonAt = &at
		}
	case rule.Action.Redirect != nil:
		b.report.Outcome = Redirected
	case len(b.report.Backends) > 0 && b.report.Status == 0:
		b.report.Outcome = Forwarded
	case len(b.report.Backends) > 0:
		b.report.Outcome = Responded
		b.report.Reason = unservedWords(b.report.Backends)
	default:
		b.report.Outcome = Responded
		b.report.Reason = b.whyResponds(rule)
	}
}

// whyResponds returns why a rule answers without a backend. It uses the first reason that exists:
//
//   - the object that makes the rule fail closed
//   - the reason in the answer (Outcome.Why)
//   - the problems of the rule
//   - that no delegated route matches, if the rule is a Guard
//   - the problems in filters of a rule that delegates to this rule
//
// Without such a reason, the text is that the rule answers by itself.
func (b *requestReporter) whyResponds(rule *ir.Rule) string {
	if reason := b.whatCloses(); reason != "" {
		return reason
	}
	messages := b.messages(func(p *manifest.Problem) bool { return ofRule(p, rule) })
	switch {
	case b.answer.Outcome.Why != "":
		return b.answer.Outcome.Why
	case messages != "":
		return messages
	case rule.Guard:
		return "the rule delegates to other routes, and none of them matches the request"
	}
	for _, hop := range b.report.Route.Hops {
		messages := b.messages(func(p *manifest.Problem) bool {
			return p.Code == string(gwv1.RouteReasonUnsupportedValue) && p.Object == hop.Object && strings.HasPrefix(p.Field, hop.RuleAt.Field+".filters[")
		})
		if messages != "" {
			return hop.ruleWords() + " closes all below it: " + messages
		}
	}
	return fmt.Sprintf("the rule answers %d by itself", b.report.Status)
}

// whatCloses returns why the rule that gets the request fails closed, if an object is the cause (ir.Action.ClosedBy):
// for example, a policy that is missing or cannot be used. Otherwise it returns "". If the object affects the rule
// through a delegating rule above, the text begins with this delegating rule.
//
// If an object is the cause, b.report has an action of type ir.PartClosed. whatCloses also writes the reason to the
// field Does of this action. There the reason does not begin with the object or the delegating rule.
func (b *requestReporter) whatCloses() string {
	for i := range b.report.Actions {
		action := &b.report.Actions[i]
		if action.Type != ir.PartClosed {
			continue
		}
		at := action.From[0]
		messages := b.messages(func(p *manifest.Problem) bool { return p.Object == at.Object && p.Field == at.Field })
		action.Does = cmp.Or(messages, b.answer.Outcome.Why)
		reason := action.Does
		if !route.IsRoute(at.Object) {
			reason = cmp.Or(b.answer.Outcome.Why, at.Object.String()+": "+reason)
		}
		hops := b.report.Route.Hops
		for _, hop := range hops[:len(hops)-1] {
			if last := action.From[len(action.From)-1]; hop.Object == last.Object && hop.RuleAt.Field == last.Field {
				return hop.ruleWords() + ": " + reason
			}
		}
		return reason
	}
	return ""
}

// certificates returns the certificates of the filter chain that the TLS handshake selects. It returns nil
// without TLS.
func (b *requestReporter) certificates() (out []CertificateReport) {
	chain := b.answer.Chain
	if chain == nil || chain.TLS == nil {
		return nil
	}
	for _, secret := range chain.TLS.Certificates {
		for _, c := range b.facts.View.Certificates {
			if ir.SecretName(c.Secret) == secret {
				out = append(out, CertificateReport{Object: c.Secret, Names: c.Names, NotAfter: c.NotAfter, At: Source{Object: c.Secret}})
			}
		}
	}
	return out
}
