package translate

import (
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/policy"
)

type policyViewIn struct {
	aims            targetRules
	policy          *memo.Rule[manifest.Key, *policyOut]
	backendAims     targetRules
	backendPolicy   *memo.Rule[manifest.Key, *backendPolicyOut]
	backendTargets  *memo.Rule[manifest.Key, []backendTarget]
	tlsAims         targetRules
	tlsPolicy       *memo.Rule[manifest.Key, *tlsPolicyOut]
	tlsTargets      *memo.Rule[manifest.Key, []tlsTarget]
	lost            *memo.Rule[manifest.Key, []targetOut]
	trafficPolicies *objects
	backendPolicies *objects
	tlsPolicies     *objects
	invalid         *memo.Input[manifest.Key, *store.Invalid]
}

// policyViewRules collect all policies for the View.
type policyViewRules struct {
	in          policyViewIn
	allPolicies *memo.Fold[struct{}, manifest.Key, *ir.Policy, ordered.Set[*ir.Policy]]
}

func newPolicyViewRules(e *memo.Engine, in policyViewIn) *policyViewRules {
	r := &policyViewRules{in: in}
	view := memo.NewRule(e, "policyview", r.runPolicyView, deepEqual)
	for _, of := range []*objects{in.trafficPolicies, in.backendPolicies, in.tlsPolicies} {
		memo.Each(view, of)
	}
	for _, gk := range []apischema.GroupKind{
		trafficPolicyKind(), {Group: api.Group, Kind: api.KindBackendConfigPolicy}, {Group: gwv1.GroupName, Kind: kindBackendTLSPolicy},
	} {
		memo.EachOf(view, in.invalid, invalidOf(gk))
	}
	r.allPolicies = memo.NewFold[struct{}, manifest.Key](e, "allpolicies", gather[manifest.Key](comparePolicies), ordered.Set[*ir.Policy].Same)
	memo.From(r.allPolicies, view, func(key manifest.Key, p *ir.Policy, yield func(memo.Place[struct{}, manifest.Key], *ir.Policy)) {
		if p != nil {
			yield(memo.Place[struct{}, manifest.Key]{ID: key}, p)
		}
	}, identical)
	return r
}

func comparePolicies(a, b *ir.Policy) int { return manifest.CompareKeys(a.Key, b.Key) }

// runPolicyView returns a policy for the View, nil if it does not exist.
func (r *policyViewRules) runPolicyView(c *memo.Ctx, key manifest.Key) *ir.Policy {
	switch key.Kind {
	case api.KindTrafficPolicy:
		return r.trafficPolicyView(c, key)
	case api.KindBackendConfigPolicy:
		return r.configPolicyView(c, key)
	}
	return r.tlsPolicyView(c, key)
}

func (r *policyViewRules) trafficPolicyView(c *memo.Ctx, key manifest.Key) *ir.Policy {
	own := r.in.policy.Get(c, key)
	if own.Attached == nil {
		return nil
	}
	out := &ir.Policy{Key: key, Unusable: own.Unusable, Fields: policy.SetFields(own.Attached.Spec)}
	var lost []targetOut
	if !own.Invalid { // missing targets of an invalid policy are not reported
		lost = r.in.lost.Get(c, key)
	}
	for _, target := range viewTargets(key, r.in.aims.targets.Get(c, key)) {
		for _, l := range lost {
			if l.Target.Name != "" && l.Target.Key(key.Namespace) == target.Object && l.Target.Section == target.Section {
				target.Lost = l.Problem.Message
			}
		}
		out.Targets = append(out.Targets, target)
	}
	return out
}

// viewTargets returns the targets of a policy for the ir.View. A selector remains one target; the objects that
// it selects are not listed.
func viewTargets(policy manifest.Key, targets []store.Target) (out []ir.PolicyTarget) {
	for _, target := range targets {
		out = append(out, ir.PolicyTarget{Object: target.Key(policy.Namespace), Labels: target.Labels, Section: target.Section})
	}
	return out
}

func (r *policyViewRules) configPolicyView(c *memo.Ctx, key manifest.Key) *ir.Policy {
	own := r.in.backendPolicy.Get(c, key)
	if own.Policy == nil {
		return nil
	}
	out := &ir.Policy{Key: key, Unusable: own.Policy.Closed}
	states := map[policy.Effect]ir.PolicyState{policy.WhollyUsed: ir.InForce, policy.Merged: ir.Merged, policy.Overridden: ir.Overridden}
	for _, t := range r.in.backendTargets.Get(c, key) {
		target := ir.PolicyTarget{Object: t.Target}
		target.State = states[t.Effect]
		switch {
		case t.Lost != nil:
			target.Lost = t.Lost.Message
		case t.Crowded != "":
			target.State = ir.Overridden
		}
		out.Targets = append(out.Targets, target)
	}
	if len(out.Targets) == 0 {
		out.Targets = viewTargets(key, r.in.backendAims.targets.Get(c, key))
	}
	return out
}

func (r *policyViewRules) tlsPolicyView(c *memo.Ctx, key manifest.Key) *ir.Policy {
	own := r.in.tlsPolicy.Get(c, key)
	if own.Policy == nil {
		return nil
	}
	out := &ir.Policy{Key: key, Unusable: own.Policy.Closed}
	for _, t := range r.in.tlsTargets.Get(c, key) {
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
		out.Targets = viewTargets(key, r.in.tlsAims.targets.Get(c, key))
	}
	return out
}
