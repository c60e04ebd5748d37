package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate/ir"
)

// maxProblems bounds the problems of a Report.
const maxProblems = 20

// problems picks those that may be why the answer is not the one hoped for.
func (b *reporter) problems() {
	s := b.suspects()
	var picked []store.Problem
	rank := map[store.Problem]int{}
	for _, p := range b.facts.Problems {
		if r := s.rank(p); r > 0 {
			rank[p] = r
			picked = append(picked, p)
		}
	}
	slices.SortStableFunc(picked, func(x, y store.Problem) int {
		return cmp.Or(cmp.Compare(rank[x], rank[y]), cmp.Compare(severe(x), severe(y)))
	})
	shown := min(len(picked), maxProblems)
	b.report.Problems, b.report.MoreProblems = picked[:shown], len(picked)-shown
}

func severe(p store.Problem) int {
	if p.Severity == store.Error {
		return 0
	}
	return 1
}

// suspects are the objects whose problems count.
type suspects struct {
	rule    *ir.Rule
	winners map[store.Key]bool   // they lead to the answer
	host    map[store.Key]bool   // routes of the same virtual host
	rules   map[store.Field]bool // rules that won, led there or came near
	serving map[store.Key]bool   // routes that serve anywhere
	// unheard tells that nothing listens there: only Gateways and broken files can be why.
	unheard bool
	// lost tells that nothing answers: then broken files are suspects, too.
	lost bool
	// broken tells that a back end is missing.
	broken bool
}

// rank orders problems by how likely they explain the answer; 0 is not at all.
func (s *suspects) rank(p store.Problem) int {
	isRoute := strings.HasSuffix(p.Object.Kind, "Route")
	switch {
	case s.unheard && p.Object.Kind == "Gateway":
		return 1
	case s.unheard && !p.Object.IsZero():
		return 0
	case s.rule != nil && ofRule(p, s.rule):
		return 1
	case s.serving[p.Object] && !s.concerned(p):
		return 0
	case s.winners[p.Object]:
		return 2
	case s.host[p.Object]:
		return 3
	case isRoute && !s.serving[p.Object] && (p.Severity == store.Error || s.lost || s.broken):
		return 4
	case s.broken && (p.Object.Kind == "Service" || p.Object.Kind == "Backend"):
		return 4
	case s.lost && p.Object.IsZero() && p.Severity == store.Error:
		return 5
	}
	return 0
}

// concerned tells whether a problem of a route that serves may have to do with
// the answer: it is about a rule that came near, about a match that may be left
// out, or about the whole route.
func (s *suspects) concerned(p store.Problem) bool {
	i := strings.IndexByte(p.Field, ']')
	return !strings.HasPrefix(p.Field, "spec.rules[") || i < 0 ||
		strings.HasPrefix(p.Field[i+1:], ".matches") || s.rules[store.Field{Object: p.Object, Path: p.Field[:i+1]}]
}

func (b *reporter) suspects() *suspects {
	s := &suspects{
		rule: b.answer.Rule, winners: map[store.Key]bool{}, host: map[store.Key]bool{},
		rules: map[store.Field]bool{}, serving: b.serving(), lost: b.answer.Rule == nil, unheard: b.report.Outcome == NoListener, broken: b.report.Outcome == Responded,
	}
	for _, source := range b.report.sources() {
		s.winners[source.Object] = true
	}
	for _, backend := range b.report.Backends {
		s.broken = s.broken || backend.Cluster == ""
	}
	for _, refused := range b.report.Refused {
		delete(s.winners, refused.Object)
		s.host[refused.Object] = true
	}
	for _, lost := range b.report.Lost {
		delete(s.winners, lost.Object)
		s.host[lost.Object] = true
		s.rules[store.Field{Object: lost.Object, Path: fmt.Sprintf("spec.rules[%d]", lost.Rule)}] = true
	}
	if b.report.Route != nil {
		for _, hop := range b.report.Route.Hops {
			s.winners[hop.Object] = true
			s.rules[store.Field{Object: hop.Object, Path: hop.RuleAt.Field}] = true
		}
	}
	if _, host, _ := pick(b.facts.View, b.query); host != nil {
		for rule := range host.Rules {
			s.host[rule.Source.Key] = true
		}
	}
	return s
}

// serving are the routes that have a rule in any table.
func (b *reporter) serving() map[store.Key]bool {
	serving := map[store.Key]bool{}
	for _, gateway := range b.facts.View.Gateways {
		for _, port := range gateway.Ports {
			for _, host := range port.Hosts {
				for rule := range host.Rules {
					serving[rule.Source.Key] = true
					for _, hop := range rule.Chain {
						serving[hop.Route] = true
					}
				}
			}
		}
	}
	return serving
}
