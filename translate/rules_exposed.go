package translate

import (
	"fmt"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

type exposedIn struct {
	mounted     *memo.Rule[manifest.Key, *mountOut]
	host        *memo.Rule[tableKey, *hostOut]
	TrustedHops uint32
}

// exposedRules find routes that are for an HTTPS listener, and are served in clear text, too: their parentRef names no
// listener, and on the HTTP listener they come before the rule of another route that redirects the whole host to https.
type exposedRules struct {
	in      exposedIn
	upgrade *memo.Rule[tableKey, upgrade] // the rule that redirects the whole host to https
	exposed *memo.Rule[manifest.Key, []manifest.Problem]
}

// upgrade is a rule that redirects a whole host to https. Rule is nil if there is none. Domain is that of the virtual host with
// the rule, which may be wider than the host.
type upgrade struct {
	Rule   *ir.Rule
	Domain string
}

func newExposedRules(e *memo.Engine, in exposedIn) *exposedRules {
	r := &exposedRules{in: in}
	r.upgrade = memo.NewRule(e, "upgrade", r.runUpgrade, identical[upgrade])
	r.exposed = memo.NewRule(e, "exposed", r.runExposed, deepEqual[[]manifest.Problem])
	memo.EachOf(r.exposed, in.mounted, func(key manifest.Key, m *mountOut) []manifest.Key {
		if m == nil || m.closed != nil || in.TrustedHops > 0 { // behind a proxy, clients may use TLS
			return nil
		}
		for i := range m.Attach.Parents {
			for range m.Attach.Parents[i].onBoth() {
				return []manifest.Key{key}
			}
		}
		return nil
	})
	return r
}

func (r *exposedRules) report(all *problemFold) {
	problemsFrom(all, "exposed", r.exposed, func(problems []manifest.Problem) []manifest.Problem { return problems })
}

// onBoth yields the virtual hosts without TLS of a parentRef that names no listener, each with the port of a virtual host
// with TLS of the same domain that the parentRef leads to as well.
func (p *parentOut) onBoth() func(yield func(tableKey, int32) bool) {
	return func(yield func(tableKey, int32) bool) {
		if p.Ref.SectionName != nil && *p.Ref.SectionName != "" || p.Ref.Port != nil {
			return
		}
		secure := map[string]int32{}
		for _, place := range p.Places {
			if place.Chain != "" {
				secure[place.Domain] = place.Port
			}
		}
		for _, place := range p.Places {
			if port, both := secure[place.Domain]; both && place.Chain == "" && !yield(tableOf(p.Gateway, place), port) {
				return
			}
		}
	}
}

// runUpgrade returns the first rule of a virtual host that takes every request and redirects it to https. If there is
// none, it returns that of the next wider virtual host, whose redirect is meant for this one, too. It stays the same in
// most edits of the host.
func (r *exposedRules) runUpgrade(c *memo.Ctx, key tableKey) upgrade {
	host := r.in.host.Get(c, key)
	if host != nil {
		if own := redirectToHTTPS(host); own != nil {
			return upgrade{own, key.Domain}
		}
	}
	if wider := slices.Collect(scope.Wildcards(key.Domain)); len(wider) > 0 {
		return r.upgrade.Get(c, tableKey{key.chainKey, wider[0]})
	}
	return upgrade{}
}

// redirectToHTTPS returns the first rule of a virtual host that takes every request and redirects it to https.
func redirectToHTTPS(host *hostOut) *ir.Rule {
	looked := 0
	for e := range host.Open.All() {
		if to := e.Rule.Action.Redirect; to != nil && to.Scheme == "https" {
			return e.Rule
		}
		if looked++; looked == maxLoopScan {
			break
		}
	}
	return nil
}

// runExposed returns a warning for each parentRef of a route by which the route is served in clear text before a redirect
// to https.
func (r *exposedRules) runExposed(c *memo.Ctx, key manifest.Key) (problems []manifest.Problem) {
	m := r.in.mounted.Get(c, key)
	for i := range m.Attach.Parents {
		var first *manifest.Problem
		more := 0
		for table, port := range m.Attach.Parents[i].onBoth() {
			to := r.upgrade.Get(c, table)
			if to.Rule == nil || to.Rule.Root.Key == key || !to.servedAfter(m.placed.in(table, m.flat(table.Port).Entries), table.Domain) {
				continue
			}
			if first != nil {
				more++
				continue
			}
			problem := exposure(key, m.Attach.Parents[i].Index, table, to)
			problem.Hint = fmt.Sprintf("write the sectionName of the HTTPS listener (port %d) into this parentRef. If clear text is meant, write a parentRef for each of the two listeners", port)
			first = &problem
		}
		if first != nil {
			if more > 0 {
				first.Message += fmt.Sprintf(" (hosts or ports like it: %d more)", more)
			}
			problems = append(problems, *first)
		}
	}
	return problems
}

// servedAfter reports whether one of the entries of a domain forwards requests that it has before the redirect. A redirect
// of a wider domain has none of them.
func (u upgrade) servedAfter(entries []*entry, domain string) bool {
	for _, e := range entries {
		if e.Rule.Action.Forward != nil && (u.Domain != domain || route.Compare(e.Rule, u.Rule) < 0) {
			return true
		}
	}
	return false
}

// exposure returns the warning for a parentRef (index) of a route, without its hint.
func exposure(key manifest.Key, index int, table tableKey, to upgrade) manifest.Problem {
	what := fmt.Sprintf("host %q", to.Domain)
	switch to.Domain {
	case table.Domain:
		what = "the host"
	case "*":
		what = "all other hosts"
	}
	return manifest.Problem{
		Code: "ServedInClearText", Severity: manifest.Warning, Object: key, Field: fmt.Sprintf("spec.parentRefs[%d]", index),
		Message: fmt.Sprintf("the parentRef names no listener, so that requests for host %q on port %d of Gateway %s are served in clear text: the route comes before %s, which redirects %s to https",
			table.Domain, table.Port, table.Gateway, spotOf(to.Rule), what),
	}
}
