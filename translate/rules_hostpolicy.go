package translate

import (
	"fmt"
	"iter"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	// Own are the policy fields that a virtual host cannot set. Each route must contain them.
	Own policy.Resolved
	// Held are the names of the policy fields that the virtual host sets.
	Held   []ir.Field
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
// one more condition says so.
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
	if closed != nil {
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
	return &hostPolicy{Resolved: level.Resolved, Closed: closed, StreamsClosed: closed}
}

// runHostDemand returns what the policies of a listener require of the routes of the listener (see hostDemand). If
// these policies make the routes answer 500, only the field Closed of the result is set.
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

// place adds the policies of the listeners, and the client certificates of the Gateways, to the entries of a node (a
// route in a delegation tree, see flatKey). It returns the entries as the virtual hosts contain them. The parameter
// route is the key of the node's route. The parameter tables yields each virtual host of the node, with the node's
// entries without these additions.
func (r *hostPolicyRules) place(c *memo.Ctx, route manifest.Key, tables iter.Seq2[tableKey, []*entry]) placed {
	out := placed{}
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
			refused, _ := r.in.quarantine.routes.Get(c, route)
			if entries, problems, words = refused.markAll(demand.place(shownBy(client, own)), own); words != "" {
				out.close(table.Gateway, words)
			}
			out.complain(problems)
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
// (UNAVAILABLE for a GRPCRoute). If the entry forwards to backends, the result has the fields of d.Own that the
// entry does not set itself. If the entry sets fields that the virtual host sets too (d.Held), the result lists
// them in Extras.Replaced. If nothing changes, the result is e itself.
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
	if len(problems) > 0 { // fields that are valid in each policy are also valid together
		panic(fmt.Sprintf("translate: %s is refused below its host: %+v", rule.Name, problems))
	}
	return &entry{Rule: rule, Encoded: encoded, Own: e.Own}
}
