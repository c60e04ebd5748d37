package translate

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/keypair"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/xds"
)

// Certificates of authorities (CAs), by which Envoy knows back ends and clients. As
// with Secrets, whether an object can be used and what is in it are two rules: those
// who refer to it read the first, which new certificates do not change.

// trustUse is a Gateway and a trust that its Envoy is given, by its name on the wire
// (listen.TrustName).
type trustUse struct{ Gateway, Trust string }

func (k trustUse) String() string { return k.Gateway + " " + k.Trust }

// trustOut is a bundle as Envoy gets it, and what may be shown of the objects that it
// is read from; none for those of the system.
type trustOut struct {
	Resource    xds.Resource
	Authorities []ir.Authorities
}

func (o *trustOut) resource() *xds.Resource {
	if o == nil {
		return nil
	}
	return &o.Resource
}

func sameTrust(a, b *trustOut) bool {
	return a == b || a != nil && b != nil && sameResource(a.Resource, b.Resource)
}

func (n *network) declareTrust(e *memo.Engine) {
	uses := memo.NewFold[trustUse, string](e, "trustuses", count[string], identical[int])
	memo.From(uses, n.push, func(key useKey, c *clusterOut, yield func(memo.Place[trustUse, string], struct{})) {
		if c != nil && c.Source.TLS != nil {
			yield(memo.Place[trustUse, string]{Key: trustUse{key.Gateway, c.Source.TLS.Trust}, ID: key.Backend.Cluster()}, struct{}{})
		}
	}, identical)
	memo.From(uses, n.gateway, func(_ manifest.Key, g *listen.Gateway, yield func(memo.Place[trustUse, string], struct{})) {
		for l := range g.Serving() {
			if clients := l.TLS.Clients; clients != nil {
				yield(memo.Place[trustUse, string]{Key: trustUse{g.Name, clients.Trust}, ID: "listener " + l.ID()}, struct{}{})
			}
		}
	}, identical)
	n.trust = memo.NewRule(e, "trust", n.runTrust, sameTrust)
	n.pushTrust = memo.NewRule(e, "pushtrust", func(c *memo.Ctx, key trustUse) *trustOut {
		return n.trust.Get(c, key.Trust)
	}, identical)
	memo.Each(n.pushTrust, uses)
	byName := func(a, b *trustOut) int { return cmp.Compare(a.Resource.Name, b.Resource.Name) }
	n.allTrusts = memo.NewFold[struct{}, string, *trustOut](e, "alltrusts", gather[string](byName), memo.Ordered[*trustOut].Same)
	memo.From(n.allTrusts, n.trust, func(name string, t *trustOut, yield func(memo.Place[struct{}, string], *trustOut)) {
		if t != nil {
			yield(memo.Place[struct{}, string]{ID: name}, t)
		}
	}, identical)
}

// runAuthority judges the reference first: who may not see an object is not told
// whether it exists.
func (n *network) runAuthority(c *memo.Ctx, ref backend.Reference) listen.Authority {
	refuse := func(reason gwv1.ListenerConditionReason, message, hint string) listen.Authority {
		return listen.Authority{Refused: manifest.Verdict[gwv1.ListenerConditionReason]{Reason: reason, Message: message}, Hint: hint}
	}
	if ref.To.Group != "" || ref.To.Kind != "ConfigMap" && ref.To.Kind != "Secret" {
		return refuse(gwv1.ListenerReasonInvalidCACertificateKind,
			fmt.Sprintf("kind %s of group %q holds no certificates of authorities", ref.To.Kind, ref.To.Group),
			"refer to a ConfigMap or Secret with ca.crt")
	}
	if ref.To.Namespace != ref.From.Namespace && !ref.Granted(n.grants.Get(c, ref.To.Namespace)) {
		why := ref.NotGranted()
		return refuse(gwv1.ListenerReasonRefNotPermitted, why.Message, why.Hint)
	}
	text, ok := n.authorityText(c, ref.To)
	if !ok {
		return refuse(gwv1.ListenerReasonInvalidCACertificateRef, ref.To.String()+" does not exist, or cannot be read", n.absent(c, ref.To, "reference"))
	}
	if _, fault := keypair.ReadBundle(text); fault != nil {
		return refuse(gwv1.ListenerReasonInvalidCACertificateRef, fmt.Sprintf("%s has no certificate in ca.crt", ref.To),
			"write the certificates of the authorities into ca.crt, in PEM")
	}
	return listen.Authority{Object: ref.To}
}

// authorityText gives ca.crt of an object; ok is false when there is no such object.
func (n *network) authorityText(c *memo.Ctx, key manifest.Key) (text []byte, ok bool) {
	if key.Kind == "Secret" {
		object, _ := n.in.secrets.Get(c, key)
		secret, ok := manifest.As[*corev1.Secret](object)
		if !ok {
			return nil, false
		}
		return secret.Data[string(keypair.Authorities)], true
	}
	object, _ := n.in.configMaps.Get(c, key)
	from, ok := manifest.As[*corev1.ConfigMap](object)
	if !ok {
		return nil, false
	}
	return []byte(from.Data[string(keypair.Authorities)]), true
}

// runTrust joins the bundles of the objects that a name stands for. It gives nil when
// none is left: nobody names it then for longer than one flush.
func (n *network) runTrust(c *memo.Ctx, name string) *trustOut {
	if name == listen.SystemTrust {
		return &trustOut{Resource: xds.SystemTrust(name, n.SystemCA)}
	}
	all := &keypair.Bundle{}
	out := &trustOut{}
	for _, key := range listen.TrustedBy(name) {
		text, _ := n.authorityText(c, key)
		if bundle, fault := keypair.ReadBundle(text); fault == nil {
			all.Add(bundle)
			out.Authorities = append(out.Authorities, ir.Authorities{Object: key, NotAfter: bundle.NotAfter()})
		}
	}
	if len(out.Authorities) == 0 {
		return nil
	}
	out.Resource = xds.Trust(name, all)
	return out
}
