package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
)

// noListener sets Reason and Suggestions of the report for a request that no listener accepts. The suggestions
// are URLs with the ports whose rules serve the request's host. If no port has such rules, they are URLs with
// the other ports that accept the host. It suggests at most maxSuggestions URLs.
func (b *requestReporter) noListener() {
	what := fmt.Sprintf("nothing listens on port %d for %s", b.query.Port, b.query.Scheme)
	if b.query.Gateway != "" {
		what = fmt.Sprintf("Gateway %s does not listen on port %d for %s", b.query.Gateway, b.query.Port, b.query.Scheme)
	}
	b.report.Reason = what + b.otherwise()
	host := hostname(b.query.Host)
	var owners, others []string
	for _, gateway := range b.facts.View.Gateways {
		if b.query.Gateway != "" && b.query.Gateway != gateway.Name {
			continue
		}
		for i := range gateway.Ports {
			port := &gateway.Ports[i]
			if _, found := chainOf(port.Port, host); !found {
				continue
			}
			url := fmt.Sprintf("%s://%s:%d%s", port.Port.Scheme(), host, port.Port.Port, b.query.Path)
			if own := findHost(port, host); own != nil && own.Len > 0 {
				owners = append(owners, url)
			} else {
				others = append(others, url)
			}
		}
	}
	if len(owners) == 0 {
		owners = others
	}
	if len(owners) == 0 && !slices.ContainsFunc(b.facts.View.Gateways, func(g ir.GatewayView) bool { return len(g.Ports) > 0 }) {
		b.report.Reason += "; no port is served at all"
	}
	b.report.Suggestions = unique(owners)
}

// otherwise returns, as text, why the first listener on the query's port does not accept the request: for
// example, it speaks another scheme. If the query names a Gateway, only that Gateway's listeners count. The text
// begins with "; ". It is "" if no such listener has the port.
func (b *requestReporter) otherwise() string {
	for _, gateway := range b.facts.View.Gateways {
		for i := range gateway.Ports {
			port := gateway.Ports[i].Port
			if port.Port != b.query.Port || b.query.Gateway != "" && b.query.Gateway != gateway.Name {
				continue
			}
			if port.Scheme() != b.query.Scheme {
				return fmt.Sprintf("; Gateway %s speaks %s there", gateway.Name, port.Scheme())
			}
			if stream, _ := streamOf(port, Query{Scheme: "tls", Host: b.query.Host}); stream != nil {
				return fmt.Sprintf("; listener %s there forwards whole connections: ask for tls://%s:%d", stream.Listener, hostname(b.query.Host), port.Port)
			}
			var names []string
			for _, chain := range port.Chains {
				names = append(names, chain.Name)
			}
			return fmt.Sprintf("; Gateway %s has no certificate for %s there, and closes the connection: its hostnames are %s",
				gateway.Name, hostname(b.query.Host), strings.Join(names, ", "))
		}
	}
	return ""
}

// notFound sets the report's Reason for a request that no rule matches. In two cases it also sets Suggestions:
//
//   - If the host has no rules, they are paths under other hosts that would match the request, or similar hosts.
//   - If no rule of the host has the request's path, they are similar paths (see noPath).
//
// If a rule of the host delegated the path, notFound adds that rule to the report. If a rule of a wider host has the
// request, notFound adds it to Reason and NearMisses (see wider).
func (b *requestReporter) notFound() {
	port, host, _ := pick(b.facts.View, b.query)
	name, elsewhere := hostname(b.query.Host), b.elsewhere(port, host)
	switch {
	case host == nil || host.Len == 0 && host.Domain == "*":
		b.report.Reason = fmt.Sprintf("no route of the listener has the host %s", name)
		b.report.Suggestions = nearest(name, hostsOf(port))
	case host.Len == 0: // the virtual host only keeps other listeners and routes from serving its hosts
		b.report.Reason = fmt.Sprintf("no rule serves the host %s", name)
		if b.report.Suggestions = elsewhere; len(elsewhere) == 0 {
			b.report.Suggestions = nearest(name, hostsOf(port))
		}
	case len(b.report.NearMisses) > 0:
		b.report.Reason = fmt.Sprintf("the path matches a rule of %s, but %s", host.Domain, whatDiffers(b.report.NearMisses))
		if d := b.findDelegation(host); d != nil {
			b.delegation(d)
		}
	default:
		b.noPath(host, elsewhere)
	}
	if host != nil {
		b.wider(port, host)
	}
}

// wider searches the hosts of the same filter chain that are wider than the request's own host, the most specific one
// first, for a rule that has the request. Envoy looks into one host alone, so that this rule does not get the request.
// If there is one, wider adds it to the report's Reason and NearMisses.
func (b *requestReporter) wider(port *ir.PortView, own *ir.HostView) {
	r, _ := receive(b.query, port.Port)
	mostSpecific(hostname(b.query.Host), func(pattern string) (int, bool) {
		host := hostOf(port, own.Chain, pattern)
		if host == nil || route.Specific(own.Domain) <= route.Specific(host.Domain) {
			return -1, otherListener(port.Port, own.Chain, pattern)
		}
		looked := 0
		for rule := range host.Rules {
			if looked++; looked > maxCompared {
				return -1, true
			}
			if result, _ := r.matches(&rule.Match); result == takes {
				why := fmt.Sprintf("it is for %s, and Envoy uses only the most specific virtual host, which is %s", wordsOfDomain(host.Domain), own.Domain)
				b.addNearMiss(rule, why)
				b.report.Reason += fmt.Sprintf("; %s has one for %s, but Envoy uses only the most specific virtual host", rule.Source.Key, wordsOfDomain(host.Domain))
				return 0, true
			}
		}
		return -1, false
	})
}

// wordsOfDomain returns the domain of a virtual host, as text.
func wordsOfDomain(domain string) string {
	if domain == "*" {
		return "all other hosts"
	}
	return domain
}

// whatDiffers returns the end of a Reason: a text that names the conditions of rules that the request does not
// meet, such as headers. The parameter near has rules with the request's path. The text names the host only if one of
// these rules requires another host.
func whatDiffers(near []NearMissReport) string {
	if slices.ContainsFunc(near, func(m NearMissReport) bool { return strings.HasPrefix(m.Reason, "host ") }) {
		return "its hosts, headers, query or method do not"
	}
	return "its headers, query or method do not"
}

// noPath sets the report's Reason if no rule of the host has the request's path. If a rule delegated the path, noPath
// adds that rule to the report. It suggests similar paths of the host, and then the texts in the parameter
// elsewhere, at most maxSuggestions in all.
func (b *requestReporter) noPath(host *ir.HostView, elsewhere []string) {
	everyRule := func(*ir.Rule) bool { return true }
	b.report.Reason = fmt.Sprintf("no rule of the host %s has the path %s", host.Domain, b.answer.Path)
	var near []string
	if d := b.findDelegation(host); d != nil {
		b.report.Reason = b.delegation(d)
		near = pathsOf(host, b.answer.Path, d.over)
	}
	for _, path := range append(pathsOf(host, b.answer.Path, everyRule), elsewhere...) {
		if !slices.Contains(near, path) {
			near = append(near, path)
		}
	}
	b.report.Suggestions = near[:min(len(near), maxSuggestions)]
}

// elsewhere returns suggestions for a request that no rule of its own virtual host matches. A suggestion is a text
// with the path of a rule in another virtual host of the port. The rule would match the request if the request had
// the other host. This can help, for example, if a child route narrows the hosts of its parent (GEP-1058, Hostname
// Settings).
//
// The parameter own is the request's own virtual host, or nil. elsewhere skips all virtual hosts with the domain of
// own. It also skips rules with the prefix "/", and guards (ir.Rule.Guard). It returns one suggestion for each
// virtual host, at most maxSuggestions, and compares at most maxCompared rules.
func (b *requestReporter) elsewhere(port *ir.PortView, own *ir.HostView) []string {
	var out []string
	looked := 0
	r, _ := receive(b.query, port.Port)
	for i := range port.Hosts {
		host := &port.Hosts[i]
		if own != nil && host.Domain == own.Domain {
			continue
		}
		for rule := range host.Rules {
			if looked++; looked > maxCompared || len(out) == maxSuggestions {
				return out
			}
			match := rule.Match
			match.Hosts = nil
			if result, _ := r.matches(&match); !rule.Guard && result == takes && match.Path != (ir.Path{Kind: ir.PathPrefix, Value: "/"}) {
				out = append(out, pathWords(match.Path)+" for the host "+host.Domain)
				break
			}
		}
	}
	return out
}

// hostsOf returns the domains of those virtual hosts of a port that have rules.
func hostsOf(port *ir.PortView) []string {
	var names []string
	for _, h := range port.Hosts {
		if h.Len > 0 {
			names = append(names, h.Domain)
		}
	}
	return names
}
