package translate

import (
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
)

// placed has the rules of a node (see flatKey) in the form that the virtual hosts contain. That form differs
// from the flattened rules (flatOut) where a listener has policies, or where a Gateway presents a client
// certificate to backends.
type placed struct {
	// Entries has, by virtual host, the entries that differ from the node's own. A virtual host that is not in
	// Entries contains the node's own entries.
	Entries map[tableKey][]*entry
	// Clients has the client certificate of each Gateway that presents one to backends: "namespace/name" of the
	// Secret.
	Clients map[string]string
	// Closed has, by Gateway, a reason why rules of the node answer 500 there: the policies of a listener close all
	// rules, or Envoys rejected some rules. Rejections count only at Gateways with policies of listeners or with a
	// client certificate for backends.
	Closed map[string]string
	// Problems are about entries that differ from the node's own entries, if Envoys reject them or are too old for
	// them.
	Problems []manifest.Problem
}

// in returns the entries of the node that a virtual host (table) contains. If the virtual host is not in
// Entries, these are the node's own entries (own).
func (p placed) in(table tableKey, own []*entry) []*entry {
	if entries, other := p.Entries[table]; other {
		return entries
	}
	return own
}

func samePlaced(a, b placed) bool {
	if len(a.Entries) != len(b.Entries) || !maps.Equal(a.Closed, b.Closed) || !maps.Equal(a.Clients, b.Clients) || !deepEqual(a.Problems, b.Problems) {
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
