package explain

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
)

// maxProblems bounds the problems of a Report.
const maxProblems = 20

// The ranks of problems by their effect on the answer. Problems with a lower rank are listed first.
const (
	unrelated   = 0 // about something that has no effect on the answer: not listed
	ofTheRule   = 1 // about the rule that answers, or about a delegating rule above it
	ofTheWay    = 2 // about another object that leads to the answer
	mentioned   = 3 // about an object that the message of a listed problem names
	overlapping = 4 // about a rule that might have matched the request
	unreadable  = 5 // about a file that cannot be read, and may contain a rule for the request
	ofTheHost   = 9 // about a route of the same virtual host: counted, not listed
)

// suspect is a problem that may explain the answer. Problems with a lower rank are listed first.
type suspect struct {
	*manifest.Problem
	rank int
	fit  int // how much of the path an overlapping rule covers
}

// compareSuspects sorts problems: the lower rank first, then the greater fit, then errors before other
// problems.
func compareSuspects(a, b suspect) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.fit, a.fit), cmp.Compare(severe(a), severe(b)))
}

// severe returns 0 for an error and 1 for other problems.
func severe(p suspect) int {
	if p.Severity == manifest.Error {
		return 0
	}
	return 1
}

// problems adds to the report the problems that may explain the answer, in the order of their ranks. It adds at most
// maxProblems, and counts the further problems in MoreProblems. Problems of the rank ofTheHost are never added: they
// are only counted in MoreProblems.
func (b *requestReporter) problems() {
	s := b.suspects()
	var listed []suspect
	var rest []*manifest.Problem
	for i := range b.facts.Problems {
		p := &b.facts.Problems[i]
		rank, fit := s.rank(p)
		switch rank {
		case unrelated:
			rest = append(rest, p)
		case ofTheHost:
			b.report.MoreProblems++
		default:
			listed = append(listed, suspect{p, rank, fit})
		}
	}
	listed = append(listed, mentions(listed, rest)...)
	slices.SortStableFunc(listed, compareSuspects)
	for i, p := range listed {
		if i == maxProblems {
			b.report.MoreProblems += len(listed) - i
			break
		}
		b.report.Problems = append(b.report.Problems, *p.Problem)
	}
}

// mentions returns those problems of the parameter rest whose object is named in the message of a listed problem.
// The parameter rest has problems that are not listed. For example, a listed problem says that a backend does not
// exist. An error in the document of that backend is then of interest, too. mentions searches the first
// maxProblems listed problems.
func mentions(listed []suspect, rest []*manifest.Problem) (out []suspect) {
	var text strings.Builder
	for _, p := range listed[:min(len(listed), maxProblems)] {
		text.WriteString(p.Message + " \n")
	}
	said := text.String()
	for _, p := range rest {
		if p.Object.IsZero() || !strings.Contains(said, p.Object.Name) {
			continue
		}
		if name := p.Object.String(); strings.Contains(said, name+" ") || strings.Contains(said, name+":") {
			out = append(out, suspect{p, mentioned, 0})
		}
	}
	return out
}

// suspects decides which problems may explain the answer to a request (see rank). It has the objects and rules
// that lead to the answer, and the rules that might have matched the request.
type suspects struct {
	rule  *ir.Rule
	way   map[manifest.Key]bool // objects that lead to the answer
	rules map[ruleAt]bool       // rules that lead to the answer
	near  map[ruleAt]bool       // rules that do not match, but whose path does
	*overlaps
	// least is the smallest fit with which another rule might have answered instead of the rule that answers. A fit
	// is how much of the request's path a rule covers (see overlaps.fit). If the rule that answers has a path prefix,
	// and forwards or redirects, least is the fit of this prefix, because a rule with a shorter path loses against
	// it. In all other cases least is 1, so any path that matches is enough.
	least int
	// unheard is true if no listener accepts the request. Only Gateways and invalid files can be the cause.
	unheard bool
	// lost is true if no rule answers. Files that cannot be read may then be the cause, too.
	lost bool
}

// ruleAt names a rule of a route. The index counts from 0.
type ruleAt struct {
	route manifest.Key
	index int
}

// suspects returns the facts about this request by which problems are ranked (see the type suspects). If a listener
// accepts the request, the method suspects also reads the documents of the routes that have a problem, at most
// maxOutlined (see overlaps.read).
func (b *requestReporter) suspects() *suspects {
	s := &suspects{
		rule: b.answer.Rule, way: b.way(), rules: map[ruleAt]bool{}, near: map[ruleAt]bool{}, overlaps: b.overlaps(),
		unheard: b.report.Outcome == NoListener, lost: b.answer.Rule == nil, least: 1,
	}
	if s.rule != nil && s.rule.Action.Respond == nil && s.rule.Match.Path.Kind == ir.PathPrefix {
		s.least = len(strings.TrimSuffix(s.rule.Match.Path.Value, "/")) + 1
	}
	if b.report.Route != nil {
		for _, hop := range b.report.Route.Hops {
			s.leads(hop.Object, hop.RuleAt.Field)
		}
	}
	if b.report.Delegation != nil {
		s.way[b.report.Delegation.Object] = true
		s.leads(b.report.Delegation.Object, b.report.Delegation.At.Field)
	}
	for _, miss := range b.answer.Considered {
		s.near[ruleAt{miss.Rule.Source.Key, ruleIndex(miss.Rule)}] = true
	}
	if !s.unheard {
		s.read(routesOf(b.facts.Problems), b.facts.Outlines)
	}
	return s
}

// leads notes that a rule of a route leads to the answer. The parameters are the route, and a field in the rule.
// leads does nothing if the field is not in a rule.
func (s *suspects) leads(object manifest.Key, field string) {
	if index, _ := ruleField(field); index >= 0 {
		s.rules[ruleAt{object, index}] = true
	}
}

// routesOf returns the routes that have problems, in the order of the problems. Problems of one route that follow
// each other add the route only once.
func routesOf(problems []manifest.Problem) (routes []manifest.Key) {
	var last manifest.Key
	for i := range problems {
		object := problems[i].Object
		if object == last {
			continue
		}
		if last = object; route.IsRoute(object) {
			routes = append(routes, object)
		}
	}
	return routes
}

// way returns the objects that lead to the answer: the Gateway, and the objects of Report.way, such as routes,
// policies and backends. It also returns the objects from which the clusters of the rule's external services are
// made, for example the Service of an authorization service.
func (b *requestReporter) way() map[manifest.Key]bool {
	way := map[manifest.Key]bool{}
	for _, source := range b.report.way() {
		way[source.Object] = true
	}
	if b.report.Listener != nil {
		way[ir.GatewayKey(b.report.Listener.Gateway)] = true
	}
	if b.answer.Rule != nil { // the external services of policies
		for _, use := range extrasInForce(&b.answer.Rule.Action).Extensions() {
			for _, name := range use.Extension.Clusters() {
				if cluster := b.facts.View.Clusters[name]; cluster != nil {
					for _, object := range cluster.Objects {
						way[object] = true
					}
				}
			}
		}
	}
	return way
}

// overlaps returns the value that finds the routes that might match this request by host and path (see the type
// overlaps). The first call makes the value, with the request's path and host, and with the routes that have rules
// in the request's virtual host. Every later call returns the same value.
func (b *requestReporter) overlaps() *overlaps {
	if b.over != nil {
		return b.over
	}
	b.over = &overlaps{
		path: b.answer.Path, host: hostname(b.query.Host), routes: map[manifest.Key]bool{}, outlines: map[manifest.Key]outline{}, fits: map[matchAt]int{},
	}
	if b.answer.Port != nil {
		b.over.gateway = b.answer.Port.Gateway
	}
	if _, host, _ := pick(b.facts.View, b.query); host != nil {
		for rule := range host.Rules {
			b.over.routes[rule.Source.Key] = true
			for _, hop := range rule.Chain {
				b.over.routes[hop.Route] = true
			}
		}
	}
	return b.over
}

// rank returns the rank of a problem, which says how the problem may have caused the answer. The ranks are constants
// in this file: the first is unrelated, and the last is ofTheHost. The result fit says how much of the request's path
// the problem's rule covers (see overlaps.fit). It is 0 for every rank except the rank overlapping.
func (s *suspects) rank(p *manifest.Problem) (rank, fit int) {
	switch {
	case p.Object.IsZero():
		if (s.lost || s.unheard) && p.Severity == manifest.Error {
			return unreadable, 0
		}
		return unrelated, 0
	case s.unheard && p.Object.Kind == "Gateway":
		return ofTheRule, 0
	case s.unheard:
		return unrelated, 0
	case s.rule != nil && ofRule(p, s.rule):
		return ofTheRule, 0
	case route.IsRoute(p.Object):
		return s.rankRoute(p)
	case s.way[p.Object]:
		return ofTheWay, 0
	}
	return unrelated, 0
}

// rankRoute returns the rank of a problem of a route, and the fit of the rule that has the problem (see rank). The
// first of these cases that applies decides:
//   - ofTheRule: the problem is about a rule that leads to the answer.
//   - ofTheWay: the problem is about no single rule, and the route leads to the answer. Or no rule answers, and the problem
//     is about the hostnames of a route that may serve the request's host.
//   - overlapping: the rule that has the problem might have matched the request. If the problem is about no single
//     rule, any rule of the route counts.
//   - ofTheHost: another rule of the route leads to the answer, or the route may serve the request's host.
//   - unrelated: all other problems.
func (s *suspects) rankRoute(p *manifest.Problem) (rank, fit int) {
	index, match := ruleField(p.Field)
	at := ruleAt{p.Object, index}
	fit = s.fit(p.Object, index, match)
	switch {
	case s.rules[at]:
		return ofTheRule, 0
	case s.way[p.Object] && index < 0, s.lost && strings.HasPrefix(p.Field, "spec.hostnames") && s.underHost(p.Object):
		return ofTheWay, 0
	case s.near[at], fit >= s.least && s.underHost(p.Object):
		return overlapping, fit
	case s.way[p.Object], s.underHost(p.Object):
		return ofTheHost, 0
	}
	return unrelated, 0
}

// ruleField returns the rule and the match that contain a field of a route. Both count from 0. If the field is not
// in a rule, index and match are -1. If the field is in a rule but not in a match, match is -1.
func ruleField(field string) (index, match int) {
	index, rest := indexAfter(field, "spec.rules[")
	if index < 0 {
		return -1, -1
	}
	match, _ = indexAfter(rest, ".matches[")
	return index, match
}

// indexAfter returns the index after a prefix, and the text after the bracket that ends the index. For example,
// these are 3 and ".name" for the prefix "rules[" and the text "rules[3].name". If the text has another form,
// index is -1.
func indexAfter(text, prefix string) (index int, rest string) {
	text, ok := strings.CutPrefix(text, prefix)
	digits, rest, closed := strings.Cut(text, "]")
	index, err := strconv.Atoi(digits)
	if !ok || !closed || err != nil {
		return -1, ""
	}
	return index, rest
}
