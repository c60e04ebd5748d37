package translate

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/status"
)

type gatewayStatusIn struct {
	gateway     *memo.Rule[manifest.Key, *listen.Gateway]
	listenerSet *memo.Rule[manifest.Key, *listen.Set]
	part        *memo.Rule[partKey, *listen.Part]
	*hostPolicyRules
	*coverageRules
	class        *memo.Rule[string, classOut]
	mount        *memo.Rule[manifest.Key, *mountOut]
	stream       *memo.Rule[manifest.Key, *streamOut]
	classes      *objects
	gateways     *objects
	listenerSets *objects
}

// gatewayStatusRules build the statuses of GatewayClasses, Gateways and ListenerSets.
type gatewayStatusRules struct {
	in                gatewayStatusIn
	attached          *memo.Fold[listenerKey, manifest.Key, struct{}, int]
	classStatus       *memo.Rule[manifest.Key, *status.Update]
	gatewayStatus     *memo.Rule[manifest.Key, *status.Update]
	listenerSetStatus *memo.Rule[manifest.Key, *status.Update]
}

func newGatewayStatusRules(e *memo.Engine, in gatewayStatusIn) *gatewayStatusRules {
	r := &gatewayStatusRules{in: in}
	r.attached = memo.NewFold[listenerKey, manifest.Key, struct{}](e, "attached", count[manifest.Key], identical[int])
	memo.From(r.attached, in.stream, func(key manifest.Key, s *streamOut, yield func(memo.Place[listenerKey, manifest.Key], struct{})) {
		attachedTo(key, s.Attach, false, yield)
	}, identical)
	memo.From(r.attached, in.mount, func(key manifest.Key, m *mountOut, yield func(memo.Place[listenerKey, manifest.Key], struct{})) {
		attachedTo(key, m.Attach, m.anyFlat().Whole, yield)
	}, identical)

	r.classStatus = memo.NewRule(e, "classstatus", r.runClassStatus, deepEqual)
	memo.Each(r.classStatus, in.classes)
	r.listenerSetStatus = memo.NewRule(e, "listenersetstatus", r.runListenerSetStatus, deepEqual)
	memo.Each(r.listenerSetStatus, in.listenerSets)
	r.gatewayStatus = memo.NewRule(e, "gatewaystatus", r.runGatewayStatus, deepEqual)
	memo.Each(r.gatewayStatus, in.gateways)
	return r
}

// runClassStatus returns the status of a GatewayClass. It returns nil for a class of another controller.
func (r *gatewayStatusRules) runClassStatus(c *memo.Ctx, key manifest.Key) *status.Update {
	object, ok := r.in.classes.Get(c, key)
	if !ok || !r.in.class.Get(c, key.Name).Ours {
		return nil
	}
	generation := object.Value.GetGeneration()
	return &status.Update{Key: key, Generation: generation, Status: &gwv1.GatewayClassStatus{
		Conditions:        []metav1.Condition{status.ClassAccepted(generation, classVerdict(object))},
		SupportedFeatures: status.Features(),
	}}
}

// runGatewayStatus returns the status of a Gateway. It returns nil for a Gateway that gatefold does not serve.
func (r *gatewayStatusRules) runGatewayStatus(c *memo.Ctx, key manifest.Key) *status.Update {
	g := r.in.gateway.Get(c, key)
	if g == nil {
		return nil
	}
	out := &gwv1.GatewayStatus{Conditions: []metav1.Condition{status.GatewayAccepted(g), status.GatewayProgrammed(g)}}
	out.Conditions = append(out.Conditions, status.GatewayTLS(g)...)
	kind := gwv1.IPAddressType
	for _, address := range g.Bound() {
		out.Addresses = append(out.Addresses, gwv1.GatewayStatusAddress{Type: &kind, Value: address})
	}
	if count, allowed := g.AttachedSets(); allowed {
		out.AttachedListenerSets = &count
	}
	own := g.Part(key)
	for _, l := range own.Named() {
		attached, _ := r.attached.Get(c, listenerKey{g.Name, l.ID()})
		out.Listeners = append(out.Listeners, gwv1.ListenerStatus{
			Name: gwv1.SectionName(l.Name), SupportedKinds: l.Kinds, AttachedRoutes: int32(attached),
			Conditions: r.conditions(c, g.Name, l, g.Generation),
		})
	}
	return &status.Update{Key: key, Generation: g.Generation, Gateway: g.Name, Envoy: own.EnvoyNames(), Status: out}
}

// conditions returns the conditions of a listener (l). The parameter gateway is "namespace/name" of its Gateway.
func (r *gatewayStatusRules) conditions(c *memo.Ctx, gateway string, l *listen.Listener, generation int64) []metav1.Condition {
	out := r.in.listenerConditions(c, gateway, l, generation)
	if !l.SpeaksTLS() {
		return out
	}
	if why := r.in.overlap.Get(c, listenerKey{gateway, l.ID()}); !why.Good() {
		out = append(out, status.ListenerOverlaps(generation, why))
	}
	return out
}

// runListenerSetStatus returns the status of a ListenerSet. It returns nil if gatefold does not serve the class
// of the set's Gateway. The status of a set that is not accepted has no listeners.
func (r *gatewayStatusRules) runListenerSetStatus(c *memo.Ctx, key manifest.Key) *status.Update {
	set := r.in.listenerSet.Get(c, key)
	if set == nil {
		return nil
	}
	out := &gwv1.ListenerSetStatus{}
	update := &status.Update{Key: key, Generation: set.Generation, Gateway: set.Gateway, Status: out}
	part := r.in.part.Get(c, partKey{set.Gateway, key})
	out.Conditions = []metav1.Condition{status.SetAccepted(set, part), status.SetProgrammed(set, part)}
	if !set.Accepted.Good() || part == nil {
		return update
	}
	update.Envoy = part.EnvoyNames()
	for _, l := range part.Named() {
		attached, _ := r.attached.Get(c, listenerKey{set.Gateway, l.ID()})
		out.Listeners = append(out.Listeners, gwv1.ListenerEntryStatus{
			Name: gwv1.SectionName(l.Name), SupportedKinds: l.Kinds, AttachedRoutes: int32(attached),
			Conditions: r.conditions(c, set.Gateway, l, set.Generation),
		})
	}
	return update
}
