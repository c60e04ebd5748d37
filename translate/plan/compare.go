package plan

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// Side is one of the two configurations.
type Side struct {
	View *ir.View
	// Problems are all problems, with their places.
	Problems []manifest.Problem
	// Objects are all valid objects.
	Objects []*manifest.Object
	// Resources are all Envoy resources.
	Resources []xds.Update
	// Places returns where fields are written, as store.Store.Places does; nil if it is not known.
	Places func([]manifest.Field) []store.Place
}

// comparison is the work on one Report.
type comparison struct {
	before, after   Side
	report          *Report
	effects         [2]*effects
	patterns        patterns
	groups          map[string]*Change
	policies        map[string]*PolicyChange
	counted         map[[2]*ir.Rule]bool
	budget          *budget
	samples         map[sampleKey][]string
	changedObjects  map[manifest.Key]Kind // see objectKinds
	whereabouts     [2]*whereabouts       // see rulesOf
	requests, other []*Change
}

// Compare returns what differs between two configurations. Its search for requests is bounded: rules
// that it did not come to are Undecided. It fails only if the context ends.
func Compare(ctx context.Context, before, after Side) (*Report, error) {
	c := &comparison{
		before: before, after: after, report: &Report{Requests: []Change{}}, patterns: patterns{},
		effects: [2]*effects{newEffects(before.View), newEffects(after.View)},
		groups:  map[string]*Change{}, policies: map[string]*PolicyChange{}, counted: map[[2]*ir.Rule]bool{},
		budget: &budget{ctx: ctx, total: maxTotalSteps}, samples: map[sampleKey][]string{},
	}
	c.ports()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, change := range c.requests {
		c.report.Requests = append(c.report.Requests, *change)
	}
	for _, change := range c.other {
		c.report.Handling = append(c.report.Handling, *change)
	}
	unasked := maps.Clone(c.effects[0].unasked)
	maps.Copy(unasked, c.effects[1].unasked)
	c.report.Unasked = slices.Sorted(maps.Keys(unasked))
	c.addPolicies()
	c.problems()
	c.certificates()
	c.objects()
	c.resources()
	c.locate()
	c.report.summarize()
	return c.report, nil
}

// portKey identifies a port of a Gateway.
type portKey struct {
	gateway string
	port    uint32
	scheme  string
}

func comparePortKeys(a, b portKey) int {
	return cmp.Or(cmp.Compare(a.gateway, b.gateway), cmp.Compare(a.port, b.port), cmp.Compare(a.scheme, b.scheme))
}

func portsOf(view *ir.View) map[portKey]*ir.PortView {
	out := map[portKey]*ir.PortView{}
	for _, gateway := range view.Gateways {
		for i := range gateway.Ports {
			p := &gateway.Ports[i]
			out[portKey{gateway.Name, p.Port.Port, p.Port.Scheme()}] = p
		}
	}
	return out
}

// ports compares the ports of all Gateways.
func (c *comparison) ports() {
	before, after := portsOf(c.before.View), portsOf(c.after.View)
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	for _, key := range slices.SortedFunc(maps.Keys(keys), comparePortKeys) {
		p := &portPair{comparison: c, key: key, ports: [2]*ir.PortView{before[key], after[key]}}
		p.listener()
		p.streams()
		switch {
		case !isHTTP(key.scheme):
		case before[key] == nil || after[key] == nil:
			p.whole()
		default:
			p.hosts()
		}
	}
}

func isHTTP(scheme string) bool { return scheme == "http" || scheme == "https" }

// portPair is a port before and after; one of them may be nil.
type portPair struct {
	*comparison
	key   portKey
	ports [2]*ir.PortView
}

// portPlaces returns where the port's listeners are written.
func (p *portPair) portPlaces() (out []Place) {
	for side, port := range p.ports {
		if port == nil {
			continue
		}
		for _, l := range port.Port.Listeners {
			out = append(out, Place{Source: explain.Source{Object: l.Object, Field: listenerField(l)}, Before: side == 0})
		}
	}
	if p.ports[0] != nil && p.ports[1] != nil {
		out = slices.DeleteFunc(out, func(at Place) bool { return at.Before })
	}
	return out
}

// hosts compares the tables of all hosts.
func (p *portPair) hosts() {
	for _, name := range p.serverNames() {
		var chains [2]string
		var found [2]bool
		for side, port := range p.ports {
			chains[side], found[side] = explain.Chain(port.Port, name.member)
		}
		domains := p.domains(chains, found)
		for _, domain := range domains {
			if p.budget.ctx.Err() != nil {
				return
			}
			h := &hostPair{portPair: p, named: domain, host: memberOf(domain, domains)}
			h.sni = name.member
			if p.leadsTo(h.host, chains, found) {
				h.sni = h.host
			}
			for side, port := range p.ports {
				if found[side] {
					h.views[side] = explain.Table(port, chains[side], h.host)
				}
			}
			h.compare()
		}
	}
}

// leadsTo reports whether a name in the handshake leads to the chains.
func (p *portPair) leadsTo(name string, chains [2]string, found [2]bool) bool {
	for side, port := range p.ports {
		if chain, ok := explain.Chain(port.Port, name); ok != found[side] || chain != chains[side] {
			return false
		}
	}
	return true
}

// serverName is a class of names in the handshake, with a member.
type serverName struct{ pattern, member string }

// serverNames returns the classes of names that lead to different chains; one without TLS.
func (p *portPair) serverNames() (out []serverName) {
	if p.key.scheme != "https" {
		return []serverName{{}}
	}
	patterns := []string{"*"}
	for _, port := range p.ports {
		for _, chain := range port.Port.Chains {
			patterns = append(patterns, chain.Name)
		}
		for _, s := range port.Port.Streams {
			patterns = append(patterns, s.Domains...)
		}
	}
	slices.Sort(patterns)
	patterns = slices.Compact(patterns)
	for _, pattern := range patterns {
		out = append(out, serverName{pattern, memberOf(pattern, patterns)})
	}
	return out
}

// domains returns the classes of hosts in the tables of two chains.
func (p *portPair) domains(chains [2]string, found [2]bool) []string {
	all := []string{"*"}
	for side, port := range p.ports {
		if !found[side] {
			continue
		}
		for _, chain := range port.Port.Chains {
			all = append(all, cmp.Or(chain.Name, "*"))
		}
		for _, host := range port.Hosts {
			if host.Chain != chains[side] {
				continue
			}
			all = append(all, host.Domain)
			for rule := range host.Rules {
				all = append(all, rule.Match.Hosts...)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// memberOf returns a host that a pattern covers and none of the longer ones.
func memberOf(pattern string, others []string) string {
	suffix, wild := strings.CutPrefix(pattern, "*")
	if !wild {
		return pattern
	}
	if suffix == "" {
		suffix = ".example"
	}
	for label := "any"; ; label += "-x" {
		host := label + suffix
		if !slices.ContainsFunc(others, func(other string) bool { return len(other) > len(pattern) && explain.Covers(other, host) }) {
			return host
		}
	}
}
