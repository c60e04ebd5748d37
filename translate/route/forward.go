package route

import (
	"cmp"
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
)

// forward makes the action distribute requests to the backendRefs by weight. It ignores backendRefs that select
// routes. A backendRef that cannot be resolved keeps its share of the requests, which get an error. If no resolved
// backendRef has a weight above 0, the whole rule answers this error: 500, or UNAVAILABLE for a GRPCRoute (Gateway
// API, HTTPRouteRule.backendRefs). The parameter at is the field of the rule, such as spec.rules[0].
//
// The result ok is false if the whole rule answers the error, and a filter of a backendRef is not supported.
func (a *actionBuilder) forward(at string, refs []gwv1.HTTPBackendRef) (ok bool) {
	forward, sound := &ir.Forward{}, true
	for i := range refs {
		if a.toRoutes(refs[i]) {
			continue
		}
		target, served := a.target(fmt.Sprintf("%s.backendRefs[%d]", at, i), &refs[i])
		forward.Backends, sound = append(forward.Backends, target), sound && served
	}
	sound = a.rewriteFor(forward.Backends) && sound
	if !slices.ContainsFunc(forward.Backends, func(b ir.Backend) bool { return b.Cluster != "" && b.Weight > 0 }) {
		a.action.Respond = a.closed()
		a.weighsNothing(at, forward.Backends)
		return sound
	}
	a.action.Forward = forward
	return true
}

// weightless is why a rule answers an error if all of its backends have weight 0.
const weightless = "all backendRefs of the rule have weight 0"

// weighsNothing handles a rule whose backends all have weight 0: it sets a.action.Respond.Why, and warns (Gateway
// API, BackendRef.weight: "If weight is set to 0, no traffic should be forwarded"). It does nothing if a backend has
// a weight above 0, or if there is no backend. The parameter at is the field of the rule.
func (a *actionBuilder) weighsNothing(at string, backends []ir.Backend) {
	weighs := func(b ir.Backend) bool { return b.Weight > 0 }
	if len(backends) == 0 || slices.ContainsFunc(backends, weighs) {
		return
	}
	a.action.Respond.Why = weightless
	answer := "the rule answers 500"
	if a.grpc {
		answer = "the rule answers UNAVAILABLE"
	}
	a.problem(manifest.Warning, codeWeightZero, at+".backendRefs", weightless+": "+answer, hintWeight)
}

// codeWeightZero and hintWeight are the code and the hint of the warning that all backends have weight 0.
const (
	codeWeightZero = "NoWeight"
	hintWeight     = "give one backendRef a weight greater than 0"
)

// target returns the backend of a backendRef, with the filters of the backendRef. The parameter field is the path of
// the backendRef. The result's field Cluster is "" if the backendRef cannot be resolved, or if one of its filters is
// not supported: served is false then.
func (a *actionBuilder) target(field string, ref *gwv1.HTTPBackendRef) (target ir.Backend, served bool) {
	target = ir.Backend{Weight: 1, Field: field}
	if ref.Weight != nil {
		target.Weight = uint32(*ref.Weight)
	}
	target.Cluster, target.DNSName = a.cluster(field, ref.BackendObjectReference)
	own := &actionBuilder{builder: a.builder}
	if served = own.filters(field+".filters", ref.Filters, onBackend); !served {
		target.Cluster = ""
	}
	target.RequestHeaders, target.ResponseHeaders = own.action.RequestHeaders, own.action.ResponseHeaders
	target.Rewrite = own.action.Rewrite
	return target, served
}

// rewriteFor applies the URLRewrite filters of backendRefs. If the rule has only one backend, the backend's rewrite
// is added to that of the rule, and wins. For several backends, Envoy can rewrite the host for each backend, but the
// path only for the whole rule. So if one of several backends rewrites the path, that backend's share of the requests
// gets the answer 500, and the result ok is false.
func (a *actionBuilder) rewriteFor(backends []ir.Backend) (ok bool) {
	ok = true
	several := len(backends) > 1
	for i := range backends {
		own := backends[i].Rewrite
		switch {
		case own == nil:
		case !several:
			joined := ir.Rewrite{}
			if a.action.Rewrite != nil {
				joined = *a.action.Rewrite
			}
			joined.Hostname = cmp.Or(own.Hostname, joined.Hostname)
			if own.Path != nil {
				joined.Path = own.Path
			}
			a.part(string(gwv1.HTTPRouteFilterURLRewrite), backends[i].Field+".filters")
			a.action.Rewrite, backends[i].Rewrite = &joined, nil
		case own.Path != nil:
			a.unsupported(backends[i].Field+".filters", "URLRewrite of the path for one of several backends")
			backends[i].Cluster, backends[i].Rewrite, ok = "", nil, false
		}
	}
	return ok
}

// cluster resolves the reference at a field. It returns the name of the cluster, and the DNS name that all endpoints
// have (see backend.Resolution). If the reference cannot be resolved, cluster reports why, and name is "".
func (a *actionBuilder) cluster(field string, ref gwv1.BackendObjectReference) (name, dnsName string) {
	return a.resolved(field, a.resolve(ref, false))
}

// resolved adds the backend of a resolution to a.flat.Backends. If the reference could not be resolved, it reports
// why. The parameter field is the path of the reference. The results name and dnsName are the same as in a.cluster.
func (a *actionBuilder) resolved(field string, resolution backend.Resolution) (name, dnsName string) {
	if resolution.OK() {
		a.flat.Backends = append(a.flat.Backends, resolution.Key)
		return resolution.Cluster, resolution.DNSName
	}
	a.problem(manifest.Error, string(resolution.Reason), field, resolution.Message, resolution.Hint)
	a.flat.Unresolved.Reason = cmp.Or(a.flat.Unresolved.Reason, resolution.Reason)
	if !slices.Contains(a.unresolved, resolution.Message) {
		a.unresolved = append(a.unresolved, resolution.Message)
	}
	return "", ""
}
