package translate

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

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
	asked := listen.Route{Common: *from, NamespaceLabels: n.namespaceLabels(c, from.Key.Namespace)}
	p.Attachment = part.Attach(parent, ref, asked, func(at listen.Socket, domain string) string {
		return n.owner.Get(c, hostKey{portKey{p.Gateway, at.Port, at.UDP}, domain})
	})
	return p, true
}
