package translate

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/status"
)

// policyUseKey is a policy and a Gateway with routes that use it.
type policyUseKey struct {
	Policy  manifest.Key
	Gateway string
}

// effectCounts counts at how many places a policy has each effect. A place is a listener, a node of a delegation
// tree (flatKey), or a Gateway with all its nodes. The index is a policy.Effect.
type effectCounts [3]int

// sum returns the effect of a policy at all counted places together. If the places have different effects, the
// result is Merged.
func (f effectCounts) sum() policy.Effect {
	total := f[policy.WhollyUsed] + f[policy.Merged] + f[policy.Overridden]
	switch total {
	case f[policy.WhollyUsed]:
		return policy.WhollyUsed
	case f[policy.Overridden]:
		return policy.Overridden
	}
	return policy.Merged
}

// gatewayEffect is the effect of a policy at one Gateway.
type gatewayEffect struct {
	Gateway string
	Effect  policy.Effect
}

func compareGatewayEffects(a, b gatewayEffect) int { return cmp.Compare(a.Gateway, b.Gateway) }

// targetOut is a target that does not exist, or a selector that selects no object.
type targetOut struct {
	Target  store.Target
	Problem manifest.Problem // its Code becomes the reason of the status condition
}

type policyStatusIn struct {
	*hintRules
	*backendPolicyRules
	backend         *memo.Rule[backend.Reference, backend.Resolution]
	aims            targetRules
	policy          *memo.Rule[manifest.Key, *policyOut]
	listenerSet     *memo.Rule[manifest.Key, *listen.Set]
	listeners       *memo.Rule[manifest.Key, *listen.Gateway]
	hostPolicy      *memo.Rule[listenerKey, *hostPolicy]
	mount           *memo.Rule[manifest.Key, *mountOut]
	graft           *memo.Rule[flatKey, *graftOut]
	stream          *memo.Rule[manifest.Key, *streamOut]
	trafficPolicies *objects
	routes          *objects
	gateways        *objects
	listenerSets    *objects
}

// policyStatusRules build the statuses of TrafficPolicies.
type policyStatusRules struct {
	in policyStatusIn
	// lost returns the targets of a policy that do not exist, and the policy's selectors that select no object.
	lost         *memo.Rule[manifest.Key, []targetOut]
	effects      *memo.Fold[manifest.Key, string, gatewayEffect, ordered.Set[gatewayEffect]]
	policyStatus *memo.Rule[manifest.Key, *status.Update]
	// unchecked returns warnings about a policy and its targets: TCP, TLS or UDP listeners that it does not protect
	// (see uncheckedListener), and hashPolicies without an effect (see unhashed).
	unchecked *memo.Rule[manifest.Key, []manifest.Problem]
}

func newPolicyStatusRules(e *memo.Engine, in policyStatusIn) *policyStatusRules {
	r := &policyStatusRules{in: in}
	r.lost = memo.NewRule(e, "policytargets", r.runLostTargets, deepEqual)
	memo.Each(r.lost, in.trafficPolicies)
	r.unchecked = memo.NewRule(e, "unchecked", r.runUnchecked, deepEqual)
	memo.Each(r.unchecked, in.trafficPolicies)

	uses := memo.NewFold[policyUseKey, flatKey](e, "policyuses", countEffects, identical[effectCounts])
	memo.From(uses, in.mount, func(key manifest.Key, m *mountOut, yield func(memo.Place[policyUseKey, flatKey], policy.Effect)) {
		seen := map[policyUseKey]bool{}
		m.tables(func(table tableKey, flat *flatOut) {
			yieldUses(flatKey{Route: key}, table, m.placed.usesAt(table.Gateway, flat.Uses), seen, yield)
		})
	}, identical)
	memo.From(uses, in.graft, func(key flatKey, g *graftOut, yield func(memo.Place[policyUseKey, flatKey], policy.Effect)) {
		seen := map[policyUseKey]bool{}
		for _, table := range g.Tables {
			yieldUses(key, table, g.placed.usesAt(table.Gateway, g.Uses), seen, yield)
		}
	}, identical)
	memo.From(uses, in.stream, func(key manifest.Key, s *streamOut, yield func(memo.Place[policyUseKey, flatKey], policy.Effect)) {
		seen := map[policyUseKey]bool{}
		for at := range s.places() {
			yieldUses(flatKey{Route: key}, tableKey{chainKey: chainKey{portKey: at}}, s.Uses, seen, yield)
		}
	}, identical)
	r.effects = memo.NewFold[manifest.Key, string](e, "fates", gather[string](compareGatewayEffects), ordered.Set[gatewayEffect].Same)
	memo.From(r.effects, uses, func(key policyUseKey, f effectCounts, yield func(memo.Place[manifest.Key, string], gatewayEffect)) {
		yield(memo.Place[manifest.Key, string]{Key: key.Policy, ID: key.Gateway}, gatewayEffect{key.Gateway, f.sum()})
	}, identical)

	r.policyStatus = memo.NewRule(e, "policystatus", r.runPolicyStatus, deepEqual)
	memo.Each(r.policyStatus, in.trafficPolicies)
	return r
}

func (r *policyStatusRules) report(all *problemFold) {
	problemsFrom(all, "policytargets", r.lost, func(list []targetOut) (problems []manifest.Problem) {
		for _, lost := range list {
			problems = append(problems, lost.Problem)
		}
		return problems
	})
	problemsFrom(all, "unchecked", r.unchecked, func(problems []manifest.Problem) []manifest.Problem { return problems })
}

// runUnchecked returns the warnings about a policy and its targets (see unchecked). It returns nil for a policy that
// cannot be used.
func (r *policyStatusRules) runUnchecked(c *memo.Ctx, key manifest.Key) []manifest.Problem {
	own := r.in.policy.Get(c, key)
	if own.Attached == nil || own.Unusable != "" {
		return nil
	}
	return append(r.uncheckedListener(c, key, own), r.unhashed(c, key, own)...)
}

// uncheckedListener returns a warning if a policy that protects requests targets a Gateway or ListenerSet with a
// TCP, TLS or UDP listener. There Envoy sees no requests, so that the policy does not protect the listener. The
// warning names the first such listener. Without such a listener, the result has the warnings of lifts. Of each
// selector, at most maxListed objects are examined.
func (r *policyStatusRules) uncheckedListener(c *memo.Ctx, key manifest.Key, own *policyOut) []manifest.Problem {
	fields := policy.Unchecked(own.Attached.Spec)
	if len(fields) == 0 {
		return r.lifts(c, key, own)
	}
	for _, target := range r.in.aims.targets.Get(c, key) {
		if target.Kind != "Gateway" && target.Kind != kindListenerSet {
			continue
		}
		objects, _ := r.in.aims.objects(c, key, target, maxListed)
		for _, at := range objects {
			listeners, _ := r.listenersAt(c, at, target.Section)
			for _, l := range listeners {
				if l.Serves() && !l.SpeaksHTTP() {
					return []manifest.Problem{{
						Code: "NoEffect", Severity: manifest.Warning, Object: key, Field: fields[0].Path(),
						Message: fmt.Sprintf("listener %s of %s has protocol %s, where Envoy sees no requests: %s does not check its connections", l.Name, at, l.Protocol, fields[0]),
						Hint:    "protect these listeners by acl, and target those of HTTP by sectionName here",
					}}
				}
			}
		}
	}
	return r.lifts(c, key, own)
}

// lifts returns the warnings that a team's policy for a ListenerSet or its listeners goes before policies of cluster
// paths on the Gateway.
func (r *policyStatusRules) lifts(c *memo.Ctx, key manifest.Key, own *policyOut) (problems []manifest.Problem) {
	if !own.Attached.Origin.Outside {
		return nil
	}
	for _, target := range r.in.aims.targets.Get(c, key) {
		if target.Kind != kindListenerSet && target.Kind != "Gateway" {
			continue
		}
		objects, _ := r.in.aims.objects(c, key, target, maxListed)
		for _, at := range objects {
			listeners, name := r.listenersAt(c, at, target.Section)
			for _, l := range listeners {
				for _, lifted := range r.in.hostPolicy.Get(c, listenerKey{name, l.ID()}).Layers.LiftedBy(key) {
					if problem := lifted.Problem(); !slices.Contains(problems, problem) {
						problems = append(problems, problem)
					}
				}
			}
		}
	}
	return problems
}

// listenersAt returns the listeners that a policy applies to, and "namespace/name" of their Gateway. The parameter
// at is the target of the policy, a Gateway or ListenerSet. The parameter section is the sectionName of the
// target, "" for all listeners. If gatefold does not serve the target, the results are nil and "".
func (r *policyStatusRules) listenersAt(c *memo.Ctx, at manifest.Key, section string) (out []*listen.Listener, gatewayName string) {
	gateway, set := at, r.setAt(c, at)
	if at.Kind == kindListenerSet {
		if set == nil || !set.Accepted.Good() {
			return nil, ""
		}
		gateway = ir.GatewayKey(set.Gateway)
	}
	g := r.in.listeners.Get(c, gateway)
	if g == nil {
		return nil, ""
	}
	for _, l := range g.Listeners {
		if (l.Owner == at || at == gateway && section == "") && (section == "" || l.Name == section) {
			out = append(out, l)
		}
	}
	return out, g.Name
}

// yieldUses yields the effects of the policies that a node (see flatKey) uses in one virtual host (the parameter
// table). The caller calls it for each virtual host of the node, always with the same map seen. This map has the
// policies and Gateways whose effect was already yielded: yieldUses skips them, and adds each new one. So each policy
// has one effect for each node and Gateway. In a yielded memo.Place, the Key has the policy and the Gateway of the
// virtual host, and the ID is the node.
func yieldUses(node flatKey, table tableKey, uses []policy.Use, seen map[policyUseKey]bool,
	yield func(memo.Place[policyUseKey, flatKey], policy.Effect),
) {
	for _, use := range uses {
		if key := (policyUseKey{use.Policy, table.Gateway}); !seen[key] {
			seen[key] = true
			yield(memo.Place[policyUseKey, flatKey]{Key: key, ID: node}, use.Effect)
		}
	}
}

// countEffects is the step of a memo.Fold that counts the effects of a policy at a Gateway (the fold "policyuses" in
// newPolicyStatusRules). For each member, countEffects adds the new effect to the counts f, and subtracts the old
// effect.
func countEffects(f effectCounts, members []memo.Member[flatKey, policy.Effect]) effectCounts {
	for _, m := range members {
		if m.Had {
			f[m.Old]--
		}
		if m.Has {
			f[m.New]++
		}
	}
	return f
}

// hostTarget is a Gateway, ListenerSet or listener in the status of a policy. Effects counts the effects of the
// policy at the listeners of the target. For a Gateway, Effects also counts the effect at its routes.
type hostTarget struct {
	Ref     gwv1.ParentReference
	Effects effectCounts
}

// hostTargets returns the Gateways, ListenerSets and listeners that a policy targets, each with the effects of the
// policy at its listeners. At a listener, a field of the policy has no effect if it is overridden by another policy
// for the listener, for its ListenerSet or for its Gateway. Policies for routes do not count here, even if they
// override the field. Targets without effects, for example targets without listeners, are left out. If a selector
// selects more than maxListed objects, the other objects are left out, too.
func (r *policyStatusRules) hostTargets(c *memo.Ctx, key manifest.Key) []hostTarget {
	var out []hostTarget
	for _, target := range r.in.aims.targets.Get(c, key) {
		if target.Kind != "Gateway" && target.Kind != kindListenerSet {
			continue
		}
		objects, _ := r.in.aims.objects(c, key, target, maxListed)
		for _, at := range objects {
			if target.Name == "" && len(out) >= maxListed {
				break
			}
			told := hostTarget{Ref: ancestor(at.Group, at.Kind, at.Namespace, at.Name)}
			if target.Section != "" {
				section := gwv1.SectionName(target.Section)
				told.Ref.SectionName = &section
			}
			if slices.ContainsFunc(out, func(t hostTarget) bool { return sameRef(t.Ref, told.Ref) }) {
				continue
			}
			if told.Effects = r.hostEffects(c, key, at, target.Section); told.Effects != (effectCounts{}) {
				out = append(out, told)
			}
		}
	}
	return out
}

// hostEffects counts the effects of a policy at the listeners of one target. The parameter at is the target, a
// Gateway or ListenerSet. If section is not "", only the listener with that name counts. A policy that targets a
// whole Gateway also has effects at the listeners of the Gateway's ListenerSets.
func (r *policyStatusRules) hostEffects(c *memo.Ctx, policy, at manifest.Key, section string) (out effectCounts) {
	listeners, name := r.listenersAt(c, at, section)
	for _, l := range listeners {
		for _, use := range r.in.hostPolicy.Get(c, listenerKey{name, l.ID()}).Uses {
			if use.Policy == policy {
				out[use.Effect]++
			}
		}
	}
	return out
}

// setAt returns the ListenerSet of a key. It returns nil for an object of another kind, and if gatefold does not
// serve the ListenerSet.
func (r *policyStatusRules) setAt(c *memo.Ctx, at manifest.Key) *listen.Set {
	if at.Kind != kindListenerSet {
		return nil
	}
	return r.in.listenerSet.Get(c, at)
}

func sameRef(a, b gwv1.ParentReference) bool { return reflect.DeepEqual(a, b) }

// runPolicyStatus returns the status of a policy. The status has an entry for each Gateway that uses the
// policy, for each Gateway, ListenerSet and listener that the policy targets, and for each missing target. If
// there are no entries, the result is nil.
func (r *policyStatusRules) runPolicyStatus(c *memo.Ctx, key manifest.Key) *status.Update {
	object, ok := r.in.trafficPolicies.Get(c, key)
	if !ok {
		return nil
	}
	generation := object.Value.GetGeneration()
	own := r.in.policy.Get(c, key)
	sound := manifest.Verdict[gwv1.PolicyConditionReason]{}
	if own.Unusable != "" {
		sound = manifest.Verdict[gwv1.PolicyConditionReason]{Reason: gwv1.PolicyReasonInvalid, Message: own.Unusable}
	}
	out := &gwv1.PolicyStatus{}
	targets := r.hostTargets(c, key)
	gateways, _ := r.effects.Get(c, key)
	for g := range gateways.All() {
		gateway := ir.GatewayKey(g.Gateway)
		ref := ancestor(gateway.Group, gateway.Kind, gateway.Namespace, gateway.Name)
		i := slices.IndexFunc(targets, func(t hostTarget) bool { return sameRef(t.Ref, ref) })
		if i < 0 {
			i, targets = len(targets), append(targets, hostTarget{Ref: ref})
		}
		targets[i].Effects[g.Effect]++
	}
	for _, target := range targets {
		conditions := []metav1.Condition{status.PolicyAccepted(generation, sound)}
		if sound.Good() {
			conditions = append(conditions, status.PolicyAttached(generation, target.Effects.sum()))
		}
		out.Ancestors = append(out.Ancestors, status.PolicyAncestor(target.Ref, conditions...))
	}
	for _, lost := range r.lost.Get(c, key) {
		if lost.Target.Name == "" {
			continue
		}
		bad := manifest.Verdict[gwv1.PolicyConditionReason]{Reason: gwv1.PolicyConditionReason(lost.Problem.Code), Message: lost.Problem.Message}
		ref := ancestor(lost.Target.Group, lost.Target.Kind, key.Namespace, lost.Target.Name)
		if lost.Target.Section != "" {
			section := gwv1.SectionName(lost.Target.Section)
			ref.SectionName = &section
		}
		out.Ancestors = append(out.Ancestors, status.PolicyAncestor(ref, status.PolicyAccepted(generation, bad)))
	}
	if len(out.Ancestors) == 0 {
		return nil
	}
	return &status.Update{Key: key, Generation: generation, Status: out, State: closedIf(own.Unusable != "")}
}
