package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/policy"
)

// maxPolicies bounds the policies of a Report.
const maxPolicies = 100

// policyReporter adds the policies to the Report of a request or connection: those in force, and those that are
// not, with the reason.
type policyReporter struct {
	reporter
	answer Answer
	named  map[policyAt]bool // the policies that the Report already has
	// unserved has the places of policies whose kind gatefold does not serve.
	unserved map[manifest.Key]store.Place
}

// policyAt is a policy at one of its targets. target is text, as in PolicyReport.
type policyAt struct {
	policy manifest.Key
	target string
}

// newPolicyReporter returns a policyReporter that adds to the Report of b.
func newPolicyReporter(b *requestReporter) *policyReporter {
	return &policyReporter{reporter: b.reporter, answer: b.answer, named: map[policyAt]bool{}, unserved: map[manifest.Key]store.Place{}}
}

// policyTarget is an object that policies can target, such as a Gateway or a route. section is the listener, rule or
// port of this object that the request reaches. noun is the word for the section in texts.
type policyTarget struct {
	object        manifest.Key
	labels        map[string]string
	section, noun string
}

// words returns the object as text. If section is not "", the text names the section, too.
func (s policyTarget) words(section string) string {
	if section == "" {
		return s.object.String()
	}
	return fmt.Sprintf("%s, %s %s", s.object, s.noun, section)
}

// add adds the policies for the request, in force or not. First are the TrafficPolicies that target the Gateway,
// the listener and the routes, from the Gateway down. Other TrafficPolicies that attach to the rule follow, and
// then the policies that addOthers adds. add does nothing if no rule matches the request.
func (b *policyReporter) add() {
	if b.answer.Rule == nil {
		return
	}
	attached := map[manifest.Key]bool{}
	for _, key := range b.attached() {
		attached[key] = true
	}
	for _, at := range b.policyTargets() {
		for _, p := range b.facts.View.Policies {
			if target, ok := at.targetOf(p); ok && p.Key.Kind == api.KindTrafficPolicy {
				b.addTraffic(p, at.words(target.Section), target.Lost)
				delete(attached, p.Key)
			}
		}
	}
	for _, p := range b.facts.View.Policies {
		if attached[p.Key] {
			b.addTraffic(p, "", "")
		}
	}
	b.addOthers()
}

// addOfConnection adds the policies for a connection. Only the field acl of a TrafficPolicy applies to connections.
// A policy without acl is reported as not in force. But if it targets a whole Gateway, it is left out.
func (b *policyReporter) addOfConnection() {
	for _, at := range b.policyTargets() {
		for _, p := range b.facts.View.Policies {
			target, ok := at.targetOf(p)
			if !ok || p.Key.Kind != api.KindTrafficPolicy {
				continue
			}
			words, other := at.words(target.Section), len(p.Fields) > 0 && !slices.Contains(p.Fields, ir.FieldACL)
			switch {
			case other && at.object.Kind == "Gateway" && target.Section == "": // its fields are for the Gateway's requests
				continue
			case other && p.Unusable == "" && target.Lost == "":
				b.addPolicy(PolicyReport{Object: p.Key, Target: words, State: ir.NotInForce, At: Source{Object: p.Key}, Reason: "it has no acl, the one field that is for connections"})
				continue
			}
			own := *p
			own.Fields = []ir.Field{ir.FieldACL}
			b.addTraffic(&own, words, target.Lost)
		}
	}
	b.addOthers()
}

// addOthers adds policies of kinds that gatefold does not serve, and policies of backends and external
// services. It keeps at most maxPolicies. If there are more, it prefers those that are not in force.
func (b *policyReporter) addOthers() {
	b.addUnserved()
	for _, name := range b.clusterNames() {
		b.addBackendPolicies(name)
	}
	if len(b.report.Policies) > maxPolicies { // policies that are not in force must stay in the list
		slices.SortStableFunc(b.report.Policies, func(x, y PolicyReport) int { return ir.TrueFirst(x.State == ir.NotInForce, y.State == ir.NotInForce) })
		b.report.Policies = b.report.Policies[:maxPolicies]
	}
}

// addUnserved adds policies of kinds that gatefold does not serve, if they target an object of policyTargets.
func (b *policyReporter) addUnserved() {
	targets := b.policyTargets()
	for _, problem := range b.facts.Problems {
		if problem.Unserved == nil {
			continue
		}
		for _, policy := range *problem.Unserved {
			for _, at := range targets {
				section, ok := at.isTarget(policy)
				if !ok {
					continue
				}
				b.unserved[policy.Policy] = store.Place{File: cmp.Or(policy.File, problem.File), Line: cmp.Or(policy.Line, problem.Line), Column: cmp.Or(policy.Column, problem.Column)}
				b.addPolicy(PolicyReport{
					Object: policy.Policy, Target: at.words(section), State: ir.NotInForce, At: Source{Object: policy.Policy},
					Reason: "gatefold does not serve the kind " + policy.Policy.Kind,
				})
			}
		}
	}
}

// isTarget reports whether a policy targets the object s.object. The policy is of a kind that gatefold does not
// serve. The result section is the section in the policy's target, such as the name of a listener. It is "" if the
// policy targets the whole object.
func (s policyTarget) isTarget(policy manifest.Unserved) (section string, ok bool) {
	for _, target := range policy.Targets {
		target, section, _ := strings.Cut(target, "#")
		name, selector, _ := strings.Cut(target, " with ")
		if section != "" && section != s.section {
			continue
		}
		if name == s.object.String() || name == fmt.Sprintf("each %s in namespace %s", s.object.Kind, s.object.Namespace) && scope.MeetsSelector(s.labels, selector) {
			return section, true
		}
	}
	return "", false
}

// attached returns the TrafficPolicies that attach to the rule, and to the routes and listener above it. It
// also returns the policy because of which the rule fails closed, if there is one.
func (b *policyReporter) attached() (keys []manifest.Key) {
	rule := b.answer.Rule
	for _, part := range rule.Action.Parts {
		if part.Kind == ir.PartClosed && part.Object.Kind == api.KindTrafficPolicy {
			keys = append(keys, part.Object)
		}
	}
	if _, host, _ := pick(b.facts.View, b.query); host != nil && host.Attached != nil {
		keys = append(keys, host.Attached(rule)...)
	}
	return keys
}

// policyTargets returns the objects that lead to the answer and that TrafficPolicies can target: the Gateway,
// the ListenerSet and the routes.
func (b *policyReporter) policyTargets() []policyTarget {
	listener := b.report.Listener
	gateway := ir.GatewayKey(listener.Gateway)
	all := []policyTarget{{object: gateway, noun: "listener"}}
	if listener.At.Object == gateway {
		all[0].section = listener.Name
	} else {
		all = append(all, policyTarget{object: listener.At.Object, section: listener.Name, noun: "listener"})
	}
	for _, hop := range b.report.Route.Hops {
		all = append(all, policyTarget{object: hop.Object, section: hop.RuleName, noun: "rule"})
	}
	b.label(all)
	return all
}

// label sets the labels of the objects. It does nothing if the labels are not known.
func (b *policyReporter) label(policyTargets []policyTarget) {
	if b.facts.Labels == nil {
		return
	}
	var keys []manifest.Key
	for _, at := range policyTargets {
		keys = append(keys, at.object)
	}
	for i, known := range b.facts.Labels(keys) {
		policyTargets[i].labels = known
	}
}

// isAim reports whether the target t of a policy selects the object s.object, by name or by labels. It ignores the
// section of t (the name of a listener, rule or port): see targetOf.
func (s policyTarget) isAim(t ir.PolicyTarget) bool {
	target := store.Target{GroupKind: t.Object.GroupKind(), Name: t.Object.Name, Labels: t.Labels}
	return t.Object.Namespace == s.object.Namespace && target.Selects(s.object, s.labels)
}

// targetOf returns the target of p that selects s: the object s.object as a whole, or its section s.section. Targets
// whose field Lost is set do not apply. If no target that applies selects s, targetOf returns a lost target that
// selects s.object, in whatever section. If there is no such lost target either, ok is false.
func (s policyTarget) targetOf(p *ir.Policy) (target ir.PolicyTarget, ok bool) {
	for _, t := range p.Targets {
		if s.isAim(t) && (t.Section == "" || t.Section == s.section || t.Lost != "") && (!ok || target.Lost != "") {
			target, ok = t, true
		}
	}
	return target, ok
}

// addTraffic adds a TrafficPolicy to the Report. The parameter target is its target as text. The parameter lost is
// the reason why that target does not exist or does not apply, "" if it applies.
func (b *policyReporter) addTraffic(p *ir.Policy, target, lost string) {
	rule := b.answer.Rule
	out := PolicyReport{Object: p.Key, Target: target, State: ir.NotInForce, At: Source{Object: p.Key}}
	closed := slices.IndexFunc(rule.Action.Parts, func(part ir.Part) bool { return part.Kind == ir.PartClosed })
	switch {
	case lost != "":
		out.Reason = lost
	case p.Unusable != "":
		out.Reason = p.Unusable
	case closed >= 0:
		out.Reason = fmt.Sprintf("%s closes the rule", rule.Action.Parts[closed].Object)
	default:
		b.merged(&out, p)
	}
	b.addPolicy(out)
}

// merged sets Fields, Overridden, By and State of out, the report of p. The policy p is valid. For each field that p
// sets: if the route's rule itself sets the field, it overrides all policies, and out.By gets the route. Otherwise
// out.By gets the other policies from which the rule takes at least a part of this field.
func (b *policyReporter) merged(out *PolicyReport, p *ir.Policy) {
	action := &b.answer.Rule.Action
	by := func(key manifest.Key) {
		if !slices.Contains(out.By, key) {
			out.By = append(out.By, key)
		}
	}
	for _, field := range p.Fields {
		own := false
		if policy.RouteHas(action, field) {
			by(b.answer.Rule.Source.Key)
			out.Overridden = append(out.Overridden, string(field))
			continue
		}
		for _, part := range action.Parts {
			switch {
			case part.Kind != field.PartKind() || part.Object.Kind != api.KindTrafficPolicy:
			case part.Object == p.Key:
				own = true
			default:
				by(part.Object)
			}
		}
		if own {
			out.Fields = append(out.Fields, string(field))
		} else {
			out.Overridden = append(out.Overridden, string(field))
		}
	}
	switch {
	case len(out.Fields) == 0 && len(p.Fields) > 0:
		out.State = ir.Overridden
	case len(out.By) > 0, len(out.Overridden) > 0:
		out.State = ir.Merged
	default:
		out.State = ir.InForce
	}
}

// clusterNames returns the names of the clusters of the backends and of the rule's external services.
func (b *policyReporter) clusterNames() (names []string) {
	for _, backend := range b.report.Backends {
		names = append(names, backend.Cluster)
	}
	for _, use := range extrasInForce(&b.answer.Rule.Action).Extensions() {
		names = append(names, use.Extension.Clusters()...)
	}
	return names
}

// addBackendPolicies adds the policies that target the Service or Backend of a cluster.
func (b *policyReporter) addBackendPolicies(name string) {
	cluster := b.facts.View.Clusters[name]
	if cluster == nil || len(cluster.Objects) == 0 {
		return
	}
	policyTargets := []policyTarget{{object: cluster.Objects[0], noun: "port"}}
	b.label(policyTargets)
	at := policyTargets[0]
	for _, p := range b.facts.View.Policies {
		for _, target := range p.Targets {
			if at.isAim(target) && targetsPort(target, cluster) {
				b.addBackendPolicy(p, target, at.words(target.Section), cluster)
			}
		}
	}
}

// targetsPort reports whether a target includes the port of a cluster. It also returns true if the target does not
// exist or does not apply (see PolicyTarget.Lost).
func targetsPort(target ir.PolicyTarget, cluster *ir.Cluster) bool {
	return target.Section == "" || target.Lost != "" || len(target.Ports) == 0 ||
		slices.ContainsFunc(target.Ports, func(port uint32) bool { return strings.HasSuffix(cluster.Name, fmt.Sprintf("/%d", port)) })
}

// addBackendPolicy adds a policy of a backend to the Report. The parameter target is the target by which the policy
// selects the backend, and words is the text for this target. The parameter cluster is the cluster of the backend.
func (b *policyReporter) addBackendPolicy(p *ir.Policy, target ir.PolicyTarget, words string, cluster *ir.Cluster) {
	out := PolicyReport{Object: p.Key, Target: words, State: target.State, At: Source{Object: p.Key}}
	for _, other := range cluster.Objects {
		if out.State != ir.InForce && other.Kind == p.Key.Kind && other != p.Key {
			out.By = append(out.By, other)
		}
	}
	switch {
	case target.Lost != "":
		out.State, out.Reason, out.By = ir.NotInForce, target.Lost, nil
	case p.Unusable != "":
		out.State, out.Reason, out.By = ir.NotInForce, withoutName(p), nil
	}
	b.addPolicy(out)
}

// withoutName returns why a policy of backends cannot be used. It leaves out the policy's name.
func withoutName(p *ir.Policy) string {
	reason := strings.TrimPrefix(p.Unusable, p.Key.String())
	return strings.TrimPrefix(strings.TrimPrefix(reason, " cannot be used: "), " is invalid: ")
}

// addPolicy adds a policy, unless the Report already has it with the same target. For a stale policy, it adds
// to Reason the mistake of the newest version.
func (b *policyReporter) addPolicy(out PolicyReport) {
	at := policyAt{out.Object, out.Target}
	if b.named[at] {
		return
	}
	b.named[at] = true
	if stale, ok := b.facts.Stale[out.Object]; ok {
		out.Stale = true
		out.Reason = strings.TrimPrefix(out.Reason+"; "+stale.Message, "; ")
	}
	b.report.Policies = append(b.report.Policies, out)
}

// place sets the places of policies in the Report. A stale policy, and a policy that is not in force, get the
// place of their mistake. A policy of an unserved kind gets the place where it is written.
func (b *policyReporter) place() {
	for i := range b.report.Policies {
		p := &b.report.Policies[i]
		if place, ok := b.unserved[p.Object]; ok {
			p.At.Place = place
		}
		if stale, ok := b.facts.Stale[p.Object]; ok {
			p.At.Place = stale.Place
			continue
		}
		for _, problem := range b.facts.Problems {
			if p.State == ir.NotInForce && problem.Object == p.Object && problem.Severity == manifest.Error && problem.Line > 0 {
				p.At.Field, p.At.Place = problem.Field, store.Place{File: problem.File, Line: problem.Line, Column: problem.Column}
				break
			}
		}
	}
}
