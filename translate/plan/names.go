package plan

import (
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/translate/ir"
)

// ways returns the patterns that cover a host, the most specific first: the host, its wildcards, "*" and "".
func ways(host string) []string {
	return append(slices.Collect(scope.Patterns(host)), "")
}

// names finds the filter chains and ir.Streams of a port. The keys of both maps are hostnames and wildcards, or ""
// without TLS.
type names struct {
	port    *ir.Port
	chains  map[string][]int // indexes in port.Chains, by Chain.Name
	streams map[string][]int // indexes in port.Streams, by Stream.Chain and by each of Stream.Domains
}

// newNames returns an index of the filter chains and ir.Streams of a port, by hostname. If port is nil, the index is
// empty.
func newNames(port *ir.PortView) *names {
	n := &names{chains: map[string][]int{}, streams: map[string][]int{}}
	if port == nil {
		return n
	}
	n.port = port.Port
	for i := range n.port.Chains {
		n.chains[n.port.Chains[i].Name] = append(n.chains[n.port.Chains[i].Name], i)
	}
	for i := range n.port.Streams {
		s := &n.port.Streams[i]
		for _, name := range append([]string{s.Chain}, s.Domains...) {
			if list := n.streams[name]; len(list) == 0 || list[len(list)-1] != i {
				n.streams[name] = append(list, i)
			}
		}
	}
	return n
}

// has reports whether a filter chain or an ir.Stream of the port has the name.
func (n *names) has(name string) bool { return len(n.chains[name])+len(n.streams[name]) > 0 }

// around returns a copy of the port with fewer filter chains and ir.Streams. The copy has those that apply to at
// least one of the given hosts. It also has the port's first filter chain, which decides whether the port has TLS.
// For the given hosts, package explain returns the same answers with the copy as with the whole port. If the port has
// at most two filter chains and ir.Streams together, around returns the port itself.
func (n *names) around(hosts ...string) *ir.Port {
	if len(n.port.Chains)+len(n.port.Streams) <= 2 {
		return n.port
	}
	var chains, streams []int
	for _, host := range hosts {
		for _, name := range ways(host) {
			chains, streams = append(chains, n.chains[name]...), append(streams, n.streams[name]...)
		}
	}
	if len(n.port.Chains) > 0 { // the first chain decides whether the port has TLS
		chains = append(chains, 0)
	}
	out := *n.port
	out.Chains, out.Streams = picked(n.port.Chains, chains), picked(n.port.Streams, streams)
	return &out
}

// picked returns the elements at the given indexes, in the order of the list. It sorts indexes.
func picked[T any](list []T, indexes []int) (out []T) {
	slices.Sort(indexes)
	for _, i := range slices.Compact(indexes) {
		out = append(out, list[i])
	}
	return out
}

// memberOf returns an example of a host that a pattern covers, such as "any.example.com" for "*.example.com". For a
// pattern without a wildcard, memberOf returns the pattern. The function taken reports whether a pattern is in use.
// memberOf avoids a host if a more specific pattern that is in use also covers the host.
func memberOf(pattern string, taken func(pattern string) bool) string {
	suffix, wild := strings.CutPrefix(pattern, "*")
	if !wild {
		return pattern
	}
	for label, more := "any", ""; ; more += "-x" {
		host := label + more + suffix
		if suffix == "" { // another last label each time, as "*.example" may be in use
			host = label + ".example" + more
		}
		if !slices.ContainsFunc(ways(host), func(way string) bool { return len(way) > len(pattern) && taken(way) }) {
			return host
		}
	}
}

// among returns a function that reports whether a pattern is in the set.
func among(set map[string]bool) func(string) bool {
	return func(pattern string) bool { return set[pattern] }
}

// maxCross is the limit, for each port, of hosts that are compared over reused connections: a client can send
// requests for one host over a connection that it opened for another host.
const maxCross = 10_000

// hosts compares the rules of all hosts of the port. Over a connection that was opened with one server name, a
// client can also send requests for other hosts. The comparison tries at most maxCross of these other hosts, and
// reports the rest as undecided.
func (p *portPair) hosts() {
	cross := maxCross
	for _, name := range p.serverNames() {
		var chains [2]string
		var found [2]bool
		for side := range p.ports {
			chains[side], found[side] = p.chain(side, name.member)
		}
		own, whole := p.domains(name, chains, found, &cross)
		taken := func(pattern string) bool { return own[pattern] || p.names[0].has(pattern) || p.names[1].has(pattern) }
		for _, domain := range sorted(own) {
			if p.comparison.budget.ctx.Err() != nil {
				return
			}
			h := &hostPair{port: p, named: domain, host: memberOf(domain, taken)}
			h.sni = name.member
			if p.leadsTo(h.host, chains, found) {
				h.sni = h.host
			}
			for side := range p.ports {
				if found[side] {
					h.views[side] = p.table(side, chains[side], h.host)
				}
			}
			h.compare()
		}
		if !whole {
			region := p.key.region(name.pattern, pair{}, "requests for other hosts over its connections")
			p.comparison.undecided(region, "there are too many hosts to try")
		}
	}
}

// sorted returns the members of a set in order.
func sorted(set map[string]bool) []string {
	out := make([]string, 0, len(set))
	for one := range set {
		out = append(out, one)
	}
	slices.Sort(out)
	return out
}

// serverName is a class of TLS server names. All server names of a class select one filter chain in the old
// configuration, and one filter chain in the new configuration. pattern is the hostname or wildcard of the class, and
// member is one server name in the class.
type serverName struct{ pattern, member string }

// serverNames returns the classes of TLS server names that can select different filter chains. Without TLS it
// returns one class with the pattern "".
func (p *portPair) serverNames() (out []serverName) {
	if p.key.scheme != "https" {
		return []serverName{{}}
	}
	patterns := map[string]bool{"*": true}
	for _, port := range p.ports {
		for _, chain := range port.Port.Chains {
			patterns[chain.Name] = true
		}
		for _, s := range port.Port.Streams {
			for _, domain := range s.Domains {
				patterns[domain] = true
			}
		}
	}
	for _, pattern := range sorted(patterns) {
		out = append(out, serverName{pattern, memberOf(pattern, among(patterns))})
	}
	return out
}

// domains returns the hosts to compare for connections with the given TLS server name: one hostname or wildcard for
// each class of hosts. Requests for all hosts of a class get the same answers. The parameters chains and found
// describe the filter chain that the server name selects in each configuration: its name, and whether there is one.
// Index 0 is the old configuration, and index 1 is the new one.
//
// A request may name another host than the server name of its connection. To compare all such hosts would take too
// long. So the parameter cross is how many such hosts may still be compared for the port. domains subtracts the
// number of hosts that it adds. If the hosts of one configuration are more than *cross, domains leaves all of them
// out, and the result whole is false. This limit holds only for a server name that is a hostname: not for a
// wildcard, and not without TLS.
func (p *portPair) domains(name serverName, chains [2]string, found [2]bool, cross *int) (all map[string]bool, whole bool) {
	all, whole = map[string]bool{"*": true}, true
	exact := name.pattern != "" && !strings.HasPrefix(name.pattern, "*")
	if exact {
		all[name.pattern] = true
	}
	for side := range p.ports {
		if !found[side] {
			continue
		}
		if chains[side] != "" {
			all[chains[side]] = true
		}
		hosts := p.hostsOf(side, chains[side])
		if exact && len(hosts) > 1 {
			if len(hosts) > *cross {
				whole = false
				continue
			}
			*cross -= len(hosts)
		}
		for i := range hosts {
			all[hosts[i].Domain] = true
			for rule := range hosts[i].Rules {
				for _, host := range rule.Match.Hosts {
					all[host] = true
				}
			}
		}
	}
	changed := p.changedNames()
	if exact {
		if len(changed) > *cross {
			return all, false
		}
		*cross -= len(changed)
	}
	for _, name := range changed {
		all[name] = true
	}
	return all, whole
}

// hostsOf returns the virtual hosts of a filter chain on one side. It relies on PortView.Hosts being sorted by
// chain.
func (p *portPair) hostsOf(side int, chain string) []ir.HostView {
	hosts := p.ports[side].Hosts
	compare := func(h ir.HostView, chain string) int { return strings.Compare(h.Chain, chain) }
	from, _ := slices.BinarySearchFunc(hosts, chain, compare)
	to := from
	for to < len(hosts) && hosts[to].Chain == chain {
		to++
	}
	return hosts[from:to]
}

// changedNames returns, sorted, the hostnames that have a filter chain or an ir.Stream in only one of the two
// configurations (old and new). The list is computed once.
func (p *portPair) changedNames() []string {
	if p.changed == nil {
		p.changed = []string{}
		for side, own := range p.names {
			for _, list := range []map[string][]int{own.chains, own.streams} {
				for name := range list {
					if name != "" && !p.names[1-side].has(name) {
						p.changed = append(p.changed, name)
					}
				}
			}
		}
		slices.Sort(p.changed)
		p.changed = slices.Compact(p.changed)
	}
	return p.changed
}
