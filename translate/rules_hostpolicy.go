package translate

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/status"
	"github.com/gatefold/gatefold/translate/xds"
)

// hostPolicy is what the policies of a Gateway, of a ListenerSet of it, and of one of their
// listeners come to: for every route of the listener's virtual hosts, where it says nothing itself.
type hostPolicy struct {
	policy.Resolved
	// Extras are lowered, nil for nothing; Backends are those of their services.
	Extras   *ir.Extras
	Backends []*backend.Key
	// Closed says why all these routes answer 500: a policy that cannot be used.
	Closed *closing
}

// hostDemand is what routes have to know of a hostPolicy. An edit of a value that
// the virtual host holds does not change it.
type hostDemand struct {
	// Own are the fields that a virtual host cannot hold.
	Own policy.Resolved
	// Held names those that it holds.
	Held   []ir.Field
	Closed *closing
}

type hostPolicyIn struct {
	*policyRules
	*gatewayRules
	*referenceRules
	gateways     *objects
	listenerSets *objects
	quarantine   *quarantineInputs
}

// hostPolicyRules say what TrafficPolicies of Gateways, ListenerSets and listeners set.
type hostPolicyRules struct {
	in         hostPolicyIn
	policed    *memo.Rule[string, bool]
	hostPolicy *memo.Rule[listenerKey, *hostPolicy]
	hostDemand *memo.Rule[listenerKey, *hostDemand]
}

func newHostPolicyRules(e *memo.Engine, in hostPolicyIn) *hostPolicyRules {
	r := &hostPolicyRules{in: in}
	r.hostPolicy = memo.NewRule(e, "hostpolicy", r.runHostPolicy, deepEqual)
	r.hostDemand = memo.NewRule(e, "hostdemand", r.runHostDemand, deepEqual)
	r.policed = memo.NewRule(e, "policed", r.runPoliced, identical[bool])
	return r
}

// runPoliced reports whether policies are for a Gateway, or for a ListenerSet of it.
func (r *hostPolicyRules) runPoliced(c *memo.Ctx, gateway string) bool {
	if r.in.aims.any(c, ir.GatewayKey(gateway)) {
		return true
	}
	sets, _ := r.in.joined.Get(c, gateway)
	for set := range sets.All() {
		if r.in.aims.any(c, set.Origin.Key) {
			return true
		}
	}
	return false
}

// listenerOf returns the listener whose policies hold for a table. Most Gateways
// have no policies, and their tables need no cell to know it.
func (r *hostPolicyRules) listenerOf(c *memo.Ctx, key tableKey) (at listenerKey, policed bool) {
	if !r.policed.Get(c, key.Gateway) {
		return at, false
	}
	return listenerKey{key.Gateway, r.in.owner.Get(c, hostKey{key.portKey, key.Domain})}, true
}

// listenerConditions returns the conditions of a listener, with one more while its policies
// close it.
func (r *hostPolicyRules) listenerConditions(c *memo.Ctx, gateway string, l *listen.Listener, generation int64) []metav1.Condition {
	out := status.ListenerConditions(l, generation)
	if !r.policed.Get(c, gateway) {
		return out
	}
	if closed := r.hostPolicy.Get(c, listenerKey{gateway, l.ID()}).Closed; closed != nil {
		out = append(out, status.ListenerClosed(generation, closed.Why))
	}
	return out
}

// hostPolicyOf returns what the policies of a table's listener come to, nil for none.
func (r *hostPolicyRules) hostPolicyOf(c *memo.Ctx, key tableKey) *hostPolicy {
	if at, policed := r.listenerOf(c, key); policed {
		return r.hostPolicy.Get(c, at)
	}
	return nil
}

// runHostPolicy goes by the order of a level: the listener is to the Gateway what
// a rule is to its route. Policies of a ListenerSet and its listeners go before those of
// the Gateway.
func (r *hostPolicyRules) runHostPolicy(c *memo.Ctx, key listenerKey) *hostPolicy {
	gathered, gateway := r.in.gathering(c), ir.GatewayKey(key.Gateway)
	set, listener, inSet := ir.SplitListenerID(key.Listener)
	if inSet {
		r.gatherHost(c, gathered, hostOf{set, listener, false})
	}
	r.gatherHost(c, gathered, hostOf{gateway, key.Listener, inSet})
	level := policy.NewLevel(gathered.specs, policy.ShallowMergePreferChild, route.CompareOrigins)
	out := &hostPolicy{Resolved: policy.Resolve([]policy.Level{level}), Closed: gathered.closed}
	if out.Closed == nil {
		out.Extras = out.Resolved.Extras()
		out.Backends, _ = r.in.connect(c, out.Extras)
		if client := r.in.clientOf(c, key.Gateway); client != "" {
			out.Backends = shownBackends(client, out.Backends)
			out.Extras = out.Extras.Renamed(func(cluster string) string { return backend.As(cluster, client) })
		}
	}
	return out
}

// hostOf is a Gateway or ListenerSet over a listener.
type hostOf struct {
	object   manifest.Key
	listener string // as policies of the object name it
	above    bool   // a ListenerSet is between the two
}

// gatherHost adds the policies of a Gateway or ListenerSet, and of one of its listeners.
func (r *hostPolicyRules) gatherHost(c *memo.Ctx, into *gathering, host hostOf) {
	if !r.in.aims.any(c, host.object) {
		return
	}
	before := len(into.specs)
	into.attach(r.in.aims.at.Get(c, host.object), host.listener, r.in.aims.kind)
	if host.above {
		for _, attached := range into.specs[before:] {
			attached.Standing = policy.ByGateway
		}
	}
}

func (r *hostPolicyRules) runHostDemand(c *memo.Ctx, key listenerKey) *hostDemand {
	all := r.hostPolicy.Get(c, key)
	if all.Closed != nil {
		return &hostDemand{Closed: all.Closed}
	}
	out := &hostDemand{Own: all.Only(func(field ir.Field) bool { return !xds.HeldByHost(field) })}
	for _, origin := range all.Origins {
		if xds.HeldByHost(origin.Field) {
			out.Held = append(out.Held, origin.Field)
		}
	}
	return out
}

// placed are the rules of a node as they stand in tables: not everywhere as they
// were flattened, as hosts have policies.
type placed struct {
	// Entries are those of the tables that have others than the node's own.
	Entries map[tableKey][]*entry
	// Clients are the Gateways that show backends a certificate, and its Secret.
	Clients map[string]string
	// Closed says by Gateway why the rules answer 500 there.
	Closed map[string]string
}

// in returns the entries for a table; own are the node's.
func (p placed) in(table tableKey, own []*entry) []*entry {
	if entries, other := p.Entries[table]; other {
		return entries
	}
	return own
}

func samePlaced(a, b placed) bool {
	if len(a.Entries) != len(b.Entries) || !maps.Equal(a.Closed, b.Closed) || !maps.Equal(a.Clients, b.Clients) {
		return false
	}
	for table, entries := range a.Entries {
		others, ok := b.Entries[table]
		if !ok || !slices.EqualFunc(entries, others, sameEntry) {
			return false
		}
	}
	return true
}

// place puts the entries of a route into tables under the policies of their
// listeners, and with the certificates of their Gateways.
func (r *hostPolicyRules) place(c *memo.Ctx, route manifest.Key, tables iter.Seq2[tableKey, []*entry]) placed {
	out := placed{}
	type place struct { // a node's entries are the same in all tables of a port
		portKey
		listener string
	}
	done := map[place][]*entry{}
	for table, own := range tables {
		client := r.in.clientOf(c, table.Gateway)
		at, policed := r.listenerOf(c, table)
		if client != "" {
			out.show(table.Gateway, client)
		}
		if !policed && client == "" {
			continue
		}
		demand := &hostDemand{}
		if policed {
			demand = r.hostDemand.Get(c, at)
		}
		if demand.Closed != nil {
			out.close(table.Gateway, demand.Closed.Why)
		}
		where := place{table.portKey, at.Listener}
		entries, known := done[where]
		if !known {
			var words string
			refused, _ := r.in.quarantine.routes.Get(c, route)
			if entries, words = refused.markAll(demand.place(shownBy(client, own))); words != "" {
				out.close(table.Gateway, words)
			}
			done[where] = entries
		}
		if slices.Equal(entries, own) {
			continue
		}
		if out.Entries == nil {
			out.Entries = map[tableKey][]*entry{}
		}
		out.Entries[table] = entries
	}
	return out
}

func (p *placed) close(gateway, why string) {
	if p.Closed == nil {
		p.Closed = map[string]string{}
	}
	p.Closed[gateway] = why
}

func (d *hostDemand) place(own []*entry) []*entry {
	out := make([]*entry, len(own))
	for i, e := range own {
		out[i] = d.placeOne(e)
	}
	return out
}

// placeOne returns an entry the fields that its host cannot hold for it, and turns
// off what its host holds and the route has its own of.
func (d *hostDemand) placeOne(e *entry) *entry {
	if d.Closed != nil {
		return e.closed(d.Closed)
	}
	var replaced []ir.Field
	for _, field := range d.Held {
		if e.sets(field) {
			replaced = append(replaced, field)
		}
	}
	adds := e.Rule.Action.Forward != nil && slices.ContainsFunc(d.Own.Origins, func(o policy.FieldOrigin) bool { return !e.sets(o.Field) })
	if len(replaced) == 0 && !adds {
		return e
	}
	rule := e.under(&d.Own, nil)
	if rule.Action.Extras == nil {
		rule.Action.Extras = &ir.Extras{}
	}
	rule.Action.Extras.Replaced = replaced
	encoded, problems := xds.Route(rule)
	if len(problems) > 0 { // what single policies pass, all of them together do
		panic(fmt.Sprintf("translate: %s is refused below its host: %+v", rule.Name, problems))
	}
	return &entry{Rule: rule, Encoded: encoded, Own: e.Own}
}

// closed returns the entry that answers 500 in place of e.
func (e *entry) closed(by *closing) *entry {
	rule := xds.Closed(e.Rule)
	rule.Action.Respond.Why, rule.Action.Parts = by.Why, []ir.Part{by.At}
	encoded, problems := xds.Route(rule)
	if len(problems) > 0 { // its match was encoded before
		panic(fmt.Sprintf("translate: %s is refused when it is closed: %+v", rule.Name, problems))
	}
	return &entry{Rule: rule, Encoded: encoded}
}

// sets reports whether the route has a value of its own for a field: by a policy or, of a
// field that its virtual host would hold for it, by a filter.
func (e *entry) sets(field ir.Field) bool {
	return e.Own != nil && e.Own.Sets(field) || xds.HeldByHost(field) && policy.RouteHas(&e.Rule.Action, field)
}

// under returns the entry's rule with the fields of its host that are open. connected
// are the host's extras, with the services that they name.
func (e *entry) under(host *policy.Resolved, connected *ir.Extras) *ir.Rule {
	own, rule := e.Own, *e.Rule
	if own == nil {
		own = &policy.Resolved{}
	}
	open := host.Only(func(field ir.Field) bool { return !e.sets(field) })
	merged := own.Under(&open)
	rule.Action.Extras = merged.Extras()
	connect(rule.Action.Extras, e.Rule.Action.Extras, connected)
	parts := policyParts(open.Origins)
	for _, part := range extensionParts(rule.Action.Extras) {
		if field, ok := part.PolicyField(); ok && open.Sets(field) {
			parts = append(parts, part)
		}
	}
	parts = slices.DeleteFunc(parts, func(part ir.Part) bool { return slices.Contains(rule.Action.Parts, part) })
	rule.Action.Parts = slices.Concat(rule.Action.Parts, parts)
	return &rule
}

// connect takes over the extensions that others have looked up already.
func connect(extras *ir.Extras, others ...*ir.Extras) {
	known := map[manifest.Key]*ir.Extension{}
	for _, other := range others {
		for _, use := range other.Extensions() {
			known[use.Key] = use.Extension
		}
	}
	for _, use := range extras.Extensions() {
		use.Extension = known[use.Key]
	}
}

// rules returns the rules of the host as they work: with what the host holds for
// them.
func (h *hostOut) rules() iter.Seq[*ir.Rule] {
	return func(yield func(*ir.Rule) bool) {
		if h.Rejected != nil {
			if !h.Rejected.Match {
				yield(closedHost(h.Key.Gateway, h.Rejected.Words))
			}
			return
		}
		for e := range h.Table.All() {
			rule := asServed(e.Rule)
			if rule == nil {
				continue
			}
			if rule == e.Rule && h.Policy != nil && h.Policy.Closed == nil && len(h.Policy.Origins) > 0 {
				rule = e.under(&h.Policy.Resolved, h.Policy.Extras)
			}
			if !yield(rule) {
				return
			}
		}
	}
}
