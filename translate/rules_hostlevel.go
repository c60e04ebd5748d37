package translate

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/xds"
)

// hostLevel has the merged policies of a listener (hostPolicy), and the cost of what they add to each virtual
// host.
type hostLevel struct {
	hostPolicy
	// Units is the cost of what the policies add to each virtual host. The unit is one Envoy route without policies.
	// Policies in files of --cluster-paths do not count.
	Units int
	// Heaviest is the policy with the most expensive of the fields that Units counts.
	Heaviest manifest.Key
	// Writes are the identity headers that the policies write, also those that cannot be used.
	Writes []*written
}

type hostLevelIn struct {
	*policyRules
	*gatewayRules
	*extensionRules
	gateways     *objects
	listenerSets *objects
}

// hostLevelRules merge the TrafficPolicies of a listener, of its Gateway and of its ListenerSet.
type hostLevelRules struct {
	in      hostLevelIn
	policed *memo.Rule[string, bool]
	level   *memo.Rule[listenerKey, *hostLevel]
}

func newHostLevelRules(e *memo.Engine, in hostLevelIn) *hostLevelRules {
	r := &hostLevelRules{in: in}
	r.level = memo.NewRule(e, "hostlevel", r.runLevel, deepEqual)
	r.policed = memo.NewRule(e, "policed", r.runPoliced, identical[bool])
	return r
}

// runPoliced reports whether TrafficPolicies may apply to a Gateway or to one of its ListenerSets (see
// targetRules.any).
func (r *hostLevelRules) runPoliced(c *memo.Ctx, gateway string) bool {
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

// runLevel merges the policies of a listener, level by level (see policy.Stack). The annotation
// api.AnnotationPolicyPriority of the Gateway says how its policies, and those of its listeners, are merged with those
// below. That of a ListenerSet says it for the policies of the ListenerSet and of its listeners.
func (r *hostLevelRules) runLevel(c *memo.Ctx, key listenerKey) *hostLevel {
	gathered, gateway := r.in.gathering(c), ir.GatewayKey(key.Gateway)
	var layers policy.Stack
	set, listener, inSet := ir.SplitListenerID(key.Listener)
	if inSet {
		layers = r.gatherHost(c, gathered, set, listener)
	}
	layers = append(layers, r.gatherHost(c, gathered, gateway, key.Listener)...)
	resolved := layers.Merged()
	out := &hostLevel{hostPolicy: hostPolicy{Resolved: resolved, Layers: layers, Closed: gathered.closed, StreamsClosed: gathered.streams}, Writes: gathered.writes}
	if out.Closed == nil {
		out.Extras = resolved.Extras()
		out.Backends, _ = r.in.connect(c, out.Extras)
		if client := r.in.clientOf(c, key.Gateway); client != "" {
			out.Backends = shownBackends(client, out.Backends)
			out.Extras = out.Extras.Renamed(func(cluster string) string { return backend.As(cluster, client) })
		}
		r.weigh(c, out, gathered.counted)
	}
	return out
}

// resolveHost merges policies as if they were of one level.
func resolveHost(specs []*policy.Attached) policy.Resolved {
	return policy.Resolve([]policy.Level{policy.NewLevel(specs, policy.ShallowMergePreferChild, route.CompareOrigins)})
}

// weigh computes what the policies of a listener cost in each virtual host, and stores the cost in out.Units. It
// stores the policy with the most expensive field in out.Heaviest. The parameter limited has the policies whose
// size is limited (policyOut.Counted). The cost is that of these policies only. Fields that Envoy does not accept
// on a virtual host do not count.
func (r *hostLevelRules) weigh(c *memo.Ctx, out *hostLevel, limited []*policy.Attached) {
	if len(limited) == 0 {
		return
	}
	resolved, sum, most := resolveHost(limited), route.Burden{}, -1
	for _, origin := range resolved.Origins {
		if !xds.HeldByHost(origin.Field) {
			continue
		}
		one := r.in.burden(c, &resolved, origin.Field, limited[0].Origin.Outside)
		if sum = sum.Plus(one); one.Cost() > most {
			most, out.Heaviest = one.Cost(), origin.From[0]
		}
	}
	out.Units = sum.Cost()
}

// burden returns what one policy field costs Envoy on each route or virtual host that has it. The parameter resolved
// has the merged policies that set the field. The parameter outside says whether these are policies outside of cluster
// paths (see ir.Origin).
func (r *policyRules) burden(c *memo.Ctx, resolved *policy.Resolved, field ir.Field, outside bool) route.Burden {
	one := resolved.Only(func(name ir.Field) bool { return name == field })
	extras := one.Extras()
	r.in.connect(c, extras)
	return route.ExtrasBurden(extras, outside)
}

// heaviestField returns the path of the most expensive field of a policy (key). If no field is set, the result
// is "spec".
func (r *policyRules) heaviestField(c *memo.Ctx, key manifest.Key) string {
	attached := r.policy.Get(c, key).Attached
	if attached == nil {
		return "spec"
	}
	resolved, field, most := resolveHost([]*policy.Attached{attached}), "spec", -1
	for _, origin := range resolved.Origins {
		if cost := r.burden(c, &resolved, origin.Field, attached.Origin.Outside).Cost(); cost > most {
			field, most = origin.Field.Path(), cost
		}
	}
	return field
}

// gatherHost returns the layers of an object that defines listeners, a Gateway or ListenerSet: that of one of its
// listeners, and that of the object itself. For the Gateway above a ListenerSet, the parameter listener names none of
// its listeners. gatherHost also adds the policies to a gathering (the parameter into).
func (r *hostLevelRules) gatherHost(c *memo.Ctx, into *gathering, object manifest.Key, listener string) policy.Stack {
	if !r.in.aims.any(c, object) {
		return nil
	}
	before := len(into.specs)
	into.attach(r.in.aims.at.Get(c, object), listener, r.listenersOf(c, object), r.in.aims.kind)
	var at, whole []*policy.Attached
	for _, attached := range into.specs[before:] {
		if attached.Standing == policy.BySection {
			at = append(at, attached)
		} else {
			whole = append(whole, attached)
		}
	}
	priority := r.priorityOf(c, object)
	return policy.NewStack(object, policy.NewLevel(at, priority, route.CompareOrigins), policy.NewLevel(whole, priority, route.CompareOrigins))
}

// listenersOf returns the names of the listeners that a Gateway or ListenerSet itself defines.
func (r *hostLevelRules) listenersOf(c *memo.Ctx, key manifest.Key) (names []string) {
	if object, ok := r.in.gateways.Get(c, key); ok {
		gateway, _ := manifest.As[*gwv1.Gateway](object)
		for _, l := range gateway.Spec.Listeners {
			names = append(names, string(l.Name))
		}
	}
	if object, ok := r.in.listenerSets.Get(c, key); ok {
		set, _ := manifest.As[*gwv1.ListenerSet](object)
		for _, l := range set.Spec.Listeners {
			names = append(names, string(l.Name))
		}
	}
	return names
}

// priorityOf returns the priority in the annotation of a Gateway or ListenerSet.
func (r *hostLevelRules) priorityOf(c *memo.Ctx, key manifest.Key) policy.Strategy {
	of := r.in.gateways
	if key.Kind == kindListenerSet {
		of = r.in.listenerSets
	}
	object, ok := of.Get(c, key)
	if !ok {
		return policy.ShallowMergePreferChild
	}
	priority, _ := policy.StrategyOf(object.Value.GetAnnotations())
	return priority
}
