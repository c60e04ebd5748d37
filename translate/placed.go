package translate

import (
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/policy"
)

// placed says which rules of a node the virtual hosts contain. A node is a route in a delegation tree (see flatKey).
// The node's own entries are its rules without the policies of listeners and without the client certificates of
// Gateways. Most virtual hosts contain the own entries. A virtual host may contain changed entries if its listener
// has policies, if its Gateway presents a client certificate to backends, or if the hostname of the root is wider than its
// domain.
type placed struct {
	// Entries has the entries of the node in each virtual host where they differ from the node's own entries. All
	// other virtual hosts contain the node's own entries.
	Entries map[tableKey][]*entry
	// Clients has the Secret with the client certificate, by Gateway, for each Gateway that presents one to
	// backends. Gateway and Secret are written as "namespace/name".
	Clients map[string]string
	// Closed has, by Gateway, a reason why rules of the node answer 500 there. Either the policies of a listener
	// close all rules, or Envoys rejected some rules. Rejections count only in virtual hosts whose listener has
	// policies or whose Gateway presents a client certificate.
	Closed map[string]string
	// Uses says, by Gateway, how much of each policy of the node is effective, where policies of a listener go before
	// those of the node or are combined with them. At other Gateways, the node's own Uses hold.
	Uses map[string][]policy.Use
	// Problems has a problem for each entry that differs from the node's own entry, and that Envoys reject or are
	// too old for, and a warning for each policy of cluster paths that the node goes before.
	Problems []manifest.Problem
}

// in returns the entries of the node in one virtual host (the parameter table). These are the entries in p.Entries,
// if p.Entries has the virtual host. Otherwise they are the node's own entries (the parameter own).
func (p placed) in(table tableKey, own []*entry) []*entry {
	if entries, other := p.Entries[table]; other {
		return entries
	}
	return own
}

// put records the entries of the node in a virtual host. The parameter own has the node's own entries.
func (p *placed) put(table tableKey, own, entries []*entry) {
	if slices.Equal(entries, own) {
		return
	}
	if p.Entries == nil {
		p.Entries = map[tableKey][]*entry{}
	}
	p.Entries[table] = entries
}

// widened returns copies of entries with a value for ir.Rule.Wider. If the value is "", it returns the entries themselves.
func widened(entries []*entry, wider string) []*entry {
	if wider == "" {
		return entries
	}
	out, blocks := make([]*entry, len(entries)), map[*ir.Rule]*ir.Rule{}
	for i, e := range entries {
		copied, rule := *e, *e.Rule
		rule.Wider, rule.Blocks = wider, slices.Clone(rule.Blocks)
		for at, block := range rule.Blocks {
			if blocks[block] == nil {
				own := *block
				own.Wider, blocks[block] = wider, &own
			}
			rule.Blocks[at] = blocks[block]
		}
		copied.Rule, out[i] = &rule, &copied
	}
	return out
}

func samePlaced(a, b placed) bool {
	if len(a.Entries) != len(b.Entries) || !maps.Equal(a.Closed, b.Closed) || !maps.Equal(a.Clients, b.Clients) || !deepEqual(a.Uses, b.Uses) || !deepEqual(a.Problems, b.Problems) {
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

// usesAt returns how much of the policies of a node is effective at a Gateway. The parameter own has the node's own
// Uses. A policy without an entry there, such as that of a rule that only delegates, has the effect in own.
func (p placed) usesAt(gateway string, own []policy.Use) []policy.Use {
	out := p.Uses[gateway]
	if len(out) == 0 {
		return own
	}
	for _, use := range own {
		if !slices.ContainsFunc(out, func(u policy.Use) bool { return u.Policy == use.Policy }) {
			out = append(slices.Clip(out), use)
		}
	}
	return out
}

// use records the effects of the node's policies below the policies of a listener (the parameter demand).
func (p *placed) use(gateway string, demand *hostDemand, own []*entry) {
	if len(demand.Taken)+len(demand.Joined) == 0 {
		return
	}
	if p.Uses == nil {
		p.Uses = map[string][]policy.Use{}
	}
	for _, e := range own {
		if e.Own != nil {
			p.Uses[gateway] = joinUses(p.Uses[gateway], e.Own.UsesBelow(demand.outcome))
		}
	}
}

// close sets the reason why rules answer 500 at a Gateway (see Closed).
func (p *placed) close(gateway, why string) {
	if p.Closed == nil {
		p.Closed = map[string]string{}
	}
	p.Closed[gateway] = why
}

// complain adds the problems that are not yet in Problems.
func (p *placed) complain(problems []manifest.Problem) {
	for _, problem := range problems {
		if !slices.Contains(p.Problems, problem) {
			p.Problems = append(p.Problems, problem)
		}
	}
}

// show records that a Gateway presents a client certificate to backends. The parameter client is
// "namespace/name" of the Secret.
func (p *placed) show(gateway, client string) {
	if p.Clients == nil {
		p.Clients = map[string]string{}
	}
	p.Clients[gateway] = client
}
