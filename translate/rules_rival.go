package translate

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/route"
)

type rivalIn struct {
	*namespaceRules
	listeners   *memo.Rule[manifest.Key, *listen.Gateway]
	listenerSet *memo.Rule[manifest.Key, *listen.Set]
	routes      *objects
	namespaces  *objects
	// had reports whether a listener of a Gateway is an incumbent (see gatewayRules.had).
	had func(c *memo.Ctx, gateway string, l *listen.Listener) bool
}

// rivalRules decide whether a listener of a team may have its hosts. Of the listeners of one port, the one with the
// most specific hostname gets the requests for a host. So a listener of a team could take a host away from a route on a
// listener of another namespace, and even get a certificate for it. Without path policies, the rules compute nothing.
//
// The rules compare what routes request, and not what they get: what a route gets depends on the listeners that these
// rules reject.
type rivalRules struct {
	in     rivalIn
	shared *memo.Rule[manifest.Key, map[listen.Socket]bool]
	part   *memo.Rule[partKey, *listen.Part]
	asks   *memo.Rule[manifest.Key, []*ask]
	rivals *memo.Fold[hostNear, askKey, *listen.Rival, ordered.Set[*listen.Rival]]
	owners *memo.Fold[domainNear, hostOwner, hostOwner, ordered.Set[hostOwner]]
}

// ask is a host that a route requests on a listener of a port that listeners of several namespaces share.
type ask struct {
	At    portKey
	Rival *listen.Rival
}

// askKey identifies an ask of one port.
type askKey struct {
	Route            manifest.Key
	Listener, Domain string
}

// domainNear is a set of domains: the domain itself or, if Below is true, the domains that the wildcard Domain covers.
type domainNear struct {
	Domain string
	Below  bool
}

// hostNear is a set of domains of a port.
type hostNear struct {
	portKey
	domainNear
}

// hostOwner is a host in the annotation gatefold.io/hostnames of a Namespace.
type hostOwner struct{ Namespace, Host string }

func compareHostOwners(a, b hostOwner) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Host, b.Host))
}

func newRivalRules(e *memo.Engine, in rivalIn) *rivalRules {
	r := &rivalRules{in: in}
	r.shared = memo.NewRule(e, "sharedports", func(c *memo.Ctx, gateway manifest.Key) map[listen.Socket]bool {
		return in.listeners.Get(c, gateway).SharedSockets()
	}, deepEqual)
	r.part = memo.NewRule(e, "askedpart", func(c *memo.Ctx, key partKey) *listen.Part {
		if g := in.listeners.Get(c, ir.GatewayKey(key.Gateway)); g != nil {
			return g.Part(key.Object)
		}
		return nil
	}, deepEqual)
	r.asks = memo.NewRule(e, "asks", r.runAsks, deepEqual)
	memo.EachOf(r.asks, in.routes, underPathPolicies)
	r.rivals = memo.NewFold[hostNear, askKey](e, "rivals", gather[askKey](listen.CompareRivals), ordered.Set[*listen.Rival].Same)
	memo.From(r.rivals, r.asks, rivalsOf, deepEqual)
	r.owners = memo.NewFold[domainNear, hostOwner](e, "hostowners", gather[hostOwner](compareHostOwners), ordered.Set[hostOwner].Same)
	memo.From(r.owners, in.namespaces, ownersOf, identical)
	return r
}

// underPathPolicies returns the key of a route that may name hosts, as a list with one element, if path policies are in
// force. Otherwise it returns nil.
func underPathPolicies(key manifest.Key, object *manifest.Object) []manifest.Key {
	if kind, _ := route.KindOf(key); !kind.Hosts || object.Source == manifest.AnyFile {
		return nil
	}
	return []manifest.Key{key}
}

// near yields the sets of domains that a domain is in.
func near(domain string, yield func(domainNear)) {
	for around := range scope.Patterns(domain) {
		yield(domainNear{around, around != domain})
	}
}

func rivalsOf(_ manifest.Key, asks []*ask, yield func(memo.Place[hostNear, askKey], *listen.Rival)) {
	for _, a := range asks {
		near(a.Rival.Domain, func(at domainNear) {
			yield(memo.Place[hostNear, askKey]{Key: hostNear{a.At, at}, ID: askKey{a.Rival.Route, a.Rival.Listener, a.Rival.Domain}}, a.Rival)
		})
	}
}

func ownersOf(_ manifest.Key, object *manifest.Object, yield func(memo.Place[domainNear, hostOwner], hostOwner)) {
	from, _ := manifest.As[*corev1.Namespace](object)
	grant, _ := tenancy.Read(from.Annotations)
	hosts := slices.Clone(grant.Hosts)
	slices.Sort(hosts)
	for _, host := range slices.Compact(hosts) {
		owner := hostOwner{object.Key.Name, host}
		near(host, func(at domainNear) { yield(memo.Place[domainNear, hostOwner]{Key: at, ID: owner}, owner) })
	}
}

// runAsks returns the hosts that a route requests on shared ports (Gateway.SharedSockets), as if no listener were
// rejected because of them. A route that requests every host is left out: it has what no other listener serves.
func (r *rivalRules) runAsks(c *memo.Ctx, key manifest.Key) (out []*ask) {
	object, ok := r.in.routes.Get(c, key)
	if !ok {
		return nil
	}
	from := route.Read(object)
	for _, ref := range from.Parents {
		if !toListeners(ref) {
			continue
		}
		parent := parentKey(key, ref)
		gateway := r.gatewayOf(c, parent)
		shared := r.shared.Get(c, gateway)
		if len(shared) == 0 {
			continue
		}
		r.in.bindHosts(c, &from)
		name := gateway.Namespace + "/" + gateway.Name
		part := r.part.Get(c, partKey{name, parent})
		asked := listen.Route{Common: from, NamespaceLabels: r.in.namespaceLabels(c, key.Namespace)}
		for _, place := range part.Attach(parent, ref, asked, nil).Places {
			if at := place.Socket(); shared[at] && place.Domain != "*" {
				out = append(out, &ask{portKey{name, at.Port, at.UDP}, part.Rival(place, route.OriginOf(object))})
			}
		}
	}
	return out
}

// gatewayOf returns the key of the Gateway that a parent of a route belongs to. The parent is a Gateway or a
// ListenerSet. The result is the zero Key if the Gateway does not accept the ListenerSet.
func (r *rivalRules) gatewayOf(c *memo.Ctx, parent manifest.Key) manifest.Key {
	if parent.Kind != kindListenerSet {
		return parent
	}
	if set := r.in.listenerSet.Get(c, parent); set != nil && set.Accepted.Good() {
		return ir.GatewayKey(set.Gateway)
	}
	return manifest.Key{}
}

// taking returns the reason why a listener may not be served: it would take a host away from another namespace. The
// result is nil for a listener of the platform team, and for one that meets no listener of another namespace. A listener
// that serves its host already keeps it if a route comes later. The annotation of a Namespace takes it away at once.
func (r *rivalRules) taking(c *memo.Ctx, gateway string, l *listen.Listener) *listen.Taking {
	if !l.Outside || l.Protocol == gwv1.TCPProtocolType || l.Protocol == gwv1.UDPProtocolType {
		return nil
	}
	at := l.Socket()
	if !r.shared.Get(c, ir.GatewayKey(gateway))[at] {
		return nil
	}
	granted := !r.in.bound.Get(c, l.Owner.Namespace).Hosts.Every()
	if !granted {
		if t := r.fromNamespace(c, l); t != nil {
			return t
		}
	}
	t := r.fromRoute(c, portKey{gateway, at.Port, at.UDP}, l, granted)
	if t != nil && r.in.had(c, gateway, l) {
		return nil
	}
	return t
}

// fromNamespace returns the Taking of a listener with a host of another Namespace, nil if there is none.
func (r *rivalRules) fromNamespace(c *memo.Ctx, l *listen.Listener) (t *listen.Taking) {
	meets(l, func(at domainNear) bool {
		owners, _ := r.owners.Get(c, at)
		for owner := range owners.All() {
			if owner.Namespace != l.Owner.Namespace {
				t = l.TakesFromNamespace(owner.Namespace, owner.Host)
				return false
			}
		}
		return true
	})
	return t
}

// fromRoute returns the Taking of a listener that has a host of another namespace's route, nil if there is none. The
// parameter granted says whether the Namespace of the listener has the annotation gatefold.io/hostnames.
func (r *rivalRules) fromRoute(c *memo.Ctx, at portKey, l *listen.Listener, granted bool) (t *listen.Taking) {
	meets(l, func(near domainNear) bool {
		rivals, _ := r.rivals.Get(c, hostNear{at, near})
		for rival := range rivals.All() {
			if rival.Loser(l, granted) {
				t = l.TakesFromRoute(rival)
				return false
			}
		}
		return true
	})
	return t
}

// meets calls yield for each set of domains that have hosts in common with a listener's hostname, until yield returns
// false.
func meets(l *listen.Listener, yield func(domainNear) bool) {
	domain := l.Domain()
	for around := range scope.Patterns(domain) {
		if !yield(domainNear{around, false}) {
			return
		}
	}
	yield(domainNear{domain, true})
}
