package translate

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/status"
	"github.com/gatefold/gatefold/translate/xds"
)

// backendPolicyOut is the result for one BackendConfigPolicy, independent of its targets.
type backendPolicyOut struct {
	// Policy is nil if the policy does not exist. If the policy is invalid or cannot be used, Policy.Closed is set,
	// and requests to the policy's targets are answered 503.
	Policy *backend.Policy
	// Unusable says why the policy cannot be used. It is "" if the policy can be used, or if the store reports it
	// as invalid.
	Unusable string
	Problems []manifest.Problem
}

// backendTarget is one target of a BackendConfigPolicy.
type backendTarget struct {
	// Target is a Service or Backend. It is zero for a selector that selects no object.
	Target manifest.Key
	// Lost is the problem of a target that does not exist, nil if it exists.
	Lost *manifest.Problem
	// Warned is a warning about something that has no effect: a selector that selects no object, or a field at
	// this target. It is nil without a warning.
	Warned *manifest.Problem
	Effect policy.Effect
	// Crowded says that too many policies apply to the target, so that requests to it are answered 503. Crowded is
	// "" if the number of policies is within the limits.
	Crowded string
}

type backendPolicyIn struct {
	*hintRules
	*backendObjects
	targetRulesIn
	backendPolicies *objects
}

// backendPolicyRules read BackendConfigPolicies, and merge the policies of each target.
type backendPolicyRules struct {
	in                  backendPolicyIn
	backendAims         targetRules
	backendPolicy       *memo.Rule[manifest.Key, *backendPolicyOut]
	backendConfig       *memo.Rule[manifest.Key, backend.Config]
	backendTargets      *memo.Rule[manifest.Key, []backendTarget]
	backendPolicyStatus *memo.Rule[manifest.Key, *status.Update]
}

func newBackendPolicyRules(e *memo.Engine, in backendPolicyIn) *backendPolicyRules {
	r := &backendPolicyRules{in: in}
	kind := apischema.GroupKind{Group: api.Group, Kind: api.KindBackendConfigPolicy}
	r.backendAims = newTargetRules(e, in.targetRulesIn, kind, in.services, in.staticBackends)
	r.backendPolicy = memo.NewRule(e, "backendpolicy", r.runBackendPolicy, deepEqual)
	memo.Each(r.backendPolicy, in.backendPolicies)
	r.backendConfig = memo.NewRule(e, "backendconfig", r.runBackendConfig, deepEqual)
	r.backendTargets = memo.NewRule(e, "backendtargets", r.runBackendTargets, deepEqual)
	memo.Each(r.backendTargets, in.backendPolicies)
	r.backendPolicyStatus = memo.NewRule(e, "backendpolicystatus", r.runBackendPolicyStatus, deepEqual)
	memo.Each(r.backendPolicyStatus, in.backendPolicies)
	return r
}

func (r *backendPolicyRules) report(all *problemFold) {
	r.backendAims.report(all, "requests to them are answered 503")
	problemsFrom(all, "backendpolicy", r.backendPolicy, func(p *backendPolicyOut) []manifest.Problem { return p.Problems })
	problemsFrom(all, "backendtargets", r.backendTargets, lostTargets)
}

// runBackendPolicy returns the result for one policy. If the policy is invalid or cannot be used, Policy.Closed
// is set. The targets of the policy then get no requests, because the policy may be meant to protect them.
func (r *backendPolicyRules) runBackendPolicy(c *memo.Ctx, key manifest.Key) *backendPolicyOut {
	object, _ := r.in.backendPolicies.Get(c, key)
	from, ok := manifest.As[*api.BackendConfigPolicy](object)
	if !ok {
		if invalid, told := r.in.invalid.Get(c, key); told {
			return &backendPolicyOut{Policy: &backend.Policy{Origin: &ir.Origin{Key: key}, Closed: fmt.Sprintf("%s is invalid: %s", key, invalid.Message())}}
		}
		return &backendPolicyOut{}
	}
	out := &backendPolicyOut{}
	weight, unreadable := policyWeight(key, from.Annotations)
	out.Problems = append(out.Problems, unreadable...)
	upstream := backend.Lower(&from.Spec)
	for _, problem := range xds.CheckUpstream(key, upstream) {
		problem.Object = key
		out.Problems = append(out.Problems, problem)
		if problem.Severity == manifest.Error && out.Unusable == "" {
			out.Unusable = problem.Field + ": " + problem.Message
		}
	}
	out.Policy = &backend.Policy{Origin: route.OriginOf(object), Weight: weight, Upstream: upstream}
	if out.Unusable != "" {
		out.Policy.Upstream, out.Policy.Closed = nil, fmt.Sprintf("%s cannot be used: %s", key, out.Unusable)
	}
	return out
}

// runBackendConfig returns the merged policies of one Service or Backend. If too many policies apply, Closed is
// set.
func (r *backendPolicyRules) runBackendConfig(c *memo.Ctx, target manifest.Key) backend.Config {
	at := r.backendAims.at.Get(c, target)
	if crowded := at.closing(r.backendAims.kind, ""); crowded != nil {
		return backend.Config{Closed: crowded.Why, ClosedBy: target}
	}
	var policies []*backend.Policy
	for _, one := range at.Aims {
		if own := r.backendPolicy.Get(c, one.Policy); own.Policy != nil {
			policies = append(policies, own.Policy)
		}
	}
	return backend.Merge(policies, route.CompareOrigins)
}

// configOf returns the merged policies of a Service or Backend, the zero Config if no policy applies. It does
// not run the rule backendConfig for an object without a policy.
func (r *backendPolicyRules) configOf(c *memo.Ctx, target manifest.Key) backend.Config {
	if !r.backendAims.any(c, target) {
		return backend.Config{}
	}
	return r.backendConfig.Get(c, target)
}

// runBackendTargets returns the result for each object that a policy targets, nil if the policy is not valid.
// Objects that a selector selects are left out once the list has maxListed targets. A selector that selects no
// object has one entry, with a warning.
func (r *backendPolicyRules) runBackendTargets(c *memo.Ctx, key manifest.Key) []backendTarget {
	object, _ := r.in.backendPolicies.Get(c, key)
	from, ok := manifest.As[*api.BackendConfigPolicy](object)
	if !ok {
		return nil
	}
	var out []backendTarget
	refs := 0
	for i, target := range r.backendAims.targets.Get(c, key) {
		field := fmt.Sprintf("spec.targetRefs[%d]", i)
		if target.Name == "" {
			field = fmt.Sprintf("spec.targetSelectors[%d]", i-refs)
		} else {
			refs++
		}
		objects, all := r.backendAims.objects(c, key, target, maxListed)
		for _, at := range objects {
			if target.Name == "" && len(out) >= maxListed {
				break
			}
			if !slices.ContainsFunc(out, func(t backendTarget) bool { return t.Target == at }) {
				out = append(out, r.backendTarget(c, &from.Spec, key, at, field))
			}
		}
		if len(objects) == 0 && all {
			nothing := selectsNothing(key, i-refs)
			out = append(out, backendTarget{Warned: &nothing})
		}
	}
	return out
}

// backendTarget returns the result for one target of a policy, a Service or Backend: whether the target exists, how
// much of the policy is effective there, and whether a field of the policy has no effect there. The parameters spec
// and key are the spec and the key of the policy. The parameter field is the path of the targetRef or targetSelector,
// for problems.
func (r *backendPolicyRules) backendTarget(c *memo.Ctx, spec *api.BackendConfigPolicySpec, key, target manifest.Key, field string) backendTarget {
	told := backendTarget{Target: target}
	if !r.in.backendExists(c, target) {
		absent := r.in.absentHere(c, target)
		told.Lost = &manifest.Problem{
			Code: string(gwv1.PolicyReasonTargetNotFound), Severity: manifest.Error, Object: key,
			Field: field + ".name", Message: absent.Message, Hint: absent.Hint,
		}
	}
	config := r.configOf(c, target)
	if config.ClosedBy == target {
		told.Crowded = config.Closed
	}
	for _, use := range config.Uses {
		if use.Policy == key {
			told.Effect = use.Effect
		}
	}
	if hashesNames(spec) && told.Lost == nil && !r.in.hasNames(c, target) {
		told.Warned = &manifest.Problem{
			Code: "NoEffect", Severity: manifest.Warning, Object: key, Field: field,
			Message: target.String() + " has addresses and no names: useHostnameForHashing has no effect, its endpoints are hashed by address",
			Hint:    "write the hosts of the Backend as DNS names, or take useHostnameForHashing out",
		}
	}
	return told
}

// hashesNames reports whether a policy makes Envoy hash endpoints by hostname.
func hashesNames(spec *api.BackendConfigPolicySpec) bool {
	lb := spec.LoadBalancer
	if lb == nil {
		return false
	}
	yes := func(b *bool) bool { return b != nil && *b }
	return lb.RingHash != nil && yes(lb.RingHash.UseHostnameForHashing) || lb.Maglev != nil && yes(lb.Maglev.UseHostnameForHashing)
}

// lostTargets returns the problems of all targets: the values of the fields Lost and Warned that are not nil.
func lostTargets(targets []backendTarget) (problems []manifest.Problem) {
	for _, target := range targets {
		if target.Lost != nil {
			problems = append(problems, *target.Lost)
		}
		if target.Warned != nil {
			problems = append(problems, *target.Warned)
		}
	}
	return problems
}

// runBackendPolicyStatus returns the status of a policy. It has an entry for each target object in
// backendTargets, also for one that does not exist. Without entries, runBackendPolicyStatus returns nil.
func (r *backendPolicyRules) runBackendPolicyStatus(c *memo.Ctx, key manifest.Key) *status.Update {
	object, ok := r.in.backendPolicies.Get(c, key)
	targets := r.backendTargets.Get(c, key)
	if !ok || len(targets) == 0 {
		return nil
	}
	generation := object.Value.GetGeneration()
	own := r.backendPolicy.Get(c, key)
	out := &gwv1.PolicyStatus{}
	for _, target := range targets {
		if target.Target.IsZero() {
			continue
		}
		var bad manifest.Verdict[gwv1.PolicyConditionReason]
		switch {
		case target.Lost != nil:
			bad = manifest.Verdict[gwv1.PolicyConditionReason]{Reason: gwv1.PolicyReasonTargetNotFound, Message: target.Lost.Message}
		case target.Crowded != "":
			bad = manifest.Verdict[gwv1.PolicyConditionReason]{Reason: gwv1.PolicyReasonConflicted, Message: target.Crowded}
		case own.Unusable != "":
			bad = manifest.Verdict[gwv1.PolicyConditionReason]{Reason: gwv1.PolicyReasonInvalid, Message: own.Unusable}
		}
		conditions := []metav1.Condition{status.PolicyAccepted(generation, bad)}
		if bad.Good() {
			conditions = append(conditions, status.PolicyAttached(generation, target.Effect))
		}
		ref := ancestor(target.Target.Group, target.Target.Kind, key.Namespace, target.Target.Name)
		out.Ancestors = append(out.Ancestors, status.PolicyAncestor(ref, conditions...))
	}
	if len(out.Ancestors) == 0 {
		return nil
	}
	return &status.Update{Key: key, Generation: generation, Status: out, State: closedIf(own.Unusable != "")}
}
