package explain

import (
	"fmt"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/route"
)

// narrowed is a rule that does not answer the request because of a namespace: an annotation of the namespace
// (tenancy.AnnotationHosts) does not allow the request's host. Without this limit, the rule would answer the
// request, or might answer it. The namespace is that of the route in the field route. This route contains the rule,
// or is one of the parent routes above it.
type narrowed struct {
	rule  *ir.Rule
	route manifest.Key
	bound listen.Bound
	// alone is true if the domain of the request's virtual host is more specific than the listener's hostname. Such a
	// virtual host has only rules of root routes with a hostname that covers the request's host. So bounded reports the
	// rule only if its root route has such a hostname.
	alone bool
}

// bounded adds to NotAccepted the routes that may not serve the request's host because of their namespace, if
// they, or routes that they delegate to, might otherwise answer the request. It skips routes whose document cannot
// be read (store.Outline). It also skips routes with hostnames, because a problem already reports them. NotAccepted
// gets at most maxNotAccepted entries.
func (b *requestReporter) bounded() {
	port, host, _ := pick(b.facts.View, b.query)
	if port == nil || len(b.facts.View.Bounds) == 0 {
		return
	}
	found := b.narrowed(port, host)
	var routes []manifest.Key
	for _, n := range found {
		routes = append(routes, n.route, n.rule.Root.Key)
	}
	over := b.overlaps()
	over.read(routes, b.facts.Outlines)
	told := map[manifest.Key]bool{}
	for _, n := range found {
		outline := over.outlines[n.route]
		if told[n.route] || n.alone && !over.namesRoute(n.rule.Root.Key) || !outline.Found || len(outline.Hosts) > 0 || len(b.report.NotAccepted) == maxNotAccepted {
			continue
		}
		told[n.route] = true
		b.report.NotAccepted = append(b.report.NotAccepted, NotAcceptedReport{
			Object: n.route, Parent: ir.GatewayKey(port.Port.Gateway), Reason: listen.HostnameNotAllowed,
			Message: fmt.Sprintf("the route has no hostnames, and does not serve %s: %s", hostname(b.query.Host), n.bound),
			At:      Source{Object: n.bound.Namespace, Field: n.bound.Cause().Path},
		})
	}
}

// narrowed returns the rules of the request's listener that do not answer the request because a namespace is not
// allowed to serve the request's host (see the type narrowed). The parameter own is the request's virtual host, nil
// if the listener has none for it. If own is more specific than the listener's hostname, narrowed leaves out a rule
// if the namespace of the rule's root route is not allowed to serve the host. narrowed compares at most maxCompared
// rules, and returns at most maxNotAccepted.
func (b *requestReporter) narrowed(port *ir.PortView, own *ir.HostView) (found []narrowed) {
	chain, name := "", hostname(b.query.Host)
	if c, ok := chainOf(port.Port, b.query.SNI); ok {
		chain = c
	}
	listener, _ := listenerOf(port.Port.Listeners, name)
	r, _ := receive(b.query, port.Port)
	whole := own == nil || own.Domain == domainOf(listener)
	looked := 0
	for i := range port.Hosts {
		host := &port.Hosts[i]
		if at, _ := listenerOf(port.Port.Listeners, host.Domain); host.Chain != chain || at.ID() != listener.ID() {
			continue
		}
		for rule := range host.Rules {
			if looked++; looked > maxCompared || len(found) == maxNotAccepted {
				return found
			}
			n, ok := outOfBounds(b.facts.View.Bounds, rule, name)
			if n.alone = !whole; ok && (whole || n.route != rule.Root.Key) && b.wouldTake(r, rule) {
				found = append(found, n)
			}
		}
	}
	return found
}

// domainOf returns the domain of the virtual host for routes without hostnames: the listener's hostname, or
// "*".
func domainOf(l ir.Listener) string {
	if l.Hostname == "" {
		return "*"
	}
	return l.Hostname
}

// outOfBounds looks at the routes of a rule, from the root route down to the rule's own route. It returns the first
// route that is in a namespace which may not serve the hostname (the parameter name). The parameter bounds is
// View.Bounds: the hosts that a namespace may serve. The result ok is false if the namespaces of all these routes
// may serve the hostname.
func outOfBounds(bounds map[string]ir.Hosts, rule *ir.Rule, name string) (n narrowed, ok bool) {
	for _, hop := range append(slices.Clip(rule.Chain), ir.Hop{Route: rule.Source.Key}) {
		hosts, is := bounds[hop.Route.Namespace]
		if is && !listen.Covers(hosts, name) {
			bound := listen.Bound{Namespace: manifest.Key{Kind: "Namespace", Name: hop.Route.Namespace}, Hosts: hosts}
			return narrowed{rule: rule, route: hop.Route, bound: bound}, true
		}
	}
	return n, false
}

// wouldTake reports whether a rule would answer the request if the rule served the request's host. The result is
// also true if this is not certain. It is false in these cases:
//   - The request does not meet the rule's match.
//   - The rule is a guard (ir.Rule.Guard).
//   - Another rule answers the request now, is no guard, and comes before the given rule in Envoy's order.
func (b *requestReporter) wouldTake(r *request, rule *ir.Rule) bool {
	match := rule.Match
	match.Hosts = nil
	if result, _ := r.matches(&match); rule.Guard || result == misses {
		return false
	}
	winner := b.answer.Rule
	return winner == nil || winner.Guard || route.Compare(rule, winner) < 0
}
