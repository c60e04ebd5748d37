package translate

import (
	"crypto/sha256"
	"fmt"
	"hash/maphash"
	"math"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/xds"
)

type tableIn struct {
	*hostPolicyRules
	claimed *memo.Fold[tableKey, string, string, claim]
	*identityRules
	gateways    *gatewayRules
	quarantine  *quarantineInputs
	TrustedHops uint32
	Weighted    bool
}

// tableRules build the virtual hosts.
type tableRules struct {
	in         tableIn
	table      *memo.Fold[tableKey, string, *entry, table]
	host       *memo.Rule[tableKey, *hostOut]
	groupTwins func([]*entry) [][]*entry // groups entries with the same match; the argument must be in a table's order
	step       func(table, []memo.Member[string, *entry]) table
}

func newTableRules(e *memo.Engine, in tableIn) *tableRules {
	r := &tableRules{in: in}
	r.groupTwins = groupTwins(maphash.MakeSeed())
	r.step = tableStep(r.groupTwins, in.Weighted)
	r.table = memo.NewFold[tableKey, string, *entry](e, "table", r.step, sameTable)
	memo.From(r.table, in.mounted, func(route manifest.Key, m *mountOut, yield func(memo.Place[tableKey, string], *entry)) {
		m.tables(func(key tableKey, flat *flatOut) {
			for _, e := range m.placed.in(key, flat.Entries) {
				yield(memo.Place[tableKey, string]{Key: key, ID: e.Rule.Name}, e)
			}
			if len(flat.Entries) == 0 {
				yield(memo.Place[tableKey, string]{Key: key, ID: mark + route.String()}, nil)
			}
		})
	}, sameEntry)
	memo.From(r.table, in.grafted, func(_ flatKey, g *graftOut, yield func(memo.Place[tableKey, string], *entry)) {
		for _, key := range g.Tables {
			for _, e := range g.placed.in(key, g.Entries) {
				yield(memo.Place[tableKey, string]{Key: key, ID: e.Rule.Name}, e)
			}
		}
	}, sameEntry)
	memo.From(r.table, in.gateways.gateway, markHosts, sameEntry)

	r.host = memo.NewRule(e, "host", r.runHost, sameHost)
	memo.Each(r.host, r.table)
	return r
}

func (r *tableRules) report(all *problemFold) {
	problemsFrom(all, "host", r.host, (*hostOut).problems)
}

// markHosts yields a mark for each domain of a Gateway's listeners. A mark is a member that has no rule (see the
// constant mark). Because of the mark, the domain has a virtual host even if no route has it.
func markHosts(_ manifest.Key, g *listen.Gateway, yield func(memo.Place[tableKey, string], *entry)) {
	if g == nil {
		return
	}
	for _, place := range g.Places() {
		yield(memo.Place[tableKey, string]{Key: tableOf(g.Name, place), ID: mark}, nil)
	}
}

// runHost returns a virtual host with its rules. It returns nil if no listener has the domain, and no route
// requests the domain as a hostname. Delegated routes alone do not make a virtual host (see the result guests of
// tablesOf): requests for the domain then go to a wildcard host.
func (r *tableRules) runHost(c *memo.Ctx, key tableKey) *hostOut {
	if of, _ := r.in.claimed.Get(c, key); of.Count == 0 {
		return nil
	}
	table, _ := r.table.Get(c, key)
	out := &hostOut{Key: key, Policy: r.in.hostPolicyOf(c, key), Insecure: key.Chain == "" && r.in.TrustedHops == 0}
	table = r.withSignIn(table, key.Gateway, out.Policy)
	out.Table, out.Guarded, out.Open, out.Forged = table.rules, table.guarded, table.open, r.in.forgedAt(c, key).Names
	leaves := table.leaves()
	out.Rejected = r.rejectionOf(c, key, out.extras())
	if leaves != nil {
		out.Encoded = xds.CompiledHost(key.Domain, out.extras(), leaves)
		out.OnePaths = table.onePaths()
		out.Twins = table.tree.Twins()
	} else {
		out.Encoded = out.list()
		out.Twins = r.groupTwins(slices.Collect(out.Table.All()))
	}
	return out
}

// rejectionOf returns why Envoys rejected a virtual host, regardless of its routes. The parameter extras has the
// fields that the virtual host sets. rejectionOf encodes the virtual host without routes, as it would be sent now.
// The result is nil if the Quarantine has no rejection with the hash of that encoding.
func (r *tableRules) rejectionOf(c *memo.Ctx, key tableKey, extras *ir.Extras) *Rejection {
	at := rejectedHost{r.in.gateways.tableName(c, key.chainKey), key.Domain}
	all, _ := r.in.quarantine.hosts.Get(c, at)
	if len(all) == 0 {
		return nil
	}
	frame := xds.VirtualHost(key.Domain, extras, nil).Bytes()
	if said, rejected := all[RejectedPart{Table: at.table, Host: at.domain, Sum: sha256.Sum256(frame)}]; rejected {
		return &said
	}
	return nil
}

// withSignIn returns the rules of a virtual host (t) with two rules added, for callback and logout, if the
// policies of the listener make users sign in. Otherwise it returns t. The parameter host has the policies of
// the listener, and is nil without policies. The parameter gateway is "namespace/name" of the Gateway.
func (r *tableRules) withSignIn(t table, gateway string, host *hostPolicy) table {
	if host == nil || host.Closed != nil || host.Extras == nil || host.Extras.OAuth2 == nil {
		return t
	}
	key := ir.GatewayKey(gateway)
	origin, weight := &ir.Origin{Key: key}, int32(0)
	if r.in.Weighted { // highest weight, so that they come first
		weight = math.MaxInt32
	}
	base := &ir.Rule{
		Name: fmt.Sprintf("Gateway/%s/oauth2", gateway), Root: origin, Source: origin, Position: []int{0, 0}, Weight: weight,
		Action: ir.Action{Extras: host.Extras},
	}
	var members []memo.Member[string, *entry]
	for _, logout := range []bool{false, true} {
		rule := signInRule(base, ir.Match{}, logout)
		rule.Action.Extras = nil // the virtual host sets them
		encoded, problems := xds.Route(rule)
		if len(problems) > 0 {
			panic(fmt.Sprintf("translate: %s is rejected: %+v", rule.Name, problems))
		}
		members = append(members, memo.Member[string, *entry]{ID: rule.Name, Change: memo.Change[*entry]{Has: true, New: &entry{Rule: rule, Encoded: encoded}}})
	}
	return r.step(t, members)
}
