package explain

import (
	"cmp"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/translate/ir"
)

// maxShown bounds each list of rules in an Answer.
const maxShown = 20

// Answer is what happens to a request.
type Answer struct {
	// Port is the listener that accepts the request. It is nil if no listener accepts the request, or if listeners
	// of several Gateways accept it. If there are several, Candidates are the names of their Gateways.
	Port       *ir.Port
	Candidates []string
	// Chain is the filter chain of Port that the TLS handshake selects. Without TLS it is the only chain of Port.
	// It is nil if Port is nil.
	Chain *ir.Chain
	// Domain is the domain of the virtual host, "" if the host has no virtual host.
	Domain string
	// Path is the path that Envoy compares with rules: normalized and without the query string.
	Path string
	// Rule is the rule that matches the request. It is nil if Port is nil, if no rule matches (404), or if Envoy
	// answers before it looks for a rule (see Outcome). It may also be nil if Costly is true.
	Rule *ir.Rule
	// Forged are the identity headers that the client sent: headers that only policies may set. Envoy removes them
	// from the request.
	Forged []string
	// Outcome is what Envoy does with the request.
	Outcome Outcome
	// Unsure are rules before Rule that may match the request, at most 20. Such a rule compares a value that is not
	// set in the Query.
	Unsure []Unsure
	// Considered are the first 20 rules before Rule whose path condition the request meets. Each has another
	// condition that the request does not meet, or may not meet. Passed is the number of all rules that were
	// compared before Rule. If Rule is nil, all rules count as before it.
	Considered []Miss
	Passed     int
	// Behind are rules after Rule that match, too, at most 20.
	Behind []*ir.Rule
	// Costly is true if the answer is incomplete, because comparing all regular expressions would take too long.
	Costly bool
}

// Miss is a rule that does not match a request, or perhaps does not, and the reason as text.
type Miss struct {
	Rule   *ir.Rule
	Reason string
}

// Unsure is a rule that may match a request: whether it matches depends on a value that the query does not
// have. Reason says, as text, why this is not known. Outcome is what happens if the rule matches.
type Unsure struct {
	Rule    *ir.Rule
	Reason  string
	Outcome Outcome
}

// Request returns what Envoy does with a request. It compares the request with the rules of its virtual host one
// after the other (Index.Request is faster for many queries).
func Request(view *ir.View, query Query) Answer {
	return ask(view, query, func(host *ir.HostView, _ string) iter.Seq[*ir.Rule] { return host.Rules })
}

// ask returns what Envoy does with a request, as Request does. The parameter rules is a function that returns
// the rules of a virtual host to compare with the request: at least those that may match its path, in Envoy's
// order.
func ask(view *ir.View, query Query, rules func(host *ir.HostView, path string) iter.Seq[*ir.Rule]) Answer {
	query = complete(query)
	port, host, candidates := pick(view, query)
	if port == nil {
		return Answer{Candidates: candidates}
	}
	r, refused := receive(query, port.Port)
	r.clusters, r.claims = view.Clusters, port.Claims
	if r.query.Host != query.Host { // the request's path contains another host
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
		answer.tryRules(rules(host, r.path), host.Forged, r)
		removed := removedBy(host.Forged, answer.Rule)
		answer.Forged = r.forges(removed)
		r = r.without(removed) // rules are compared with these headers, and policies and backends do not see them
	}
	answer.Outcome = outcome(answer.Rule, r)
	var all []string
	for _, u := range answer.Unsure {
		all = append(all, fmt.Sprintf("match: rule %s takes the request: %s", u.Rule.Name, u.Reason))
	}
	answer.Outcome.Unless = append(all, answer.Outcome.Unless...)
	return answer
}

// tryRules compares the request with the rules of a virtual host, in order. It sets Rule, Passed, Unsure,
// Considered, Behind and Costly. It stops early if the answer is Costly, or if Behind has maxShown rules.
// forged are the headers that only policies may set, and that all rules of the host remove: Envoy removes them after
// it has chosen a rule.
func (a *Answer) tryRules(rules iter.Seq[*ir.Rule], forged []string, r *request) {
	for rule := range rules {
		result, reason := r.matches(&rule.Match)
		if a.Costly = r.comparer.spent(); a.Costly {
			return
		}
		switch {
		case a.Rule == nil && result == takes:
			a.Rule = rule
		case rule.Preflight != nil && result == misses && !asksBefore(r): // it is in no route
		case a.Rule == nil:
			a.Passed++
			if result == may && len(a.Unsure) < maxShown {
				a.Unsure = append(a.Unsure, Unsure{rule, reason, outcome(rule, r.without(removedBy(forged, rule)))})
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

// removedBy returns the identity headers that are removed from a request for which Envoy has chosen a rule: those of
// the virtual host (the parameter forged), and those of the rule, which may be nil.
func removedBy(forged []string, rule *ir.Rule) []string {
	names := slices.Concat(forged, rule.Forged())
	slices.Sort(names)
	return names
}

// pick returns the listener that accepts a query, and the virtual host for the query's host. host is nil if the
// listener has no such virtual host. If several listeners accept the query, pick prefers those with a virtual
// host for that host. If no listener is left, port is nil. If several are left, port is also nil, and
// candidates are the names of their Gateways.
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

// reaches reports whether a listener accepts the query: its port and scheme are those of the query. With TLS it
// also needs a filter chain for the server name.
func (q Query) reaches(p *ir.PortView) bool {
	_, found := chainOf(p.Port, q.SNI)
	return found && p.Port.Port == q.Port && p.Port.Scheme() == q.Scheme
}

// host returns the virtual host for the query's host, in the filter chain that its server name selects. It
// returns nil if there is no such virtual host, or if the host belongs to another listener (see misdirected).
func (q Query) host(port *ir.PortView) *ir.HostView {
	chain, found := chainOf(port.Port, q.SNI)
	if !found {
		return nil
	}
	return hostIn(port, chain, q.Host)
}

// misdirected reports whether Envoy answers 421 to a query for which no virtual host is found (Query.host returns
// nil). Envoy does this if the server name (SNI) selects the filter chain of one listener, and the query's host
// belongs to another one (see otherListener).
func (q Query) misdirected(port *ir.Port) bool {
	chain, _ := chainOf(port, q.SNI)
	_, is := mostSpecific(hostname(q.Host), func(pattern string) (int, bool) { return 0, otherListener(port, chain, pattern) })
	return is
}

// otherListener reports whether the filter chain with the name chain answers 421 for a hostname, because another
// listener serves the hostname. The result is true for each hostname in the list that listen.TLSNames.Misdirected
// returns for chain. On a port with many TLS names (ir.Port.ManyTLSNames), this list has only the hostnames that
// chain covers as a wildcard, and "*", which stands for all other hosts. The result is false if the hostname is
// equal to chain.
func otherListener(port *ir.Port, chain, hostname string) bool {
	if !port.Secure() || hostname == chain {
		return false
	}
	if hostname == "*" && port.ManyTLSNames() {
		return true
	}
	return (scope.CoversHost(chain, hostname) || !port.ManyTLSNames()) &&
		(slices.ContainsFunc(port.Chains, func(c ir.Chain) bool { return c.Name == hostname }) ||
			slices.ContainsFunc(port.Streams, func(s ir.Stream) bool { return s.Chain == hostname }))
}

// chainOf returns the name of the filter chain that a server name selects. The name is "" for a port without
// TLS. found is false if no chain fits, or if an ir.Stream of the port has the server name.
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

// chainIndex returns the index of the filter chain that a server name selects. It returns 0 for a port without
// TLS, and -1 if an ir.Stream of the port has the server name. found is false if neither a chain nor an
// ir.Stream fits.
func chainIndex(port *ir.Port, name string) (i int, found bool) {
	if !port.Secure() {
		return 0, len(port.Chains) > 0
	}
	return mostSpecific(hostname(name), func(pattern string) (int, bool) {
		i := slices.IndexFunc(port.Chains, func(c ir.Chain) bool { return c.Name == pattern })
		return i, i >= 0 || streams(port, pattern)
	})
}

// streams reports whether an ir.Stream of the port has pattern among its hostnames.
func streams(port *ir.Port, pattern string) bool {
	return slices.ContainsFunc(port.Streams, func(s ir.Stream) bool { return slices.Contains(s.Domains, pattern) })
}

// findHost returns the virtual host for a hostname, in the filter chain that the same name selects as server
// name. It returns nil if there is no such chain or virtual host.
func findHost(port *ir.PortView, name string) *ir.HostView {
	chain, found := chainOf(port.Port, name)
	if !found {
		return nil
	}
	return hostIn(port, chain, name)
}

// hostIn searches the virtual hosts of one filter chain, and returns the virtual host for a hostname (the parameter
// name). It returns nil if the filter chain has no such virtual host, or if Envoy answers 421 because the hostname
// belongs to another listener.
func hostIn(port *ir.PortView, chain, name string) *ir.HostView {
	var host *ir.HostView
	mostSpecific(hostname(name), func(pattern string) (int, bool) {
		host = hostOf(port, chain, pattern)
		return 0, host != nil || otherListener(port.Port, chain, pattern)
	})
	return host
}

// hostOf returns the virtual host with a domain in a filter chain, or nil if there is none.
func hostOf(port *ir.PortView, chain, domain string) *ir.HostView {
	i, found := slices.BinarySearchFunc(port.Hosts, domain, func(h ir.HostView, domain string) int {
		return cmp.Or(strings.Compare(h.Chain, chain), strings.Compare(h.Domain, domain))
	})
	if !found {
		return nil
	}
	return &port.Hosts[i]
}
