package translate

import (
	"fmt"

	"github.com/gatefold/gatefold/store/manifest"
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
	upgrade *memo.Rule[tableKey, *ir.Rule] // the rule that redirects the whole host to https, nil if there is none
	exposed *memo.Rule[manifest.Key, []manifest.Problem]
}

func newExposedRules(e *memo.Engine, in exposedIn) *exposedRules {
	r := &exposedRules{in: in}
	r.upgrade = memo.NewRule(e, "upgrade", r.runUpgrade, identical[*ir.Rule])
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

// runUpgrade returns the first rule of a virtual host that takes every request and redirects it to https. It stays the
// same in most edits of the host.
func (r *exposedRules) runUpgrade(c *memo.Ctx, key tableKey) *ir.Rule {
	host := r.in.host.Get(c, key)
	if host == nil {
		return nil
	}
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
			upgrade := r.upgrade.Get(c, table)
			if upgrade == nil || upgrade.Root.Key == key || !servesBefore(m.placed.in(table, m.flat(table.Port).Entries), upgrade) {
				continue
			}
			if first != nil {
				more++
				continue
			}
			problem := exposure(key, m.Attach.Parents[i].Index, table, upgrade)
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

// servesBefore reports whether one of the entries forwards requests that it has before another rule.
func servesBefore(entries []*entry, other *ir.Rule) bool {
	for _, e := range entries {
		if e.Rule.Action.Forward != nil && route.Compare(e.Rule, other) < 0 {
			return true
		}
	}
	return false
}

// exposure returns the warning for a parentRef (index) of a route, without its hint.
func exposure(key manifest.Key, index int, table tableKey, upgrade *ir.Rule) manifest.Problem {
	return manifest.Problem{
		Code: "ServedInClearText", Severity: manifest.Warning, Object: key, Field: fmt.Sprintf("spec.parentRefs[%d]", index),
		Message: fmt.Sprintf("the parentRef names no listener, so that requests for host %q on port %d of Gateway %s are served in clear text: the route comes before %s, which redirects the host to https",
			table.Domain, table.Port, table.Gateway, spotOf(upgrade)),
	}
}
