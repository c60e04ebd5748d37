package translate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/status"
)

type policyVerdict = manifest.Verdict[gwv1.PolicyConditionReason]

// tlsPolicyOut is the result for one BackendTLSPolicy, independent of its targets.
type tlsPolicyOut struct {
	Policy *backend.TLSPolicy // nil if the policy does not exist
	// Accepted and Resolved are the verdicts for the policy's conditions Accepted and ResolvedRefs. Targets can
	// add to Accepted.
	Accepted, Resolved policyVerdict
	Problems           []manifest.Problem
}

func compareUses(a, b useKey) int {
	return cmp.Or(strings.Compare(a.Gateway, b.Gateway), backend.CompareKeys(a.Backend, b.Backend))
}

type tlsPolicyIn struct {
	*hintRules
	*backendObjects
	targetRulesIn
	authority   *memo.Rule[backend.Reference, listen.Authority]
	tlsPolicies *objects
}

// tlsPolicyRules decide which BackendTLSPolicy applies to each port of a Service or Backend.
type tlsPolicyRules struct {
	in         tlsPolicyIn
	tlsAims    targetRules
	tlsPolicy  *memo.Rule[manifest.Key, *tlsPolicyOut]
	backendTLS *memo.Rule[manifest.Key, *backend.TLSTarget]
	tlsTargets *memo.Rule[manifest.Key, []tlsTarget]
}

func newTLSPolicyRules(e *memo.Engine, in tlsPolicyIn) *tlsPolicyRules {
	r := &tlsPolicyRules{in: in}
	kind := apischema.GroupKind{Group: gwv1.GroupName, Kind: kindBackendTLSPolicy}
	r.tlsAims = newTargetRules(e, in.targetRulesIn, kind, in.services, in.staticBackends)
	r.tlsPolicy = memo.NewRule(e, "tlspolicy", r.runTLSPolicy, deepEqual)
	memo.Each(r.tlsPolicy, in.tlsPolicies)
	r.backendTLS = memo.NewRule(e, "backendtls", r.runBackendTLS, deepEqual)
	r.tlsTargets = memo.NewRule(e, "tlstargets", r.runTLSTargets, deepEqual)
	memo.Each(r.tlsTargets, in.tlsPolicies)
	return r
}

func (r *tlsPolicyRules) report(all *problemFold) {
	r.tlsAims.report(all, "requests to them are answered 503")
	problemsFrom(all, "tlspolicy", r.tlsPolicy, func(p *tlsPolicyOut) []manifest.Problem { return p.Problems })
	problemsFrom(all, "tlstargets", r.tlsTargets, tlsTargetProblems)
}

type tlsStatusIn struct {
	tlsPolicy   *memo.Rule[manifest.Key, *tlsPolicyOut]
	tlsTargets  *memo.Rule[manifest.Key, []tlsTarget]
	uses        *memo.Fold[useKey, flatKey, struct{}, struct{}]
	tlsPolicies *objects
}

// tlsStatusRules build the statuses of BackendTLSPolicies. A status has an entry for each Gateway that sends to
// a target, and one for each target that does not exist.
type tlsStatusRules struct {
	in              tlsStatusIn
	users           *memo.Fold[manifest.Key, useKey, useKey, ordered.Set[useKey]]
	tlsPolicyStatus *memo.Rule[manifest.Key, *status.Update]
}

func newTLSStatusRules(e *memo.Engine, in tlsStatusIn) *tlsStatusRules {
	r := &tlsStatusRules{in: in}
	type place = memo.Place[manifest.Key, useKey]
	r.users = memo.NewFold[manifest.Key, useKey](e, "users", gather[useKey](compareUses), ordered.Set[useKey].Same)
	memo.From(r.users, in.uses, func(key useKey, _ struct{}, yield func(place, useKey)) {
		yield(place{Key: key.Backend.Object, ID: key}, key)
	}, identical)
	r.tlsPolicyStatus = memo.NewRule(e, "tlspolicystatus", r.runTLSPolicyStatus, deepEqual)
	memo.Each(r.tlsPolicyStatus, in.tlsPolicies)
	return r
}

// runTLSPolicy returns the result for one policy. If only some CA certificates of the policy can be read, the
// policy uses the readable ones. Policy.Closed is set, so that the targets get no requests, if no CA
// certificate can be read, or if the policy is invalid or has an unknown option or value.
func (r *tlsPolicyRules) runTLSPolicy(c *memo.Ctx, key manifest.Key) *tlsPolicyOut {
	object, _ := r.in.tlsPolicies.Get(c, key)
	from, ok := manifest.As[*gwv1.BackendTLSPolicy](object)
	if !ok {
		if invalid, told := r.in.invalid.Get(c, key); told {
			closed := fmt.Sprintf("%s is invalid: %s", key, invalid.Message())
			return &tlsPolicyOut{Policy: &backend.TLSPolicy{Origin: &ir.Origin{Key: key}, Closed: closed, Invalid: true}}
		}
		return &tlsPolicyOut{}
	}
	tls := backend.LowerTLS(&from.Spec)
	tls.Policy = key
	out := &tlsPolicyOut{Policy: &backend.TLSPolicy{Origin: route.OriginOf(object), TLS: tls}}
	for i, ref := range from.Spec.Validation.CACertificateRefs {
		to := manifest.Key{Group: string(ref.Group), Kind: string(ref.Kind), Namespace: key.Namespace, Name: string(ref.Name)}
		found := r.in.authority.Get(c, backend.Reference{From: manifest.Key{Group: key.Group, Kind: key.Kind, Namespace: key.Namespace}, To: to})
		if found.Usable.Good() {
			tls.Authorities = append(tls.Authorities, found.Object)
			continue
		}
		out.unresolved(key, fmt.Sprintf("spec.validation.caCertificateRefs[%d]", i), found)
	}
	tls.Trust = listen.TrustName(tls.Authorities)
	switch known := from.Spec.Validation.WellKnownCACertificates; {
	case known != nil && *known == gwv1.WellKnownCACertificatesSystem:
		tls.Trust = listen.SystemTrust
	case known != nil && *known != "":
		out.reject(key, gwv1.PolicyReasonInvalid, "spec.validation.wellKnownCACertificates",
			fmt.Sprintf("there are no certificates %q", *known), "write System, or name a ConfigMap in caCertificateRefs")
	case len(tls.Authorities) == 0:
		out.Accepted = policyVerdict{Reason: gwv1.BackendTLSPolicyReasonNoValidCACertificate, Message: out.Resolved.Message}
	}
	for _, option := range slices.Sorted(maps.Keys(from.Spec.Options)) {
		if message, hint := readTLSOption(tls, string(option), string(from.Spec.Options[option])); message != "" {
			out.reject(key, gwv1.PolicyReasonInvalid, "spec.options["+string(option)+"]", message, hint)
		}
	}
	if !out.Accepted.Good() {
		out.Policy.TLS, out.Policy.Closed = nil, fmt.Sprintf("%s cannot be used: %s", key, out.Accepted.Message)
	}
	return out
}

// unresolved records that a reference of the policy (key) to CA certificates cannot be used. It adds a problem
// at the field of the reference, and adds the reason to Resolved (manifest.Verdict.And). The parameter found has
// the reason.
func (out *tlsPolicyOut) unresolved(key manifest.Key, field string, found listen.Authority) {
	reason := gwv1.BackendTLSPolicyReasonInvalidCACertificateRef
	if found.Usable.Reason == gwv1.ListenerReasonInvalidCACertificateKind {
		reason = gwv1.BackendTLSPolicyReasonInvalidKind
	}
	out.Resolved = out.Resolved.And(policyVerdict{Reason: reason, Message: found.Usable.Message})
	out.problem(key, string(reason), field, found.Usable.Message, found.Hint)
}

// reject records that the policy (key) cannot be used because of one of its fields. It adds a problem at the
// field, and adds the reason to Accepted (manifest.Verdict.And).
func (out *tlsPolicyOut) reject(key manifest.Key, reason gwv1.PolicyConditionReason, field, message, hint string) {
	out.Accepted = out.Accepted.And(policyVerdict{Reason: reason, Message: field + ": " + message})
	out.problem(key, string(reason), field, message, hint)
}

func (out *tlsPolicyOut) problem(key manifest.Key, code, field, message, hint string) {
	out.Problems = append(out.Problems, manifest.Problem{
		Code: code, Severity: manifest.Error, Object: key, Field: field, Message: message, Hint: hint,
	})
}

// readTLSOption reads one option of a BackendTLSPolicy and sets it in the parameter tls. If the option or its value
// is unknown, readTLSOption sets nothing, and the results message and hint say what is wrong. Otherwise message is
// "". An unknown option is not ignored, because the user may want it to make connections safer.
func readTLSOption(tls *ir.UpstreamTLS, name, value string) (message, hint string) {
	if name != listen.OptionVersion {
		return "there is no option " + name, "the option is " + listen.OptionVersion
	}
	if value != "1.2" && value != "1.3" {
		return fmt.Sprintf("%s is %q", name, value), "write 1.2 or 1.3"
	}
	tls.Version13 = value == "1.3"
	return "", ""
}

// runBackendTLS decides which policy applies to each port of a Service or Backend. Ports with too many policies are
// closed. A policy that names a port which does not exist closes the ports that no other policy is for, because nobody
// knows which port it means. The API has no selectors, but an invalid policy may have some.
func (r *tlsPolicyRules) runBackendTLS(c *memo.Ctx, target manifest.Key) *backend.TLSTarget {
	var claims, lost []backend.Claim
	at := r.tlsAims.at.Get(c, target)
	for _, crowded := range at.Crowded {
		closed := &backend.TLSPolicy{Origin: &ir.Origin{Key: target}, Closed: crowded.words(kindBackendTLSPolicy), Invalid: true}
		claims = append(claims, backend.Claim{Policy: closed, Section: crowded.Section})
	}
	for _, one := range at.Aims {
		own := r.tlsPolicy.Get(c, one.Policy)
		if own.Policy == nil {
			continue
		}
		for _, to := range one.Targets {
			if _, why, _ := r.aim(c, &tlsTarget{Target: target, Section: to.Section}); why != "" && to.Section != "" {
				lost = append(lost, backend.Claim{Policy: &backend.TLSPolicy{Origin: own.Policy.Origin, Closed: one.Policy.String() + " cannot be used: " + why}})
				continue
			}
			claims = append(claims, backend.Claim{Policy: own.Policy, Section: to.Section})
		}
	}
	out := backend.Contest(claims, route.CompareOrigins)
	if out.All == nil {
		out.All = backend.Contest(lost, route.CompareOrigins).All
	}
	return out
}

// tlsOf returns the policy that applies to a port of a Service or Backend, nil if there is none. The parameter port
// is the name of the port. tlsOf does not run the rule backendTLS for an object without a policy.
func (r *tlsPolicyRules) tlsOf(c *memo.Ctx, target manifest.Key, port string) *backend.TLSPolicy {
	if !r.tlsAims.any(c, target) {
		return nil
	}
	return r.backendTLS.Get(c, target).Of(port)
}

// runTLSTargets returns for each target whether it exists, and whether another policy applies to it. It returns
// nil if the policy is not valid.
func (r *tlsPolicyRules) runTLSTargets(c *memo.Ctx, key manifest.Key) []tlsTarget {
	object, ok := r.in.tlsPolicies.Get(c, key)
	if !ok {
		return nil
	}
	var out []tlsTarget
	for i, target := range store.Targets(object) {
		told := tlsTarget{Target: target.Key(key.Namespace), Section: target.Section}
		field, message, hint := r.aim(c, &told)
		if message != "" {
			told.Lost = true
			told.reject(key, gwv1.PolicyReasonTargetNotFound, fmt.Sprintf("spec.targetRefs[%d].%s", i, field), message, hint)
		} else if first := r.backendTLS.Get(c, told.Target).In(told.Section); first != nil && first.Origin.Key == told.Target {
			told.Bad = policyVerdict{Reason: gwv1.PolicyReasonConflicted, Message: first.Closed} // the target has the problem
		} else if first != nil && first.Origin.Key != key {
			told.reject(key, gwv1.PolicyReasonConflicted, fmt.Sprintf("spec.targetRefs[%d]", i),
				fmt.Sprintf("%s has %s before this policy", first.Origin.Key, told.words()),
				"remove one of the two; the older goes before, or else the first by name")
		}
		out = append(out, told)
	}
	return out
}

// aim finds the ports of a Service or Backend that a target includes, and sets Ports or Any of the target (t).
// If the kind is not Service or Backend, or if the object or the port does not exist, the results say what is wrong:
// the wrong field of the targetRef, a message and a hint. Otherwise the results are "".
func (r *tlsPolicyRules) aim(c *memo.Ctx, t *tlsTarget) (field, message, hint string) {
	service, isService := r.in.service(c, t.Target), t.Target.Group == "" && t.Target.Kind == "Service"
	switch {
	case !isService && (t.Target.Group != api.Group || t.Target.Kind != "Backend"):
		return "kind", fmt.Sprintf("kind %s of group %q is not a backend", t.Target.Kind, t.Target.Group),
			fmt.Sprintf(`target a Service (group: ""), or a Backend of group %s`, api.Group)
	case isService && service == nil, !isService && !r.in.backendExists(c, t.Target):
		absent := r.in.absentHere(c, t.Target)
		return "name", absent.Message, absent.Hint
	case t.Section == "":
		t.Any = true
		return "", "", ""
	case !isService:
		return "sectionName", t.Target.String() + " has no ports to name", "leave sectionName out"
	}
	var names []string
	for _, port := range service.Spec.Ports {
		if names = append(names, port.Name); port.Name == t.Section && (port.Protocol == "" || port.Protocol == corev1.ProtocolTCP) {
			t.Ports = append(t.Ports, port.Port)
		}
	}
	if len(t.Ports) == 0 {
		return "sectionName", fmt.Sprintf("%s has no port named %q", t.Target, t.Section), meant(t.Section, names) + namesOfPorts(names)
	}
	return "", "", ""
}

// namesOfPorts returns the hint for a sectionName that names no port. The parameter names has the names of the ports of
// the Service; the only port of a Service may have none.
func namesOfPorts(names []string) string {
	named := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "" })
	switch {
	case len(names) == 0:
		return "it has no ports: leave sectionName out"
	case len(named) == 0:
		return "none of its ports has a name: leave sectionName out, or name the port"
	}
	return "its ports are: " + strings.Join(named, ", ")
}

// runTLSPolicyStatus returns the status of a policy. It has an entry for each Gateway that sends to a target,
// and an entry for each target that does not exist. Without entries, runTLSPolicyStatus returns nil.
func (r *tlsStatusRules) runTLSPolicyStatus(c *memo.Ctx, key manifest.Key) *status.Update {
	object, ok := r.in.tlsPolicies.Get(c, key)
	if !ok {
		return nil
	}
	generation, own := object.Value.GetGeneration(), r.in.tlsPolicy.Get(c, key)
	out, gateways := &gwv1.PolicyStatus{}, map[string]policyVerdict{}
	entry := func(ref gwv1.ParentReference, bad policyVerdict) {
		conditions := []metav1.Condition{status.TLSPolicyAccepted(generation, bad), status.TLSPolicyResolvedRefs(generation, own.Resolved)}
		out.Ancestors = append(out.Ancestors, status.PolicyAncestor(ref, conditions...))
	}
	for _, target := range r.in.tlsTargets.Get(c, key) {
		if target.Lost {
			ref := ancestor(target.Target.Group, target.Target.Kind, target.Target.Namespace, target.Target.Name)
			if target.Section != "" {
				name := gwv1.SectionName(target.Section)
				ref.SectionName = &name
			}
			entry(ref, target.Bad)
			continue
		}
		users, _ := r.users.Get(c, target.Target)
		last := ""
		for use := range users.All() { // sorted by Gateway
			if use.Gateway != last && target.at(use.Backend.Port) {
				last = use.Gateway
				gateways[last] = gateways[last].And(target.Bad)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(gateways)) {
		gateway := ir.GatewayKey(name)
		bad := gateways[name]
		if bad.Good() {
			bad = own.Accepted
		}
		entry(ancestor(gateway.Group, gateway.Kind, gateway.Namespace, gateway.Name), bad)
	}
	if len(out.Ancestors) == 0 {
		return nil
	}
	return &status.Update{Key: key, Generation: generation, Status: out, State: closedIf(own.Policy != nil && own.Policy.Closed != "")}
}
