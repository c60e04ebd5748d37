package explain

import (
	"net/http"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// outcome returns what Envoy does with a request if the parameter rule is the first rule that matches the request.
// A nil rule means that no rule matches.
func outcome(rule *ir.Rule, r *request) Outcome {
	result := decided(rule, r)
	result.GRPC = r.asksByGRPC() && !result.http && (result.reply || result.Status >= http.StatusMultipleChoices)
	return result
}

// decided returns the same Outcome as the function outcome, but does not set its field GRPC.
func decided(rule *ir.Rule, r *request) Outcome {
	if rule == nil {
		return Outcome{Status: http.StatusNotFound}
	}
	if r.upgradesToUnknown() { // Envoy checks this after it has chosen the rule, and before the filters of policies
		all := answerGate(rule, r)
		if all.status != 0 {
			return all.outcome(nil).by(&rule.Action, ir.FieldExtProc)
		}
		return Outcome{Rejected: true, Status: http.StatusForbidden, Why: upgradeRejected, Unless: all.unless}
	}
	passed, answers := filtered(rule, r)
	if answers {
		return passed
	}
	result := acted(rule, r)
	result.Unless = append(passed.Unless, result.Unless...)
	for i := range result.Backends {
		if backend := &result.Backends[i]; backend.Status == 0 {
			backend.Headers = newDestination(r.clusters, &rule.Action, backend.Target).headers(r).shown()
		}
	}
	return result
}

// filtered applies the filters that may answer instead of the rule, in the order of Envoy's filter chain
// (policyFields). If answers is true, the Outcome is the answer of a filter. Otherwise it has only Unless: what
// the filters may do instead.
func filtered(rule *ir.Rule, r *request) (out Outcome, answers bool) {
	all := answerGate(rule, r)
	if all.status != 0 {
		return all.outcome(nil).by(&rule.Action, ir.FieldExtProc), true
	}
	sent := r.headers
	defer func() { r.headers = sent }()
	var unless []string
	extras := extrasInForce(&rule.Action)
	for _, field := range policyFields() {
		if field.gate == nil {
			continue
		}
		own := field.gate(rule, r)
		// If a service of extAuth sets headers, these are in request.answered.
		changes := field.change != nil && extras != nil && (field.name != ir.FieldExtAuth || r.answered == nil)
		if changes && own.status == 0 { // later filters see the change
			changed := r.headers.clone()
			field.change(r, changed, extras)
			r.headers = changed
		}
		switch {
		case own.status == 0:
			unless = append(unless, own.unless...)
		case field.name == ir.FieldExtProc: // the processor does not get its own answer
			return own.outcome(unless).by(&rule.Action, field.name), true
		default:
			return own.outcome(append(unless, all.unless...)).by(&rule.Action, field.name), true
		}
	}
	return Outcome{Unless: unless}, false
}

// by returns a copy of o, which is the answer of a policy field's filter. In the copy, Field is the policy field, and By
// has the objects that cause this answer. If o.At names the object that decides, By has only this object. Otherwise By has all
// objects from which the value of the policy field was read (action.Parts).
func (o Outcome) by(action *ir.Action, field ir.Field) Outcome {
	o.Field = field
	kind := field.PartKind()
	switch {
	case o.At.Object != manifest.Key{}:
		o.By = []manifest.Key{o.At.Object}
		return o
	case field == ir.FieldCORS && action.CORS != nil:
		kind = string(gwv1.HTTPRouteFilterCORS)
	case field == ir.FieldExtAuth && action.ExternalAuth != nil:
		kind = ir.PartExternalAuth
	}
	o.By = objectsOf(action, kind)
	return o
}

// objectsOf returns the objects from which a setting of an action was read: the objects of the Parts that have the
// given kind, without duplicates. The parameter kind is an ir.Part.Kind.
func objectsOf(action *ir.Action, kind string) (objects []manifest.Key) {
	for _, part := range action.Parts {
		if part.Kind == kind && !slices.Contains(objects, part.Object) {
			objects = append(objects, part.Object)
		}
	}
	return objects
}
