package explain

import (
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// delegationMiss is a match that delegates requests to other routes, that has the request's path, and that does not
// match the request for another reason. No rule below it matches the request either.
type delegationMiss struct {
	*ir.Delegation
	way    string // see wayOf
	reason string
}

// delegationMisses returns the delegating matches of the request's virtual host that nearly match the request (see
// delegationMiss), at most maxShown. It leaves out a match below another one of the list, because that one already
// keeps the request from it.
func (b *requestReporter) delegationMisses() (out []delegationMiss) {
	port, host, _ := pick(b.facts.View, b.query)
	if port == nil || host == nil || b.facts.View.Delegations == nil {
		return nil
	}
	ways := waysOf(host)
	if len(ways) == 0 {
		return nil
	}
	r, _ := receive(b.query, port.Port)
	all := b.facts.View.Delegations()
	for i := range all {
		d := &all[i]
		if uint32(d.Port) != port.Port.Port {
			continue
		}
		way := wayOf(d.Chain)
		above := func(miss delegationMiss) bool { return strings.HasPrefix(way, miss.way) }
		if !ways[way] || slices.ContainsFunc(out, above) {
			continue
		}
		result, reason := r.matches(d.Match)
		if r.comparer.spent() || len(out) == maxShown {
			return out
		}
		if result == misses && reason != pathDiffers {
			out = append(out, delegationMiss{d, way, reason})
		}
	}
	return out
}

// waysOf returns the ways (see wayOf) to the delegating matches above the rules of a virtual host. It considers at most
// maxCompared rules.
func waysOf(host *ir.HostView) map[string]bool {
	ways, looked := map[string]bool{}, 0
	for rule := range host.Rules {
		if looked++; looked > maxCompared {
			break
		}
		for i := range rule.Chain {
			ways[wayOf(rule.Chain[:i+1])] = true
		}
	}
	return ways
}

// report returns the near miss for the report.
func (m delegationMiss) report() NearMissReport {
	last := m.Chain[len(m.Chain)-1]
	at := hopAt(last.Route, last.Rule, last.Match)
	return NearMissReport{Object: last.Route, Rule: last.Rule, Match: MatchWords(*m.Match), Reason: m.reason, At: at.MatchAt}
}

// explains reports whether a rule does not match the request for the same reason as the delegating match, which it has
// the condition from: the rule is below the match, or answers what no route below the match takes.
func (m delegationMiss) explains(miss Miss) bool {
	rule := miss.Rule
	way := wayOf(rule.Chain) + matchWay(rule.Source.Key, ruleIndex(rule), rule.Position[len(rule.Position)-1])
	return miss.Reason == m.reason && strings.HasPrefix(way, m.way)
}
