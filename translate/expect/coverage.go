package expect

import (
	"cmp"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// CoverageReport says how many of the served rules are tested. A rule is tested if at least one line in the test
// files has a request or connection that reaches the rule. A rule of a route counts once, even if it serves several
// hosts and listeners. A TCPRoute, TLSRoute or UDPRoute counts as one rule.
type CoverageReport struct {
	Rules   int `json:"rules"`
	Reached int `json:"reached"`
	// Percent is the share of the rules that lines reach. It is 100 if there are no rules.
	Percent float64 `json:"percent"`
	// Unreached are the rules that no line reaches, sorted by place.
	Unreached []explain.Source `json:"unreached,omitempty"`
}

// coverage counts the rules of a View, and those of them that lines of the test files reach (the parameter reached).
// The field Unreached of the result has the other rules. They are not sorted, and have no file and line yet.
func coverage(view *ir.View, reached map[manifest.Field]bool) (out CoverageReport) {
	all := rulesOf(view)
	out.Rules, out.Percent = len(all), 100
	for rule := range all {
		if reached[rule] {
			out.Reached++
		} else {
			out.Unreached = append(out.Unreached, explain.Source{Object: rule.Object, Field: rule.Path})
		}
	}
	if out.Rules > 0 {
		out.Percent = 100 * float64(out.Reached) / float64(out.Rules)
	}
	return out
}

// rulesOf returns the rules of all routes that serve hosts or connections, also those that only delegate to
// other routes.
func rulesOf(view *ir.View) map[manifest.Field]bool {
	all := map[manifest.Field]bool{}
	for _, gateway := range view.Gateways {
		for _, port := range gateway.Ports {
			for _, stream := range port.Port.Streams {
				for _, field := range reachedBy(&stream) {
					all[field] = true
				}
			}
			for _, host := range port.Hosts {
				for rule := range host.Rules {
					for _, field := range reached(rule) {
						all[field] = true
					}
				}
			}
		}
	}
	return all
}

// reachedBy returns a list with one element: the rule of the route that serves an ir.Stream. It returns nil if stream
// is nil, or if no route serves the ir.Stream.
func reachedBy(stream *ir.Stream) []manifest.Field {
	if stream == nil || stream.Route == nil {
		return nil
	}
	return []manifest.Field{ruleField(stream.Route.Origin.Key, 0)}
}

// sortSources sorts sources by file and line, and then by object and field.
func sortSources(sources []explain.Source) {
	slices.SortFunc(sources, func(a, b explain.Source) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), manifest.CompareKeys(a.Object, b.Object), cmp.Compare(a.Field, b.Field))
	})
}
