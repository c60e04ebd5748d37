package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// actionComparison finds how the actions of two rules differ. It also finds the places of these differences in the
// user's files.
type actionComparison struct {
	effects  effectPair
	backends *backendComparison
	objects  *objectChanges
}

// reasons returns how the actions of two rules with the same match differ. It returns at least one Reason.
func (c *actionComparison) reasons(p pair) (out []Reason) {
	a, b := &p.before.rule.Action, &p.after.rule.Action
	out = append(out, c.targets(p)...)
	before, after := a.PartValues(), b.PartValues()
	// A rule that an invalid policy makes answer 500 has no parts. The missing parts are not reported as removed.
	if a.ClosedBy() != b.ClosedBy() {
		before = nil
	}
	for i := range before {
		if c.effects.same(before[i].Value, after[i].Value) {
			continue
		}
		kind := before[i].Kind
		text := joined(fmt.Sprintf("%s: %s", kind, change(partWords(kind, a), partWords(kind, b))), details(kind, a, b))
		out = append(out, Reason{text, append(partPlaces(kind, b, false), partPlaces(kind, a, true)...)})
	}
	for i := range out {
		out[i].At = currentFirst(out[i].At)
	}
	if len(out) == 0 {
		out = []Reason{{"the rule does something else", []Place{placeOfRule(p.after, false)}}}
	}
	return out
}

// targets returns how the backends of two rules differ, or how their answers without a backend differ. It
// returns nil if there is no difference.
func (c *actionComparison) targets(p pair) (out []Reason) {
	a, b := &p.before.rule.Action, &p.after.rule.Action
	place := []Place{placeOfRule(p.after, false)}
	x, y := answers(p.before.rule), answers(p.after.rule)
	if x != y {
		return []Reason{{fmt.Sprintf("%s; before: %s%s", y, x, c.lostBackends(a)), c.targetPlaces(p)}}
	}
	if a.Forward == nil || b.Forward == nil {
		return nil
	}
	for i := range min(len(a.Forward.Backends), len(b.Forward.Backends)) {
		one, other := a.Forward.Backends[i], b.Forward.Backends[i]
		if !c.effects.sameCluster(one.Cluster, other.Cluster) {
			out = append(out, c.backends.reasons(one.Cluster, place)...)
		}
		one.Cluster, other.Cluster = "", ""
		if !c.effects.same(one, other) {
			at := explain.Source{Object: p.after.rule.Source.Key, Field: other.Field}
			out = append(out, Reason{"filters of the backend reference differ", []Place{{Source: at}}})
		}
	}
	return out
}

// lostBackends returns, in words, the errors because of which backends of an old action are missing now. The text begins
// with "; ". It is "" if no backend is missing for that reason.
func (c *actionComparison) lostBackends(a *ir.Action) (words string) {
	if a.Forward == nil {
		return ""
	}
	for _, backend := range a.Forward.Backends {
		cluster := c.backends.clusters[0][backend.Cluster]
		if cluster == nil || c.backends.clusters[1][backend.Cluster] != nil {
			continue
		}
		for _, key := range cluster.Objects {
			words += c.objects.errorWords("; ", key)
		}
	}
	return words
}

// targetPlaces returns the places to blame for a changed answer of a rule. It returns the first of these that
// exist: the fields that make the rule fail closed; the removed backends; the changed items of
// backendRefs; the rule itself if it is a redirect; the rule's whole field backendRefs.
func (c *actionComparison) targetPlaces(p pair) (out []Place) {
	a, b := &p.before.rule.Action, &p.after.rule.Action
	source := p.after.rule.Source.Key
	if b.ClosedBy() != "" {
		return partPlaces(ir.PartClosed, b, false)
	}
	if out = c.goneBackends(p); len(out) > 0 {
		return out
	}
	if b.Forward == nil || a.Forward == nil {
		if b.Redirect == nil {
			return []Place{{Source: references(p.after)}}
		}
		return []Place{placeOfRule(p.after, false)}
	}
	before := a.Forward.Backends
	for i, to := range b.Forward.Backends {
		if to.Field != "" && (i >= len(before) || before[i].Cluster != to.Cluster || before[i].Weight != to.Weight) {
			out = append(out, Place{Source: explain.Source{Object: source, Field: to.Field}})
		}
	}
	if len(out) == 0 {
		return []Place{{Source: references(p.after)}}
	}
	return out
}

// references returns the field backendRefs of an entry's rule.
func references(e *entry) explain.Source {
	rule := ruleOf(e)
	return explain.Source{Object: rule.Object, Field: fmt.Sprintf("spec.rules[%d].backendRefs", rule.Rule)}
}

// goneBackends finds the backends (Services and Backends) that the old rule uses (p.before), and that the new
// configuration does not have. It leaves out a backend that the new rule (p.after) still uses. It returns one place
// for each backend:
//   - If the backend is missing because its definition has an error, the place is in the new configuration.
//   - Otherwise the backend was deleted, and the place is in the old configuration.
//
// If there are no such backends, the result is nil.
func (c *actionComparison) goneBackends(p pair) (out []Place) {
	a, b := p.before.rule.Action.Forward, p.after.rule.Action.Forward
	if a == nil {
		return nil
	}
	for _, from := range a.Backends {
		cluster := c.backends.clusters[0][from.Cluster]
		kept := b != nil && slices.ContainsFunc(b.Backends, func(to ir.Backend) bool { return to.Cluster == from.Cluster })
		if cluster == nil || kept || len(cluster.Objects) == 0 || c.objects.kinds[cluster.Objects[0]] != Removed {
			continue
		}
		object := cluster.Objects[0]
		out = append(out, Place{Source: explain.Source{Object: object}, Before: c.objects.mistakeOf(object) == ""})
	}
	return out
}

// answers returns, in words, the backends of a rule with their weights. For a rule without backends it returns
// what Envoy answers.
func answers(rule *ir.Rule) string {
	a := &rule.Action
	switch {
	case a.Respond != nil && a.Respond.Status == rule.Match.Path.Unresolved():
		return strings.TrimSuffix(fmt.Sprintf("the rule answers %s: %s", rule.Match.Path.UnresolvedWords(), a.Respond.Why), ": ")
	case a.Respond != nil:
		return strings.TrimSuffix(fmt.Sprintf("the rule answers %d: %s", a.Respond.Status, a.Respond.Why), ": ")
	case a.Redirect != nil:
		return "the rule redirects"
	case a.Forward == nil:
		return "the rule has no backend"
	}
	var all []string
	for _, b := range a.Forward.Backends {
		name := cmp.Or(b.Cluster, "a reference that is not resolved")
		if len(a.Forward.Backends) > 1 || b.Weight != 1 {
			name = fmt.Sprintf("%s (weight %d)", name, b.Weight)
		}
		all = append(all, name)
	}
	return "the backends are " + cmp.Or(strings.Join(all, ", "), "none")
}
