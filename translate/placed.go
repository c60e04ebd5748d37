package translate

import (
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
)

// placed are the rules of a node in their tables. They can differ from the flattened rules, because
// hosts have policies.
type placed struct {
	// Entries are those of the tables that have others than the node's own.
	Entries map[tableKey][]*entry
	// Clients are the Gateways that show backends a certificate, and its Secret.
	Clients map[string]string
	// Closed says by Gateway why the rules answer 500 there.
	Closed map[string]string
	// Problems are of rules that Envoys reject, or are too old for, in another form than the node's own.
	Problems []manifest.Problem
}

// in returns the entries for a table. own are the entries of the node.
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

// close notes why the rules answer 500 at a Gateway.
func (p *placed) close(gateway, why string) {
	if p.Closed == nil {
		p.Closed = map[string]string{}
	}
	p.Closed[gateway] = why
}

// complain adds problems that are not there yet.
func (p *placed) complain(problems []manifest.Problem) {
	for _, problem := range problems {
		if !slices.Contains(p.Problems, problem) {
			p.Problems = append(p.Problems, problem)
		}
	}
}

// show notes the client certificate of a Gateway.
func (p *placed) show(gateway, client string) {
	if p.Clients == nil {
		p.Clients = map[string]string{}
	}
	p.Clients[gateway] = client
}
