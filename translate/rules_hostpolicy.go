package translate

import (
	"fmt"
	"iter"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/status"
	"github.com/gatefold/gatefold/translate/xds"
)

// hostDemand is the part of a listener's policies (hostPolicy) that changes the routes of the listener. It
// leaves out the values of fields that Envoy accepts on a virtual host, so that a new value of such a field
// does not change the routes.
type hostDemand struct {
	// Own are the policy fields that a virtual host cannot set, or that are combined with those of a route. Each route
	// must contain them: of a combined field, each route that sets it.
	Own policy.Stack
	// Held are the names of the policy fields that the virtual host sets.
	Held []ir.Field
	// Taken and Joined are the names of the policy fields that go before those of a route, and of those that are
	// combined with it (policy.Outcome).
	Taken, Joined []ir.Field
	// Off are the names of those fields in Taken that are only turned off.
	Off []ir.Field
	// CORS is true if the virtual host answers CORS preflight requests.
	CORS bool
	// Lifted are policies of cluster paths that a team's policy or filter goes before. Child is empty.
	Lifted []policy.Loosening
	Closed *closing
}

type hostPolicyIn struct {
	level   *memo.Rule[listenerKey, *hostLevel]
	policed *memo.Rule[string, bool]
	*gatewayRules
	overload   *memo.Rule[struct{}, *overloads]
	quarantine *quarantineInputs
}

// hostPolicyRules apply the TrafficPolicies of Gateways, ListenerSets and listeners to virtual hosts.
type hostPolicyRules struct {
	in         hostPolicyIn
	hostPolicy *memo.Rule[listenerKey, *hostPolicy]
	hostDemand *memo.Rule[listenerKey, *hostDemand]
}

func newHostPolicyRules(e *memo.Engine, in hostPolicyIn) *hostPolicyRules {
	r := &hostPolicyRules{in: in}
	r.hostPolicy = memo.NewRule(e, "hostpolicy", r.runHostPolicy, deepEqual)
	r.hostDemand = memo.NewRule(e, "hostdemand", r.runHostDemand, deepEqual)
	return r
}

// listenerOf returns the listener whose policies apply to a virtual host. If no policy applies to the Gateway
// or to its ListenerSets, policed is false and the listener (at) is zero.
func (r *hostPolicyRules) listenerOf(c *memo.Ctx, key tableKey) (at listenerKey, policed bool) {
	if !r.in.policed.Get(c, key.Gateway) {
		return at, false
	}
	return listenerKey{key.Gateway, r.in.owner.Get(c, hostKey{key.portKey, key.Domain})}, true
}

// listenerConditions returns the conditions of a listener (l). The parameter gateway is "namespace/name" of its
// Gateway. If the policies of the listener make routes answer 500, or make Envoy refuse connections or datagrams,
// one more condition says so; not where the listener accepts no connections because of them (listen.Gateway.WithHolders).
func (r *hostPolicyRules) listenerConditions(c *memo.Ctx, gateway string, l *listen.Listener, generation int64) []metav1.Condition {
	out := status.ListenerConditions(l, generation)
	if !r.in.policed.Get(c, gateway) {
		return out
	}
	all := r.hostPolicy.Get(c, listenerKey{gateway, l.ID()})
	closed := all.StreamsClosed
	if l.SpeaksHTTP() {
		closed = all.Closed
	}
	if closed != nil && l.Taken.Reason != gwv1.ListenerReasonInvalid {
		out = append(out, status.ListenerClosed(l, generation, closed.Why))
	}
	return out
}

// hostPolicyOf returns the policies of the listener of a virtual host. It returns nil if no policy applies to
// the Gateway or to its ListenerSets.
func (r *hostPolicyRules) hostPolicyOf(c *memo.Ctx, key tableKey) *hostPolicy {
	if at, policed := r.listenerOf(c, key); policed {
		return r.hostPolicy.Get(c, at)
	}
	return nil
}

// runHostPolicy returns the policies of a listener (see hostLevel). It also sets Closed and StreamsClosed if the
// policies apply to too many hosts (spreadRules.overload).
func (r *hostPolicyRules) runHostPolicy(c *memo.Ctx, key listenerKey) *hostPolicy {
	level := r.in.level.Get(c, key)
	if level.Units <= freeUnits {
		return &level.hostPolicy
	}
	over, cut := r.in.overload.Get(c, struct{}{}).Cut[shareKey{Root: level.Heaviest}]
	if !cut {
		return &level.hostPolicy
	}
	closed := &closing{ // without numbers, which would change with each host
		Why: fmt.Sprintf("TooManyCopies: %s %s is on too many hosts", level.Heaviest, over.Field),
		At:  ir.Part{Kind: ir.PartClosed, Object: level.Heaviest, Field: over.Field},
	}
	return &hostPolicy{Resolved: level.Resolved, Layers: level.Layers, Closed: closed, StreamsClosed: closed}
}

// runHostDemand returns what the policies of a listener require of the routes of the listener (see hostDemand). If
// these policies make the routes answer 500, only the field Closed of the result is set.
func (r *hostPolicyRules) runHostDemand(c *memo.Ctx, key listenerKey) *hostDemand {
	all := r.hostPolicy.Get(c, key)
	if all.Closed != nil {
		return &hostDemand{Closed: all.Closed}
	}
	out := &hostDemand{Lifted: all.Layers.Lifted(-1), CORS: all.Extras.OrNone().CORS != nil}
	for _, origin := range all.Origins {
		field := origin.Field
		if xds.HeldByHost(field) {
			out.Held = append(out.Held, field)
		}
		switch all.Layers.Outcome(field) {
		case policy.Taken:
			out.Taken = append(out.Taken, field)
			if !policy.Sets(&all.Spec, field) {
				out.Off = append(out.Off, field)
			}
		case policy.Joined:
			out.Joined = append(out.Joined, field)
		}
	}
	out.Own = all.Layers.Only(func(field ir.Field) bool { return !xds.HeldByHost(field) || slices.Contains(out.Joined, field) })
	return out
}

// place adds the policies of the listeners, the client certificates of the Gateways, and the hostnames of the root
// (ir.Rule.Wider), to the entries of a node (a route in a delegation tree, see flatKey). It returns the entries as the
// virtual hosts contain them. The parameter route is the key of the node's route, and root says where the root of the
// node attaches. The parameter tables yields each virtual host of the node, with the node's entries without these
// additions.
func (r *hostPolicyRules) place(c *memo.Ctx, route manifest.Key, root *attachOut, tables iter.Seq2[tableKey, []*entry]) placed {
	out, wider := placed{}, root.wider()
	type place struct { // the entries of a node are the same in all tables of a listener
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
			out.put(table, own, widened(own, wider[table]))
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
			var problems []manifest.Problem
			out.complain(demand.lifts(own))
			out.use(table.Gateway, demand, own)
			refused, _ := r.in.quarantine.routes.Get(c, route)
			if entries, problems, words = refused.markAll(demand.place(shownBy(client, own)), own); words != "" {
				out.close(table.Gateway, words)
			}
			out.complain(problems)
			if demand.CORS {
				entries, problems = refused.withPreflights(entries, true)
				out.complain(problems)
			}
			done[where] = entries
		}
		out.put(table, own, widened(entries, wider[table]))
	}
	return out
}

// place returns a copy of the entries of a node (own) in which each entry has the policies of the listener (see
// placeOne).
func (d *hostDemand) place(own []*entry) []*entry {
	out := make([]*entry, len(own))
	for i, e := range own {
		out[i] = d.placeOne(e)
	}
	return out
}

// placeOne returns an entry (e) with the policies of its listener. If d.Closed is set, the result answers 500
// (UNAVAILABLE for a GRPCRoute). If the entry forwards to backends, the result has the fields of d.Own that virtual
// hosts cannot set. If the entry sets fields that the virtual host sets too (d.Held), the result lacks those of d.Taken,
// and lists the others in Extras.Replaced, combined with the listener's if they are in d.Joined. If nothing changes,
// the result is e itself.
func (d *hostDemand) placeOne(e *entry) *entry {
	if d.Closed != nil {
		return e.closed(d.Closed)
	}
	lost := map[ir.Field]bool{}
	var replaced []ir.Field
	for _, field := range d.Held {
		switch {
		case !e.sets(field):
		case slices.Contains(d.Taken, field) && !(slices.Contains(d.Off, field) && policy.RouteHas(&e.Rule.Action, field)):
			lost[field] = true
		default:
			replaced = append(replaced, field)
		}
	}
	own := d.Own.Only(func(field ir.Field) bool {
		if slices.Contains(d.Joined, field) && xds.HeldByHost(field) {
			return e.sets(field)
		}
		return xds.Live(e.Rule.Action.Forward) && (!e.sets(field) || d.outcome(field) != policy.Kept)
	})
	if len(replaced) == 0 && len(lost) == 0 && len(own) == 0 {
		return e
	}
	below := *e
	if e.Own != nil && len(lost) > 0 {
		kept := e.Own.Only(func(field ir.Field) bool { return !lost[field] })
		below.Own = &kept
	}
	below.Rule = withoutFilters(e.Rule, lost)
	rule := below.under(own, nil)
	if len(replaced) > 0 {
		if rule.Action.Extras == nil {
			rule.Action.Extras = &ir.Extras{}
		}
		rule.Action.Extras.Replaced = replaced
	}
	encoded, problems := xds.Route(rule)
	if len(problems) > 0 { // fields that are valid in each policy are also valid together
		panic(fmt.Sprintf("translate: %s is refused below its host: %+v", rule.Name, problems))
	}
	return &entry{Rule: rule, Encoded: encoded, Own: e.Own, Aim: e.Aim}
}

// outcome returns what becomes of the value that a route sets for a field.
func (d *hostDemand) outcome(field ir.Field) policy.Outcome {
	switch {
	case slices.Contains(d.Taken, field):
		return policy.Taken
	case slices.Contains(d.Joined, field):
		return policy.Joined
	}
	return policy.Kept
}

// lifts returns the warnings that entries of teams go before policies of cluster paths (d.Lifted).
func (d *hostDemand) lifts(entries []*entry) (problems []manifest.Problem) {
	for _, lifted := range d.Lifted {
		for _, e := range entries {
			if one, found := e.lifts(lifted); found && !slices.Contains(problems, one.Problem()) {
				problems = append(problems, one.Problem())
			}
		}
	}
	return problems
}

// withoutFilters returns a copy of a rule without the filters that set the given fields.
func withoutFilters(from *ir.Rule, fields map[ir.Field]bool) *ir.Rule {
	rule := *from
	for field := range fields {
		if policy.FilterOf(field) != "" && policy.RouteHas(&rule.Action, field) {
			policy.DropFilter(&rule.Action, field)
		}
	}
	return &rule
}
