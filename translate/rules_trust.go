package translate

import (
	"cmp"

	"github.com/gatefold/gatefold/store/keypair"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/xds"
)

// CA certificates with which Envoy verifies backends and clients. As for Secrets, one rule decides whether an
// object can be used, and another reads its content. Objects that refer to CA certificates read only the first
// rule, so that new certificates do not change them.

// trustUse is a Gateway and a bundle of CA certificates that its Envoys need. Trust is the xDS name of the
// bundle (listen.TrustName).
type trustUse struct{ Gateway, Trust string }

func (k trustUse) String() string { return k.Gateway + " " + k.Trust }

// trustOut is a bundle of CA certificates for Envoy.
type trustOut struct {
	Resource xds.Resource
	// Authorities has an entry for each object whose CA certificates are in the bundle. It is nil for the bundle of
	// the system's CA certificates.
	Authorities []ir.Authorities
}

// resource returns the Resource, nil for a nil trustOut.
func (o *trustOut) resource() *xds.Resource {
	if o == nil {
		return nil
	}
	return &o.Resource
}

func sameTrust(a, b *trustOut) bool {
	return a == b || a != nil && b != nil && sameResource(a.Resource, b.Resource)
}

type trustIn struct {
	*certificateRules
	gateway  *memo.Rule[manifest.Key, *listen.Gateway]
	push     *memo.Rule[useKey, *clusterOut]
	SystemCA string
}

// trustRules build the bundles of CA certificates with which Envoys verify clients and backends.
type trustRules struct {
	in        trustIn
	trust     *memo.Rule[string, *trustOut]
	pushTrust *memo.Rule[trustUse, *trustOut]
	allTrusts *memo.Fold[struct{}, string, *trustOut, ordered.Set[*trustOut]]
}

func newTrustRules(e *memo.Engine, in trustIn) *trustRules {
	r := &trustRules{in: in}
	uses := memo.NewFold[trustUse, string](e, "trustuses", count[string], identical[int])
	memo.From(uses, in.push, func(key useKey, c *clusterOut, yield func(memo.Place[trustUse, string], struct{})) {
		if c != nil && c.Source.TLS != nil {
			yield(memo.Place[trustUse, string]{Key: trustUse{key.Gateway, c.Source.TLS.Trust}, ID: key.Backend.Cluster()}, struct{}{})
		}
	}, identical)
	memo.From(uses, in.gateway, func(_ manifest.Key, g *listen.Gateway, yield func(memo.Place[trustUse, string], struct{})) {
		for l := range g.Serving() {
			if clients := l.TLS.Clients; clients != nil {
				yield(memo.Place[trustUse, string]{Key: trustUse{g.Name, clients.Trust}, ID: "listener " + l.ID()}, struct{}{})
			}
		}
	}, identical)
	r.trust = memo.NewRule(e, "trust", r.runTrust, sameTrust)
	r.pushTrust = memo.NewRule(e, "pushtrust", func(c *memo.Ctx, key trustUse) *trustOut {
		return r.trust.Get(c, key.Trust)
	}, identical)
	memo.Each(r.pushTrust, uses)
	byName := func(a, b *trustOut) int { return cmp.Compare(a.Resource.Name, b.Resource.Name) }
	r.allTrusts = memo.NewFold[struct{}, string, *trustOut](e, "alltrusts", gather[string](byName), ordered.Set[*trustOut].Same)
	memo.From(r.allTrusts, r.trust, func(name string, t *trustOut, yield func(memo.Place[struct{}, string], *trustOut)) {
		if t != nil {
			yield(memo.Place[struct{}, string]{ID: name}, t)
		}
	}, identical)
	return r
}

// runTrust returns the bundle of CA certificates with the given xDS name. The bundle has the CA certificates of all
// objects that the name lists (listen.TrustedBy), or those of the system for the name listen.SystemTrust. Objects
// that cannot be read are skipped. If none can be read, the result is nil. Listeners and clusters that refer to the
// name are computed again in the same memo.Engine.Flush, so that they do not refer to a missing bundle.
func (r *trustRules) runTrust(c *memo.Ctx, name string) *trustOut {
	if name == listen.SystemTrust {
		return &trustOut{Resource: xds.SystemTrust(name, r.in.SystemCA)}
	}
	all := &keypair.Bundle{}
	out := &trustOut{}
	for _, key := range listen.TrustedBy(name) {
		text, _ := r.in.authorityText(c, key)
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
