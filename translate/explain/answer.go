package explain

import (
	"cmp"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// maxShown bounds each list of rules in an Answer.
const maxShown = 20

// Answer is what happens to a request.
type Answer struct {
	// Port is the listener that accepts the request. It is nil if none fits, or if several do:
	// then Candidates names their Gateways.
	Port       *ir.Port
	Candidates []string
	// Chain is the chain of Port that the handshake leads to; nil without Port.
	Chain *ir.Chain
	// Domain is the virtual host, "" when there is none for the host.
	Domain string
	// Path is the path that is matched: normalized and without the query.
	Path string
	// Rule is the rule that matches the request; nil means 404 (or 400, see Outcome).
	Rule *ir.Rule
	// Forged are the identity headers of the request, which the host removes.
	Forged []string
	// Outcome is what Envoy does.
	Outcome Outcome
	// Unsure are rules before Rule that may match the request, at most 20: the question lacks
	// the value that they match.
	Unsure []Unsure
	// Considered are rules before Rule whose path matches but something else does not, in
	// order, at most 20. Passed is the number of all rules before Rule.
	Considered []Miss
	Passed     int
	// Behind are rules that match too and have a lower precedence, at most 20.
	Behind []*ir.Rule
	// Costly is true if the answer is incomplete, because comparing the question with all
	// regular expressions would take too long.
	Costly bool
}

// Miss is a rule that does not match, and why.
type Miss struct {
	Rule   *ir.Rule
	Reason string
}

// Unsure is a rule that may match a request, and what would happen then.
type Unsure struct {
	Rule    *ir.Rule
	Reason  string
	Outcome Outcome
}

// Request returns what Envoy does with a request.
func Request(view *ir.View, query Query) Answer {
	return ask(view, query, func(host *ir.HostView, _ string) iter.Seq[*ir.Rule] { return host.Rules })
}

// ask is Request with a function for the rules of a host that may match a path.
func ask(view *ir.View, query Query, rules func(host *ir.HostView, path string) iter.Seq[*ir.Rule]) Answer {
	query = complete(query)
	port, host, candidates := pick(view, query)
	if port == nil {
		return Answer{Candidates: candidates}
	}
	r, refused := receive(query, port.Port)
	r.clusters, r.claims = view.Clusters, port.Claims
	if r.query.Host != query.Host { // the path has another one
		query.Host = r.query.Host
		host = query.host(port)
	}
	answer := Answer{Port: port.Port, Path: r.path}
	if i, found := chainIndex(port.Port, query.SNI); found && i >= 0 {
		answer.Chain = &port.Port.Chains[i]
	}
	if host != nil {
		answer.Domain = host.Domain
	}
	if refused == nil && host == nil && query.misdirected(port.Port) {
		owner := "is the host of another listener"
		if port.Port.ManyTLSNames() {
			owner = "is not a host of its listener, or is another's"
		}
		refused = &localReply{status: http.StatusMisdirectedRequest, why: fmt.Sprintf(
			"the connection is open for %s, and %s %s: ask for it over a connection of its own", query.SNI, hostname(query.Host), owner)}
		if r.upgradesToUnknown() {
			refused = &localReply{status: http.StatusForbidden, why: upgradeRejected}
		}
	}
	if refused != nil {
		answer.Outcome = Outcome{Rejected: true, Status: refused.status, Why: refused.why, GRPC: r.asksByGRPC() && !refused.raw}
		return answer
	}
	if host != nil {
		answer.Forged = r.forges(host.Forged)
		answer.tryRules(rules(host, r.path), host.Forged, r)
	}
	if host != nil { // the rule is chosen by then
		r = r.without(host.Forged)
	}
	answer.Outcome = outcome(answer.Rule, r)
	var all []string
	for _, u := range answer.Unsure {
		all = append(all, fmt.Sprintf("match: rule %s takes the request: %s", u.Rule.Name, u.Reason))
	}
	answer.Outcome.Unless = append(all, answer.Outcome.Unless...)
	return answer
}

// tryRules compares the request with rules of the table, in order.
func (a *Answer) tryRules(rules iter.Seq[*ir.Rule], forged []string, r *request) {
	for rule := range rules {
		result, reason := r.matches(&rule.Match)
		if a.Costly = r.effort.spent(); a.Costly {
			return
		}
		switch {
		case a.Rule == nil && result == takes:
			a.Rule = rule
		case a.Rule == nil:
			a.Passed++
			if result == may && len(a.Unsure) < maxShown {
				a.Unsure = append(a.Unsure, Unsure{rule, reason, outcome(rule, r.without(forged))})
			}
			if reason != pathDiffers && len(a.Considered) < maxShown {
				a.Considered = append(a.Considered, Miss{Rule: rule, Reason: reason})
			}
		case result == takes && len(a.Behind) < maxShown:
			a.Behind = append(a.Behind, rule)
		}
		if len(a.Behind) == maxShown {
			return
		}
	}
}

// pick returns the listener for a Gateway and port, and the host to choose between several
// listeners.
func pick(view *ir.View, query Query) (port *ir.PortView, host *ir.HostView, candidates []string) {
	var fits []*ir.PortView
	for _, gateway := range view.Gateways {
		if query.Gateway != "" && query.Gateway != gateway.Name {
			continue
		}
		for i := range gateway.Ports {
			if port := &gateway.Ports[i]; query.reaches(port) {
				fits = append(fits, port)
			}
		}
	}
	if len(fits) > 1 {
		owners := slices.DeleteFunc(slices.Clone(fits), func(p *ir.PortView) bool { return query.host(p) == nil })
		if len(owners) > 0 {
			fits = owners
		}
	}
	if len(fits) == 1 {
		return fits[0], query.host(fits[0]), nil
	}
	for _, p := range fits {
		candidates = append(candidates, p.Port.Gateway)
	}
	return nil, nil, candidates
}

// reaches reports whether a port accepts the query. With TLS it needs a chain for the name in the
// handshake.
func (q Query) reaches(p *ir.PortView) bool {
	_, found := chainOf(p.Port, q.SNI)
	return found && p.Port.Port == q.Port && p.Port.Scheme() == q.Scheme
}

// host returns the virtual host of the query in the chain of its handshake. It returns nil if there
// is none, or if the host belongs to another listener (misdirected).
func (q Query) host(port *ir.PortView) *ir.HostView {
	chain, found := chainOf(port.Port, q.SNI)
	if !found {
		return nil
	}
	return hostIn(port, chain, q.Host)
}

// misdirected reports whether the most specific host for the query belongs to a listener with TLS,
// but the handshake leads to another listener.
func (q Query) misdirected(port *ir.Port) bool {
	chain, _ := chainOf(port, q.SNI)
	_, is := mostSpecific(hostname(q.Host), func(pattern string) (int, bool) { return 0, otherListener(port, chain, pattern) })
	return is
}

// otherListener reports whether a hostname in the table of a chain belongs to another listener and
// answers 421. listen.TLSNames.Misdirected returns these hostnames.
func otherListener(port *ir.Port, chain, hostname string) bool {
	if !port.Secure() || hostname == chain {
		return false
	}
	if hostname == "*" && port.ManyTLSNames() {
		return true
	}
	return (covers(chain, hostname) || !port.ManyTLSNames()) &&
		(slices.ContainsFunc(port.Chains, func(c ir.Chain) bool { return c.Name == hostname }) ||
			slices.ContainsFunc(port.Streams, func(s ir.Stream) bool { return s.Chain == hostname }))
}

// chainOf returns the name of the chain for a server name in the handshake.
func chainOf(port *ir.Port, name string) (chain string, found bool) {
	if !port.Secure() {
		return "", true
	}
	i, found := chainIndex(port, name)
	if !found || i < 0 {
		return "", false
	}
	return port.Chains[i].Name, true
}

// chainIndex returns the index of the chain for a server name in the handshake, -1 if the name
// leads to a stream.
func chainIndex(port *ir.Port, name string) (i int, found bool) {
	if !port.Secure() {
		return 0, len(port.Chains) > 0
	}
	return mostSpecific(hostname(name), func(pattern string) (int, bool) {
		i := slices.IndexFunc(port.Chains, func(c ir.Chain) bool { return c.Name == pattern })
		return i, i >= 0 || streams(port, pattern)
	})
}

// streams reports whether a server name belongs to a stream. Streams win over chains with wider
// names.
func streams(port *ir.Port, pattern string) bool {
	return slices.ContainsFunc(port.Streams, func(s ir.Stream) bool { return slices.Contains(s.Domains, pattern) })
}

// findHost returns the virtual host of a name, nil if there is none.
func findHost(port *ir.PortView, name string) *ir.HostView {
	chain, found := chainOf(port.Port, name)
	if !found {
		return nil
	}
	return hostIn(port, chain, name)
}

// hostIn returns the virtual host of a name in the table of a chain. It returns nil if there is
// none, or if the host belongs to another listener and answers 421.
func hostIn(port *ir.PortView, chain, name string) *ir.HostView {
	i, found := mostSpecific(hostname(name), func(pattern string) (int, bool) {
		i, own := slices.BinarySearchFunc(port.Hosts, pattern, func(h ir.HostView, domain string) int {
			return cmp.Or(strings.Compare(h.Chain, chain), strings.Compare(h.Domain, domain))
		})
		if own {
			return i, true
		}
		return -1, otherListener(port.Port, chain, pattern)
	})
	if !found || i < 0 {
		return nil
	}
	return &port.Hosts[i]
}
