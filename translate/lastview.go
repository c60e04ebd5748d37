package translate

import (
	"slices"
	"sync"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
)

// lastView has the current values of the folds that gather something of the whole folder, for example all virtual
// hosts or all problems. Apply fills a Result from a lastView.
type lastView struct {
	hosts    ordered.Set[*hostOut]
	ports    ordered.Set[*portOut]
	clusters ordered.Set[*clusterOut]
	required ordered.Set[*requirementOut]
	policies ordered.Set[*ir.Policy]
	bounds   ordered.Set[listen.Bound]
	sets     ordered.Set[problemSet]
	problems []manifest.Problem
	stale    bool

	delegating ordered.Set[delegating]
	rejected   ordered.Set[rejectedBelow]

	inUse   []ir.Certificate
	trusted []ir.Authorities
	issuers []string
	holders Holders
}

// watch subscribes l to the folds from which the fields of l come. The parameter net is the network with these folds.
// Whenever the value of such a fold changes, the new value is stored in l.
func (l *lastView) watch(net *network) {
	memo.Watch(net.views.allHosts, func(_ struct{}, v ordered.Set[*hostOut]) { l.hosts = v })
	memo.Watch(net.views.allPorts, func(_ struct{}, v ordered.Set[*portOut]) { l.ports = v })
	memo.Watch(net.policyViews.allPolicies, func(_ struct{}, v ordered.Set[*ir.Policy]) { l.policies = v })
	memo.Watch(net.namespaces.allBounds, func(_ struct{}, v ordered.Set[listen.Bound]) { l.bounds = v })
	memo.Watch(net.views.allUsed, func(_ struct{}, v ordered.Set[*clusterOut]) { l.clusters = v })
	memo.Watch(net.views.allRequired, func(_ struct{}, v ordered.Set[*requirementOut]) { l.required = v })
	memo.Watch(net.views.allDelegating, func(_ struct{}, v ordered.Set[delegating]) { l.delegating = v })
	memo.Watch(net.views.allRejected, func(_ struct{}, v ordered.Set[rejectedBelow]) { l.rejected = v })
	memo.Watch(net.secrets.allSecrets, l.setSecrets)
	memo.Watch(net.trusts.allTrusts, l.setTrusts)
	memo.Watch(net.extensions.issuers, l.setIssuers)
	memo.Watch(net.holdings, l.setHoldings)
	memo.Watch(net.problems, func(_ struct{}, v ordered.Set[problemSet]) { l.sets, l.stale = v, true })
}

// allProblems returns all current problems, sorted and without duplicates. The list is built again only after a
// problemSet changed. If the problems are the same as in the last list, the result is the same slice.
func (l *lastView) allProblems() []manifest.Problem {
	if l.stale {
		var all []manifest.Problem
		for set := range l.sets.All() {
			for _, p := range set.list {
				if len(all) == 0 || p != all[len(all)-1] { // the many nodes of one route often have the same problem
					all = append(all, p)
				}
			}
		}
		manifest.SortProblems(all)
		if all = slices.Compact(all); !slices.Equal(all, l.problems) {
			l.problems = slices.Clip(all)
		}
		l.stale = false
	}
	return l.problems
}

// setSecrets stores the certificates that are in use. It is called when they have changed.
func (l *lastView) setSecrets(_ struct{}, secrets ordered.Set[*secretOut]) {
	l.inUse = make([]ir.Certificate, 0, secrets.Len())
	for s := range secrets.All() {
		l.inUse = append(l.inUse, s.Certificate)
	}
}

// setTrusts stores the objects whose CA certificates are in use. It is called when the bundles of CA certificates
// (trustOut) have changed. An object that is in several bundles is stored once.
func (l *lastView) setTrusts(_ struct{}, trusts ordered.Set[*trustOut]) {
	l.trusted = nil
	for t := range trusts.All() {
		l.trusted = append(l.trusted, t.Authorities...)
	}
	slices.SortFunc(l.trusted, func(a, b ir.Authorities) int { return manifest.CompareKeys(a.Object, b.Object) })
	l.trusted = slices.Compact(l.trusted)
}

// setIssuers stores the issuers whose discovery documents are needed, without duplicates. It is called when these
// issuers have changed.
func (l *lastView) setIssuers(_ struct{}, uses ordered.Set[issuerUse]) {
	l.issuers = nil
	for use := range uses.All() {
		l.issuers = append(l.issuers, use.Issuer)
	}
	l.issuers = slices.Compact(l.issuers)
}

// view returns a function that returns the View of the current state. The function builds the View in its first
// call.
func (l *lastView) view() func() *ir.View {
	now := *l
	now.sets, now.problems = ordered.Set[problemSet]{}, nil // a View does not contain problems
	return sync.OnceValue(now.build)
}

// build returns the View, with hosts below their ports, and ports below their Gateways.
func (l lastView) build() *ir.View {
	byPort := map[portKey][]ir.HostView{}
	for h := range l.hosts.All() {
		byPort[h.Key.portKey] = append(byPort[h.Key.portKey], ir.HostView{
			Chain: h.Key.Chain, Domain: h.Key.Domain, Rules: h.rules(), Len: h.Table.Len(), Forged: h.Forged, Attached: h.attached,
		})
	}
	view := &ir.View{
		Clusters: make(map[string]*ir.Cluster, l.clusters.Len()), Policies: slices.Collect(l.policies.All()), Certificates: l.inUse,
		Bounds: make(map[string]ir.Hosts, l.bounds.Len()), Delegations: sync.OnceValue(func() []ir.Delegation { return listDelegations(l.delegating, l.rejected) }),
	}
	for b := range l.bounds.All() {
		view.Bounds[b.Namespace.Name] = b.Hosts
	}
	for c := range l.clusters.All() {
		view.Clusters[c.Source.Name] = c.Source
	}
	var claims []string // of all Gateways, because one Envoy may serve several
	for one := range l.required.All() {
		claims = append(claims, one.Claims...)
	}
	slices.Sort(claims)
	claims = slices.Compact(claims)
	for p := range l.ports.All() {
		last := len(view.Gateways) - 1
		if last < 0 || view.Gateways[last].Name != p.Port.Gateway {
			view.Gateways = append(view.Gateways, ir.GatewayView{Name: p.Port.Gateway})
			last++
		}
		key := portKey{p.Port.Gateway, int32(p.Port.Port), p.Port.UDP}
		view.Gateways[last].Ports = append(view.Gateways[last].Ports, ir.PortView{Port: p.Port, Hosts: byPort[key], Claims: claims})
	}
	return view
}
