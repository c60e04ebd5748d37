package translate

import (
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/policy"
)

// declarePolicyViews gathers all policies, so that a View can show them.
func (n *network) declarePolicyViews(e *memo.Engine) {
	view := memo.NewRule(e, "policyview", n.runPolicyView, deepEqual)
	for _, of := range []*objects{n.in.trafficPolicies, n.in.backendPolicies, n.in.tlsPolicies} {
		memo.Each(view, of)
	}
	for _, gk := range []apischema.GroupKind{
		trafficPolicyKind(), {Group: api.Group, Kind: api.KindBackendConfigPolicy}, {Group: gwv1.GroupName, Kind: kindBackendTLSPolicy},
	} {
		memo.EachOf(view, n.in.invalid, invalidOf(gk))
	}
	n.allPolicies = memo.NewFold[struct{}, manifest.Key](e, "allpolicies", gather[manifest.Key](comparePolicies), memo.Ordered[*ir.Policy].Same)
	memo.From(n.allPolicies, view, func(key manifest.Key, p *ir.Policy, yield func(memo.Place[struct{}, manifest.Key], *ir.Policy)) {
		if p != nil {
			yield(memo.Place[struct{}, manifest.Key]{ID: key}, p)
		}
	}, identical)
}

func comparePolicies(a, b *ir.Policy) int { return manifest.CompareKeys(a.Key, b.Key) }

// runPolicyView returns a policy as a View shows it, nil for none.
func (n *network) runPolicyView(c *memo.Ctx, key manifest.Key) *ir.Policy {
	switch key.Kind {
	case api.KindTrafficPolicy:
		return n.trafficPolicyView(c, key)
	case api.KindBackendConfigPolicy:
		return n.configPolicyView(c, key)
	}
	return n.tlsPolicyView(c, key)
}

func (n *network) trafficPolicyView(c *memo.Ctx, key manifest.Key) *ir.Policy {
	own := n.policy.Get(c, key)
	if own.Attached == nil {
		return nil
	}
	out := &ir.Policy{Key: key, Unusable: own.Unusable, Fields: policy.SetFields(own.Attached.Spec)}
	var lost []targetOut
	if !own.Invalid { // what is lost of an invalid policy is no problem of its own
		lost = n.lost.Get(c, key)
	}
	for _, target := range viewTargets(key, n.aims.targets.Get(c, key)) {
		for _, l := range lost {
			if l.Target.Name != "" && targetKey(key.Namespace, l.Target) == target.Object && l.Target.Section == target.Section {
				target.Lost = l.Problem.Message
			}
		}
		out.Targets = append(out.Targets, target)
	}
	return out
}

// viewTargets returns targets as a View shows them. What a selector selects is not listed.
func viewTargets(policy manifest.Key, targets []store.Target) (out []ir.PolicyTarget) {
	for _, target := range targets {
		out = append(out, ir.PolicyTarget{Object: targetKey(policy.Namespace, target), Labels: target.Labels, Section: target.Section})
	}
	return out
}

func (n *network) configPolicyView(c *memo.Ctx, key manifest.Key) *ir.Policy {
	own := n.backendPolicy.Get(c, key)
	if own.Policy == nil {
		return nil
	}
	out := &ir.Policy{Key: key, Unusable: own.Policy.Closed}
	states := map[policy.Fate]ir.PolicyState{policy.WhollyUsed: ir.InForce, policy.Merged: ir.Merged, policy.Overridden: ir.Overridden}
	for _, t := range n.backendTargets.Get(c, key) {
		target := ir.PolicyTarget{Object: t.Target}
		if target.State = states[t.Fate]; t.Lost != nil {
			target.Lost = t.Lost.Message
		}
		out.Targets = append(out.Targets, target)
	}
	if len(out.Targets) == 0 {
		out.Targets = viewTargets(key, n.backendAims.targets.Get(c, key))
	}
	return out
}

func (n *network) tlsPolicyView(c *memo.Ctx, key manifest.Key) *ir.Policy {
	own := n.tlsPolicy.Get(c, key)
	if own.Policy == nil {
		return nil
	}
	out := &ir.Policy{Key: key, Unusable: own.Policy.Closed}
	for _, t := range n.tlsTargets.Get(c, key) {
		target := ir.PolicyTarget{Object: t.Target, Section: t.Section, State: ir.InForce}
		for _, port := range t.Ports {
			target.Ports = append(target.Ports, uint32(port))
		}
		switch {
		case t.Lost:
			target.Lost = t.Bad.Message
		case t.Bad.Message != "":
			target.State = ir.Overridden
		}
		out.Targets = append(out.Targets, target)
	}
	if len(out.Targets) == 0 {
		out.Targets = viewTargets(key, n.tlsAims.targets.Get(c, key))
	}
	return out
}

// attached returns the TrafficPolicies that attach to the way of a rule of the host: to its
// route, to routes above it and to its listener, whatever became of them.
func (h *hostOut) attached(rule *ir.Rule) []manifest.Key {
	var out []manifest.Key
	add := func(uses []policy.Use) {
		for _, use := range uses {
			out = append(out, use.Policy)
		}
	}
	if h.Policy != nil {
		add(h.Policy.Uses)
	}
	for e := range h.Table.All() {
		if e.Rule.Name == rule.Name && e.Own != nil {
			add(e.Own.Uses)
			break
		}
	}
	return out
}
