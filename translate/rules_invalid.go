package translate

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/status"
)

// An API server does not store an object that its schema rejects. But a folder can contain such an object, and
// its owner reads its status. So the object gets a status with the reason that the Gateway API has for an
// invalid object. The targets of an invalid policy fail closed by the rules for its kind. For all other rules,
// an invalid object does not exist.

// redirectAndRewrite is the schema's message for a combination of filters. The Gateway API has the reason
// IncompatibleFilters for it.
const redirectAndRewrite = "May specify either httpRouteFilterRequestRedirect or httpRouteFilterRequestRewrite, but not both"

type invalidStatusIn struct {
	*gatewayRules
	effects *memo.Fold[manifest.Key, string, gatewayEffect, ordered.Set[gatewayEffect]]
	invalid *memo.Input[manifest.Key, *store.Invalid]
	served  *servedRoutes
}

// invalidStatusRules build the statuses of objects that their schemas reject.
type invalidStatusRules struct {
	in            invalidStatusIn
	invalidStatus *memo.Rule[manifest.Key, *status.Update]
}

func newInvalidStatusRules(e *memo.Engine, in invalidStatusIn) *invalidStatusRules {
	r := &invalidStatusRules{in: in}
	r.invalidStatus = memo.NewRule(e, "invalidstatus", r.runInvalidStatus, deepEqual)
	memo.Each(r.invalidStatus, in.invalid)
	return r
}

// runInvalidStatus returns the status of an invalid object. It returns nil for an object without a valid name,
// for an object of a class that gatefold does not serve, for a policy or route without status entries, and for
// other kinds, for example Namespace.
func (r *invalidStatusRules) runInvalidStatus(c *memo.Ctx, key manifest.Key) *status.Update {
	from, ok := r.in.invalid.Get(c, key)
	if !ok || from.Nameless || !r.in.speaksOfInvalid(c, from) {
		return nil
	}
	update := &status.Update{Key: key, Generation: from.Generation, State: status.NotServed}
	policy := manifest.Verdict[gwv1.PolicyConditionReason]{Reason: gwv1.PolicyReasonInvalid, Message: from.Message()}
	switch key.Kind {
	case "GatewayClass":
		bad := manifest.Verdict[gwv1.GatewayClassConditionReason]{Reason: gwv1.GatewayClassReasonInvalidParameters, Message: from.Message()}
		update.Status = &gwv1.GatewayClassStatus{Conditions: []metav1.Condition{status.ClassAccepted(from.Generation, bad)}}
	case "Gateway":
		update.Status = invalidGateway(listen.InvalidGateway(from))
	case kindListenerSet:
		update.Status = invalidSet(listen.InvalidSet(from))
	case api.KindGatewayExtension:
		update.Status = &api.GatewayExtensionStatus{Conditions: []metav1.Condition{status.ExtensionAccepted(from.Generation, policy)}}
	case kindBackendTLSPolicy, api.KindTrafficPolicy, api.KindBackendConfigPolicy:
		return r.invalidPolicyStatus(c, from, update)
	case "Namespace":
		return nil // the status of a Namespace has no condition for it
	default:
		return r.invalidRoute(c, from, update)
	}
	return update
}

// invalidPolicyStatus sets the status of an invalid policy in update, and returns update. The status has an
// entry for each target with a name. If there are no such targets, the status has an entry for each Gateway
// with routes that the policy makes answer 500. If there are no entries at all, the result is nil.
func (r *invalidStatusRules) invalidPolicyStatus(c *memo.Ctx, from *store.Invalid, update *status.Update) *status.Update {
	ancestors := slices.Clone(from.Refs)
	for i := range ancestors {
		namespace := gwv1.Namespace(from.Key.Namespace)
		ancestors[i].Namespace = &namespace
	}
	if len(ancestors) == 0 {
		gateways, _ := r.in.effects.Get(c, from.Key)
		for g := range gateways.All() {
			gateway := ir.GatewayKey(g.Gateway)
			ancestors = append(ancestors, ancestor(gateway.Group, gateway.Kind, gateway.Namespace, gateway.Name))
		}
	}
	if len(ancestors) == 0 {
		return nil
	}
	out, bad := &gwv1.PolicyStatus{}, policyVerdict{Reason: gwv1.PolicyReasonInvalid, Message: from.Message()}
	for _, ref := range ancestors {
		out.Ancestors = append(out.Ancestors, status.PolicyAncestor(ref, status.PolicyAccepted(from.Generation, bad)))
	}
	update.Status = out
	if len(from.Targets) > 0 {
		update.State = status.Closed
	}
	return update
}

// invalidRoute sets the status of an invalid route in update, and returns update. The status has an entry for each
// parentRef to another route (delegation). It also has an entry for each parentRef to a Gateway or ListenerSet whose
// class gatefold serves (see speaksOf). If there are no entries, invalidRoute returns nil.
func (r *invalidStatusRules) invalidRoute(c *memo.Ctx, from *store.Invalid, update *status.Update) *status.Update {
	bad := manifest.Verdict[gwv1.RouteConditionReason]{Reason: gwv1.RouteReasonUnsupportedValue, Message: from.Message()}
	if from.Mistakes[0].Message == redirectAndRewrite {
		bad.Reason = gwv1.RouteReasonIncompatibleFilters
	}
	out := &gwv1.RouteStatus{}
	for _, ref := range from.Refs {
		if route.ToRoute(from.Key, ref) || toListeners(ref) && r.in.speaksOf(c, parentKey(from.Key, ref)) {
			out.Parents = append(out.Parents, gwv1.RouteParentStatus{
				ParentRef: ref, ControllerName: status.ControllerName,
				Conditions: []metav1.Condition{status.RouteAccepted(from.Generation, bad)},
			})
		}
	}
	if len(out.Parents) == 0 {
		return nil
	}
	update.Status = out
	if _, closed := r.in.served.Get(c, from.Key); closed {
		update.State = status.Closed
	}
	return update
}

// invalidGateway returns the status of an invalid Gateway.
func invalidGateway(g *listen.Gateway) *gwv1.GatewayStatus {
	out := &gwv1.GatewayStatus{Conditions: []metav1.Condition{status.GatewayAccepted(g), status.GatewayProgrammed(g)}}
	for _, l := range g.Listeners {
		out.Listeners = append(out.Listeners, gwv1.ListenerStatus{
			Name: gwv1.SectionName(l.Name), Conditions: status.InvalidListenerConditions(l, g.Generation),
		})
	}
	return out
}

// invalidSet returns the status of an invalid ListenerSet.
func invalidSet(s *listen.Set) *gwv1.ListenerSetStatus {
	out := &gwv1.ListenerSetStatus{Conditions: []metav1.Condition{status.SetAccepted(s, nil), status.SetProgrammed(s, nil)}}
	for _, l := range s.Listeners {
		out.Listeners = append(out.Listeners, gwv1.ListenerEntryStatus{
			Name: gwv1.SectionName(l.Name), Conditions: status.InvalidListenerConditions(l, s.Generation),
		})
	}
	return out
}
