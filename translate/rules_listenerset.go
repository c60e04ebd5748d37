package translate

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/status"
)

const kindListenerSet = "ListenerSet"

func (n *network) declareListenerSets(e *memo.Engine) {
	n.listenerSet = memo.NewRule(e, "listenerset", n.runListenerSet, deepEqual)
	memo.Each(n.listenerSet, n.in.listenerSets)
	n.joined = memo.NewFold[string, manifest.Key, *listen.Set](e, "joined", gather[manifest.Key](listen.CompareSets), memo.Ordered[*listen.Set].Same)
	memo.From(n.joined, n.listenerSet, func(key manifest.Key, s *listen.Set, yield func(memo.Place[string, manifest.Key], *listen.Set)) {
		if s != nil && s.Refused.Good() {
			yield(memo.Place[string, manifest.Key]{Key: s.Gateway, ID: key}, s)
		}
	}, identical)
}

// runListenerSet gives nil for a set of a Gateway that is not ours.
func (n *network) runListenerSet(c *memo.Ctx, key manifest.Key) *listen.Set {
	object, ok := n.in.listenerSets.Get(c, key)
	if !ok {
		return nil
	}
	parent, exists := n.in.gateways.Get(c, listen.ParentOf(object))
	if exists {
		gateway, _ := manifest.As[*gwv1.Gateway](parent)
		if !n.class.Get(c, string(gateway.Spec.GatewayClassName)).Ours {
			return nil
		}
	}
	return listen.ReadSet(object, parent, listen.SetReferences{
		Bound:       n.bound.Get(c, key.Namespace),
		Labels:      func() map[string]string { return n.namespaceLabels(c, key.Namespace) },
		Absent:      func(gateway manifest.Key) string { return n.absent(c, gateway, "parentRef") },
		Certificate: func(ref gwv1.SecretObjectReference) listen.Certificate { return n.certificate.Get(c, refer(key, ref)) },
	})
}

// attachment resolves the parentRef of a route to a Gateway or ListenerSet; ours is
// false where it is somebody else's to speak of.
func (n *network) attachment(c *memo.Ctx, parent manifest.Key, ref gwv1.ParentReference, from *route.Common) (p parentOut, ours bool) {
	p = parentOut{Ref: ref, Gateway: parent.Namespace + "/" + parent.Name}
	of := n.in.gateways
	if parent.Kind == kindListenerSet {
		of = n.in.listenerSets
	}
	if _, exists := of.Get(c, parent); !exists {
		if invalid, ok := n.in.invalid.Get(c, parent); ok {
			p.Attachment = listen.InvalidParent(parent)
			return p, n.speaksOfInvalid(c, invalid)
		}
		p.Attachment = listen.NoParent(parent, n.absent(c, parent, "parentRef"))
		if _, isRoute := n.in.routes.Get(c, routeKey(p.Gateway)); isRoute && from.Key.Kind == "HTTPRoute" {
			p.Hint = "an HTTPRoute has that name; to stand under it, write kind: HTTPRoute into the parentRef"
		}
		return p, true
	}
	if parent.Kind == kindListenerSet {
		set := n.listenerSet.Get(c, parent)
		if set == nil {
			return p, false
		}
		if p.Gateway = set.Gateway; !set.Refused.Good() {
			p.Attachment = set.AttachToNone()
			return p, true
		}
	}
	part := n.part.Get(c, partKey{p.Gateway, parent})
	if part == nil {
		return p, false
	}
	if from.Hosts.None() {
		p.Attachment = n.bound.Get(c, from.Key.Namespace).NoHost()
		return p, true
	}
	r := listen.Route{Common: *from, NamespaceLabels: n.namespaceLabels(c, from.Key.Namespace)}
	p.Attachment = part.Attach(parent, ref, r, func(at listen.Socket, domain string) string {
		return n.owner.Get(c, hostKey{portKey{p.Gateway, at.Port, at.UDP}, domain})
	})
	return p, true
}

func setProblems(s *listen.Set) []manifest.Problem {
	if s == nil {
		return nil
	}
	return s.Problems
}

// runListenerSetStatus gives nil for a set of a Gateway that is not ours.
func (n *network) runListenerSetStatus(c *memo.Ctx, key manifest.Key) *status.Update {
	set := n.listenerSet.Get(c, key)
	if set == nil {
		return nil
	}
	out := &gwv1.ListenerSetStatus{}
	update := &status.Update{Key: key, Generation: set.Generation, Gateway: set.Gateway, Status: out}
	part := n.part.Get(c, partKey{set.Gateway, key})
	out.Conditions = []metav1.Condition{status.SetAccepted(set, part), status.SetProgrammed(set, part)}
	if !set.Refused.Good() || part == nil {
		return update
	}
	update.Envoy = part.EnvoyNames()
	for _, l := range part.Named() {
		attached, _ := n.attached.Get(c, listenerKey{set.Gateway, l.ID()})
		out.Listeners = append(out.Listeners, gwv1.ListenerEntryStatus{
			Name: gwv1.SectionName(l.Name), SupportedKinds: l.Kinds, AttachedRoutes: int32(attached),
			Conditions: n.listenerConditions(c, set.Gateway, l, set.Generation),
		})
	}
	return update
}
