package translate

import (
	"maps"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/status"
)

type gatewayIn struct {
	*hintRules
	*namespaceRules
	authority   *memo.Rule[backend.Reference, listen.Authority]
	certificate *memo.Rule[backend.Reference, listen.Certificate]
	class       *memo.Rule[string, classOut]
	*addressRules
	gateways     *objects
	listenerSets *objects
	routes       *objects
	namespaces   *objects
	holders      *holdersInput
	clientIndex  *memo.Index[manifest.Key, manifest.Key]
	invalid      *memo.Input[manifest.Key, *store.Invalid]
	aims         targetRules
	unprogrammed *memo.Fold[string, manifest.Key, struct{}, int]
}

// gatewayRules read Gateways and ListenerSets, and decide which Gateway gets which port.
type gatewayRules struct {
	in          gatewayIn
	listenerSet *memo.Rule[manifest.Key, *listen.Set]
	joined      *memo.Fold[string, manifest.Key, *listen.Set, ordered.Set[*listen.Set]]
	listeners   *memo.Rule[manifest.Key, *listen.Gateway]
	client      *memo.Rule[manifest.Key, string]
	claims      *memo.Fold[listen.Socket, string, *listen.Claim, ordered.Set[*listen.Claim]]
	holders     *memo.Rule[listen.Socket, map[string]string]
	gateway     *memo.Rule[manifest.Key, *listen.Gateway]
	part        *memo.Rule[partKey, *listen.Part]
	owner       *memo.Rule[hostKey, string]
	clients     *memo.Rule[portKey, *ir.Clients]
	infra       *memo.Rule[manifest.Key, *ir.Infra]
	rivals      *rivalRules
	// before has the Gateways of the last Result. Only conflicts read it.
	before *recall[manifest.Key, *listen.Gateway]
	// sockets has the Gateways that bind a port.
	sockets *memo.Fold[listen.Socket, manifest.Key, *listen.Listening, ordered.Set[*listen.Listening]]
}

func newGatewayRules(e *memo.Engine, in gatewayIn) *gatewayRules {
	r := &gatewayRules{in: in, before: newRecall[manifest.Key](e, "hadgateway", identical[*listen.Gateway])}
	r.declareListenerSets(e)
	r.listeners = memo.NewRule(e, "listeners", r.runListeners, listen.Same)
	memo.Each(r.listeners, in.gateways)
	r.client = memo.NewRule(e, "client", r.runClient, identical)
	r.claims = memo.NewFold[listen.Socket, string, *listen.Claim](e, "claims", gather[string](listen.CompareClaims), ordered.Set[*listen.Claim].Same)
	memo.From(r.claims, r.listeners, func(_ manifest.Key, g *listen.Gateway, yield func(memo.Place[listen.Socket, string], *listen.Claim)) {
		if g != nil {
			for at, claim := range g.Claims() {
				yield(memo.Place[listen.Socket, string]{Key: at, ID: claim.Name}, claim)
			}
		}
	}, deepEqual)
	r.holders = memo.NewRule(e, "holders", r.runHolders, maps.Equal[map[string]string])
	r.rivals = newRivalRules(e, rivalIn{namespaceRules: in.namespaceRules, listeners: r.listeners, listenerSet: r.listenerSet, routes: in.routes, namespaces: in.namespaces, had: r.had})
	r.gateway = memo.NewRule(e, "gateway", r.runGateway, listen.Same)
	memo.Each(r.gateway, in.gateways)
	r.before.follow(r.gateway)
	r.part = memo.NewRule(e, "part", r.runPart, deepEqual)
	r.owner = memo.NewRule(e, "owner", r.runOwner, identical[string])
	r.clients = memo.NewRule(e, "clients", r.runClients, deepEqual)
	r.infra = memo.NewRule(e, "infra", r.runInfra, deepEqual)
	memo.Each(r.infra, in.gateways)
	r.sockets = memo.NewFold[listen.Socket, manifest.Key, *listen.Listening](e, "sockets", gather[manifest.Key](listen.CompareListening), ordered.Set[*listen.Listening].Same)
	memo.From(r.sockets, r.gateway, func(key manifest.Key, g *listen.Gateway, yield func(memo.Place[listen.Socket, manifest.Key], *listen.Listening)) {
		if g != nil {
			for at, listening := range g.Listening() {
				yield(memo.Place[listen.Socket, manifest.Key]{Key: at, ID: key}, listening)
			}
		}
	}, deepEqual)
	return r
}

// declareListenerSets declares the memo rules that read ListenerSets: r.listenerSet and r.joined. The memo rules that
// read Gateways use the results of these two.
func (r *gatewayRules) declareListenerSets(e *memo.Engine) {
	r.listenerSet = memo.NewRule(e, "listenerset", r.runListenerSet, deepEqual)
	memo.Each(r.listenerSet, r.in.listenerSets)
	r.joined = memo.NewFold[string, manifest.Key, *listen.Set](e, "joined", gather[manifest.Key](listen.CompareSets), ordered.Set[*listen.Set].Same)
	memo.From(r.joined, r.listenerSet, func(key manifest.Key, s *listen.Set, yield func(memo.Place[string, manifest.Key], *listen.Set)) {
		if s != nil && s.Accepted.Good() {
			yield(memo.Place[string, manifest.Key]{Key: s.Gateway, ID: key}, s)
		}
	}, identical)
}

func (r *gatewayRules) report(all *problemFold) {
	problemsFrom(all, "gateway", r.gateway, gatewayProblems)
	problemsFrom(all, "listenerset", r.listenerSet, setProblems)
}

// gatewayProblems returns the problems of a Gateway, nil for a nil Gateway.
func gatewayProblems(g *listen.Gateway) []manifest.Problem {
	if g == nil {
		return nil
	}
	return g.Problems
}

// setProblems returns the problems of a ListenerSet, nil for a nil Set.
func setProblems(s *listen.Set) []manifest.Problem {
	if s == nil {
		return nil
	}
	return s.Problems
}

// runListenerSet returns the listeners of a ListenerSet. If the Gateway of the set exists, but gatefold does not
// serve the Gateway's class, the result is nil. If the Gateway does not exist, the result is a rejected Set.
func (r *gatewayRules) runListenerSet(c *memo.Ctx, key manifest.Key) *listen.Set {
	object, ok := r.in.listenerSets.Get(c, key)
	if !ok {
		return nil
	}
	parent, exists := r.in.gateways.Get(c, listen.ParentOf(object))
	if exists {
		gateway, _ := manifest.As[*gwv1.Gateway](parent)
		if !r.in.class.Get(c, string(gateway.Spec.GatewayClassName)).Ours {
			return nil
		}
	} else if !r.speaksOf(c, listen.ParentOf(object)) {
		return nil
	}
	return listen.ReadSet(object, parent, listen.SetReferences{
		Bound:  r.in.bound.Get(c, key.Namespace),
		Labels: func() map[string]string { return r.in.namespaceLabels(c, key.Namespace) },
		Absent: func(gateway manifest.Key) (message, hint string) {
			absent := r.in.absent(c, gateway, "parentRef")
			return absent.Message, absent.Hint
		},
		Certificate: func(ref gwv1.SecretObjectReference) listen.Certificate {
			return r.in.certificate.Get(c, refer(key, ref))
		},
	})
}

// runListeners returns the listeners of a Gateway and of its ListenerSets, after conflicts between them. It
// returns nil if gatefold does not serve the Gateway.
func (r *gatewayRules) runListeners(c *memo.Ctx, key manifest.Key) *listen.Gateway {
	object, ok := r.in.gateways.Get(c, key)
	if !ok {
		return nil
	}
	gateway, _ := manifest.As[*gwv1.Gateway](object)
	if !r.in.class.Get(c, string(gateway.Spec.GatewayClassName)).Ours {
		return nil
	}
	g := listen.Read(object, r.in.addresses(c, key), listen.References{
		Bound: r.in.bound.Get(c, key.Namespace),
		Certificate: func(ref gwv1.SecretObjectReference) listen.Certificate {
			return r.in.certificate.Get(c, refer(key, ref))
		},
		Authority: func(ref gwv1.ObjectReference) listen.Authority {
			return r.in.authority.Get(c, referAuthority(key, ref))
		},
	})
	sets, _ := r.joined.Get(c, g.Name)
	g.Join(slices.Collect(sets.All()), listen.Order{
		Gateway: key,
		Granted: func(namespace string) bool { return !r.in.bound.Get(c, namespace).Hosts.Every() },
		Had:     func(l *listen.Listener) bool { return r.had(c, g.Name, l) },
	})
	return g
}

// runGateway returns the listeners of a Gateway after conflicts with other Gateways. It returns nil if gatefold
// does not serve the Gateway.
func (r *gatewayRules) runGateway(c *memo.Ctx, key manifest.Key) *listen.Gateway {
	g := r.listeners.Get(c, key)
	if g == nil {
		return nil
	}
	return g.WithHolders(func(at listen.Socket) string {
		return r.holders.Get(c, at)[g.Name]
	}, func(l *listen.Listener) *listen.Taking { return r.rivals.taking(c, g.Name, l) }, r.policiesAgainst(c, g))
}

// runPart returns the listeners that one object, the Gateway itself or a ListenerSet, defines for a Gateway. If
// gatefold does not serve the Gateway, the result is nil.
func (r *gatewayRules) runPart(c *memo.Ctx, key partKey) *listen.Part {
	if g := r.gateway.Get(c, ir.GatewayKey(key.Gateway)); g != nil {
		return g.Part(key.Object)
	}
	return nil
}

// runOwner returns the ID of the listener that serves a domain on a port, "" if no listener does.
func (r *gatewayRules) runOwner(c *memo.Ctx, key hostKey) string {
	if g := r.gateway.Get(c, ir.GatewayKey(key.Gateway)); g != nil {
		return g.OwnerName(listen.Socket{Port: key.Port, UDP: key.UDP}, key.Domain)
	}
	return ""
}

// runHolders decides which Gateways bind a port that several Gateways request. The result maps each Gateway
// that cannot bind the port to the Gateway that binds the port instead.
func (r *gatewayRules) runHolders(c *memo.Ctx, at listen.Socket) map[string]string {
	claims, _ := r.claims.Get(c, at)
	all := slices.Collect(claims.All())
	return listen.Holders(all, func(claim *listen.Claim) bool {
		if before, known := r.before.Get(c, ir.GatewayKey(claim.Name)); known {
			return before.Binds(at, claim.Addresses)
		}
		return slices.ContainsFunc(all, func(other *listen.Claim) bool {
			return r.in.holders.has(c, portThing(other.Name, at), ir.GatewayKey(claim.Name))
		})
	})
}

// had reports whether a listener of a Gateway is an incumbent: it served its port and hostname in the last Result, or,
// at a start, in the saved state.
func (r *gatewayRules) had(c *memo.Ctx, gateway string, l *listen.Listener) bool {
	if before, known := r.before.Get(c, ir.GatewayKey(gateway)); known {
		return before.Has(l)
	}
	return r.in.holders.has(c, listenerThing(gateway, l), l.Owner)
}

// portThing returns the Thing for a port that a Gateway wants to bind, and that another Gateway binds.
func portThing(gateway string, at listen.Socket) Thing {
	return Thing{Gateway: gateway, Port: at.Port, UDP: at.UDP}
}

// listenerThing returns the Thing for the hostname of a Gateway's port that a listener has.
func listenerThing(gateway string, l *listen.Listener) Thing {
	at := l.Socket()
	return Thing{Gateway: gateway, Host: l.Domain(), Port: at.Port, UDP: at.UDP}
}

// hold implements holder: the ports that several Gateways want, and the hostnames that several listeners want.
func (r *gatewayRules) hold(all *holdingFold) {
	holdingsFrom(all, r.holders, func(at listen.Socket, losers map[string]string) Holders {
		out := Holders{}
		for loser, winner := range losers {
			out[portThing(loser, at)] = ir.GatewayKey(winner)
		}
		return out
	})
	holdingsFrom(all, r.gateway, func(_ manifest.Key, g *listen.Gateway) Holders {
		out := Holders{}
		for _, l := range g.Contested() {
			out[listenerThing(g.Name, l)] = l.Owner
		}
		return out
	})
}

// speaksOfInvalid reports whether the class of an invalid object lets gatefold write its status. It returns false for
// a GatewayClass of another controller, for a Gateway whose class gatefold does not serve, and for a ListenerSet of
// such a Gateway. For an object of any other kind, it returns true.
func (r *gatewayRules) speaksOfInvalid(c *memo.Ctx, from *store.Invalid) bool {
	switch from.Key.Kind {
	case "GatewayClass":
		return from.Class == "" || from.Class == string(status.ControllerName)
	case "Gateway":
		return from.Class == "" || r.in.class.Get(c, from.Class).Ours
	case kindListenerSet:
		for _, ref := range from.Refs {
			gateway := parentKey(from.Key, ref)
			return gateway.Kind != "Gateway" || r.speaksOf(c, gateway)
		}
	}
	return true
}

// speaksOf reports whether gatefold writes statuses and problems of objects that attach to a Gateway or ListenerSet
// (parent). If the parent is invalid, speaksOfInvalid decides. If the parent does not exist, the result is true.
// Otherwise, the result is true if gatefold serves the class of the parent's Gateway.
func (r *gatewayRules) speaksOf(c *memo.Ctx, parent manifest.Key) bool {
	if invalid, ok := r.in.invalid.Get(c, parent); ok {
		return r.speaksOfInvalid(c, invalid)
	}
	if parent.Kind == kindListenerSet {
		_, exists := r.in.listenerSets.Get(c, parent)
		return !exists || r.listenerSet.Get(c, parent) != nil
	}
	_, exists := r.in.gateways.Get(c, parent)
	return !exists || r.listeners.Get(c, parent) != nil
}

// runClient returns "namespace/name" of the Secret with the client certificate that a Gateway presents to
// backends. If the Gateway has no such certificate, or if it cannot be used, the result is "".
func (r *gatewayRules) runClient(c *memo.Ctx, gateway manifest.Key) string {
	if g := r.listeners.Get(c, gateway); g != nil {
		if secret, ok := g.Shows(); ok {
			return secret.Namespace + "/" + secret.Name
		}
	}
	return ""
}

// clientOf returns the result of runClient for a Gateway. The parameter gateway is "namespace/name". If the Gateway
// names no client certificate, clientOf returns "" without running the memo rule r.client.
func (r *gatewayRules) clientOf(c *memo.Ctx, gateway string) string {
	key := ir.GatewayKey(gateway)
	if len(r.in.clientIndex.Get(c, key)) == 0 {
		return ""
	}
	return r.client.Get(c, key)
}

// runInfra returns the addresses and ports that the Envoy of a Gateway needs. It returns nil if gatefold does
// not serve the Gateway.
func (r *gatewayRules) runInfra(c *memo.Ctx, key manifest.Key) *ir.Infra {
	g := r.gateway.Get(c, key)
	if g == nil {
		return nil
	}
	infra := &ir.Infra{Gateway: g.Name, Origin: g.Origin, Addresses: g.Addresses}
	for _, port := range g.Ports() {
		infra.Ports = append(infra.Ports, port.Port)
	}
	return infra
}

// runClients returns how the listeners on a port verify client certificates, nil if they do not.
func (r *gatewayRules) runClients(c *memo.Ctx, key portKey) *ir.Clients {
	if g := r.gateway.Get(c, ir.GatewayKey(key.Gateway)); g != nil {
		return g.Clients(key.Port)
	}
	return nil
}

// tableName returns the name of the RouteConfiguration of a filter chain (see listen.RoutesName).
func (r *gatewayRules) tableName(c *memo.Ctx, key chainKey) string {
	if key.Chain == "" {
		return listen.RoutesName(key.Gateway, key.Port, "", nil)
	}
	return listen.RoutesName(key.Gateway, key.Port, key.Chain, r.clients.Get(c, key.portKey))
}
