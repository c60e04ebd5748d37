package translate

import (
	"cmp"
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/keypair"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

// If a certificate is not for the host of a request, Envoy still serves it, but every browser rejects it. Only
// a warning shows this before users see it.

// coverage has the hosts in the certificates of a Gateway's listeners.
type coverage struct {
	Listeners map[string]*certified // by ID; only listeners that terminate TLS
	// Overlaps says which listeners overlap with others of their port, by ID (see listen.Gateway.Overlaps).
	Overlaps map[string]overlap
	Problems []manifest.Problem
}

// overlap is why the TLS configuration of a listener overlaps with that of others. It is zero if it does not.
type overlap = manifest.Verdict[gwv1.ListenerConditionReason]

// certified is the hostname of a listener that terminates TLS, and the hosts in its certificates.
type certified struct {
	Hostname string
	Names    []string
}

type coverageIn struct {
	gateway   *memo.Rule[manifest.Key, *listen.Gateway]
	certNames *memo.Rule[manifest.Key, []string]
	gateways  *objects
}

// coverageRules compare the hostnames of listeners and routes with the hosts in certificates.
type coverageRules struct {
	in        coverageIn
	coverage  *memo.Rule[manifest.Key, *coverage]
	certified *memo.Rule[listenerKey, *certified]
	overlap   *memo.Rule[listenerKey, overlap]
}

func newCoverageRules(e *memo.Engine, in coverageIn) *coverageRules {
	r := &coverageRules{in: in}
	r.coverage = memo.NewRule(e, "coverage", r.runCoverage, deepEqual)
	memo.Each(r.coverage, in.gateways)
	r.certified = memo.NewRule(e, "certified", r.runCertified, deepEqual)
	r.overlap = memo.NewRule(e, "overlap", r.runOverlap, identical)
	return r
}

func (r *coverageRules) report(all *problemFold) {
	problemsFrom(all, "coverage", r.coverage, (*coverage).problems)
}

// runCoverage returns the hosts in the certificates of a Gateway's listeners, and which of the listeners overlap. It
// returns nil for a Gateway without certificates and overlaps.
func (r *coverageRules) runCoverage(c *memo.Ctx, key manifest.Key) *coverage {
	g := r.in.gateway.Get(c, key)
	out := &coverage{Listeners: map[string]*certified{}}
	out.Overlaps = g.Overlaps(func(secret manifest.Key) []string { return r.in.certNames.Get(c, secret) })
	for l := range g.Serving() {
		if len(l.Certificates) == 0 {
			continue
		}
		of := &certified{Hostname: l.Hostname}
		for _, secret := range l.Certificates {
			of.Names = append(of.Names, r.in.certNames.Get(c, secret)...)
		}
		slices.Sort(of.Names)
		of.Names = slices.Compact(of.Names)
		out.Listeners[l.ID()] = of
		if l.Hostname != "" && !keypair.CoversSome(of.Names, l.Hostname) {
			out.Problems = append(out.Problems, of.problem(l))
		}
	}
	if len(out.Listeners)+len(out.Overlaps) == 0 {
		return nil
	}
	return out
}

// runOverlap returns why the TLS configuration of one listener overlaps with that of others.
func (r *coverageRules) runOverlap(c *memo.Ctx, key listenerKey) overlap {
	if of := r.coverage.Get(c, ir.GatewayKey(key.Gateway)); of != nil {
		return of.Overlaps[key.Listener]
	}
	return overlap{}
}

// runCertified returns the hosts in the certificates of one listener. It returns nil for a listener that does
// not terminate TLS.
func (r *coverageRules) runCertified(c *memo.Ctx, key listenerKey) *certified {
	if of := r.coverage.Get(c, ir.GatewayKey(key.Gateway)); of != nil {
		return of.Listeners[key.Listener]
	}
	return nil
}

// problem returns the warning that none of the certificates of a listener (l) is for the hostname of the
// listener.
func (of *certified) problem(l *listen.Listener) manifest.Problem {
	return manifest.Problem{
		Code: codeMismatch, Severity: manifest.Warning, Object: l.Owner, Field: fmt.Sprintf("spec.listeners[%d].hostname", l.Index),
		Message: fmt.Sprintf("no certificate of the listener is for %s, its hostname: %s", l.Hostname, of.consequence()),
		Hint:    fmt.Sprintf("refer to a certificate for %s in tls.certificateRefs, or fix the hostname", l.Hostname),
	}
}

// codeMismatch is the code of a problem about a hostname that no certificate is for.
const codeMismatch = "CertificateMismatch"

// consequence returns the end of a message: that browsers refuse the connection, and the hosts for which the
// certificates are valid.
func (of *certified) consequence() string {
	return "browsers refuse the connection; its certificates are for " + cmp.Or(route.Several(of.Names), "no host: they have no subjectAltName")
}

// uncovered checks the hostnames of a route (the parameter from) at the listeners of one parentRef (the parameter
// p). It returns a warning for each hostname for which the listener has no certificate. If the listener itself has
// this hostname, there is no warning for the route, because there is one for the listener already.
func (r *coverageRules) uncovered(c *memo.Ctx, from *route.Common, p *parentOut) (problems []manifest.Problem) {
	var seen []string
	for _, place := range p.Places {
		if place.Chain == "" || place.Raw || place.Domain == "*" || slices.Contains(seen, place.Domain) {
			continue
		}
		of := r.certified.Get(c, listenerKey{p.Gateway, place.Listener})
		if of == nil || of.Hostname == place.Domain || keypair.CoversSome(of.Names, place.Domain) {
			continue
		}
		seen = append(seen, place.Domain)
		field := "spec.hostnames"
		if i := slices.Index(from.Hostnames, place.Domain); i >= 0 {
			field = fmt.Sprintf("spec.hostnames[%d]", i)
		}
		problems = append(problems, manifest.Problem{
			Code: codeMismatch, Severity: manifest.Warning, Object: from.Key, Field: field,
			Message: fmt.Sprintf("no certificate of listener %s of Gateway %s is for %s: %s", place.Listener, p.Gateway, place.Domain, of.consequence()),
			Hint:    fmt.Sprintf("add a certificate for %s to the listener's tls.certificateRefs, or fix the hostname", place.Domain),
		})
	}
	return problems
}

// problems returns the Problems, nil for a nil coverage.
func (o *coverage) problems() []manifest.Problem {
	if o == nil {
		return nil
	}
	return o.Problems
}
