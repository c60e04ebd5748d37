package explain

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/status"
)

// Facts are what a Report is made of beside the question.
type Facts struct {
	View *ir.View
	// Problems are all that there are, with their places.
	Problems []manifest.Problem
	// Statuses are those of all objects, sorted by key.
	Statuses []status.Update
	// Places finds where fields are written, as store.Store.Places does; nil
	// leaves the places out.
	Places func([]manifest.Field) []store.Place
	// Stale are the objects whose last valid version is served.
	Stale map[manifest.Key]store.Stale
	// Outlines reads what routes ask for, as store.Store.Outlines does; nil leaves out
	// what is known from it.
	Outlines func([]manifest.Key) []store.Outline
	// Labels returns the labels of objects, as store.Store.Labels does; nil leaves out the
	// policies that select an object by labels.
	Labels func([]manifest.Key) []map[string]string
}

// Explain reports what happens to a request. An error says that the question has
// no answer: it names a Gateway that does not serve, or fits several.
func Explain(f Facts, q Query) (*Report, error) {
	q = complete(q)
	if err := q.checkGateway(f.View); err != nil {
		return nil, err
	}
	if q.ForConnection() {
		return explainConnection(f, q)
	}
	a := Request(f.View, q)
	if len(a.Candidates) > 0 {
		return nil, fmt.Errorf("several Gateways listen on port %d for %s; choose one: --gateway %s",
			q.Port, hostname(q.Host), strings.Join(a.Candidates, " or --gateway "))
	}
	if a.Costly {
		return nil, fmt.Errorf("the question costs too much: the rules of %s have many regular expressions, and path or headers are long; ask with shorter ones", a.Domain)
	}
	b := &reporter{facts: f, query: q, answer: a, report: &Report{
		Request: RequestReport{Method: q.Method, URL: q.URL(), Headers: q.Headers},
		Status:  a.Outcome.Status, Location: a.Outcome.Location, Caveats: a.Outcome.Unless, NotMatched: a.Passed,
	}}
	b.report.GRPCStatus = grpcWords(a.Outcome.GRPC, a.Outcome.Status)
	b.listener()
	b.route()
	b.backends()
	b.policies()
	b.lost()
	b.notAccepted()
	b.bounded()
	b.outcome()
	b.problems()
	if f.Places != nil {
		b.report.locate(f.Places)
	}
	b.placePolicies()
	return b.report, nil
}

// grpcWords returns the gRPC status that a client of gRPC gets for a status, "" for other
// clients.
func grpcWords(byGRPC bool, status uint32) string {
	if !byGRPC {
		return ""
	}
	code, name := GRPCStatus(status)
	return fmt.Sprintf("%d %s", code, name)
}

func (q Query) checkGateway(view *ir.View) error {
	var names []string
	for _, g := range view.Gateways {
		if g.Name == q.Gateway {
			return nil
		}
		names = append(names, g.Name)
	}
	switch {
	case q.Gateway == "":
		return nil
	case len(names) == 0:
		return fmt.Errorf("no Gateway %q serves; none does", q.Gateway)
	}
	return fmt.Errorf("no Gateway %q serves; those that do: %s", q.Gateway, strings.Join(nearest(q.Gateway, names), ", "))
}

// reporter builds one Report.
type reporter struct {
	facts  Facts
	query  Query
	answer Answer
	report *Report
	over   *overlaps // nil until it is asked for
	named  map[policyAt]bool
	// unserved is where the policies of kinds that gatefold does not serve are written.
	unserved map[manifest.Key]store.Place
}

func (b *reporter) listener() {
	port := b.answer.Port
	if port == nil {
		return
	}
	l := &ListenerReport{
		Gateway: port.Gateway, Port: port.Port, Envoy: port.Name, At: Source{Object: ir.GatewayKey(port.Gateway)},
		VirtualHost: b.answer.Domain, Path: b.answer.Path,
	}
	asked, _, _ := strings.Cut(b.query.Path, "?")
	l.Normalized = asked != l.Path
	if own, ok := listenerOf(port.Listeners, hostname(b.query.Host)); ok {
		l.Name, l.At = own.Name, Source{Object: own.Object, Field: listenerField(own)}
	}
	l.Certificates = b.certificates()
	b.report.Listener = l
}

func listenerField(l ir.Listener) string { return fmt.Sprintf("spec.listeners[%d]", l.Index) }

// listenerOf returns the listener with the most specific hostname that covers host
// (Gateway API, Listener.hostname). The only listener of a port is returned for any host.
func listenerOf(all []ir.Listener, host string) (best ir.Listener, found bool) {
	for _, l := range all {
		if covers(l.Hostname, host) && (!found || moreSpecific(l.Hostname, best.Hostname)) {
			best, found = l, true
		}
	}
	if !found && len(all) == 1 {
		return all[0], true
	}
	return best, found
}

func covers(pattern, host string) bool {
	suffix, wild := strings.CutPrefix(pattern, "*")
	return pattern == "" || pattern == host || wild && strings.HasSuffix(host, suffix)
}

func moreSpecific(a, b string) bool {
	wildA, wildB := strings.HasPrefix(a, "*"), strings.HasPrefix(b, "*")
	return b == "" && a != "" || a != "" && (wildB && !wildA || wildA == wildB && len(a) > len(b))
}

func (b *reporter) route() {
	rule := b.answer.Rule
	if rule == nil {
		return
	}
	b.report.Route = &RouteReport{
		Name: rule.Name, Match: matchWords(rule.Match), Weight: rule.Weight, Guard: rule.Guard, Hops: hops(rule),
	}
	byKind := map[string]int{}
	for _, part := range rule.Action.Parts {
		i, known := byKind[part.Kind]
		if !known {
			i = len(b.report.Actions)
			byKind[part.Kind] = i
			b.report.Actions = append(b.report.Actions, ActionReport{Type: part.Kind, Does: actionWords(part, &rule.Action) + b.unreachableWords(part.Kind)})
		}
		action := &b.report.Actions[i]
		action.From = append(action.From, Source{Object: part.Object, Field: part.Field})
	}
}

// unreachableWords returns why Envoy cannot ask the service of a part of the rule; "" where it
// can, or where the part needs no service.
func (b *reporter) unreachableWords(kind string) string {
	for _, use := range b.answer.Rule.Action.Extras.Extensions() {
		if reason := unreachable(b.facts.View.Clusters, use.Extension); kind == use.Field.PartKind() && reason != "" {
			return ", as now: " + reason
		}
	}
	return ""
}

// hops returns the way from the root to the rule: the chain of delegation, and the
// route that has the rule.
func hops(rule *ir.Rule) []HopReport {
	var all []HopReport
	for _, h := range rule.Chain {
		hop := hop(h.Route, h.Rule, h.Match)
		hop.By, hop.RuleName = "delegation", h.Section
		if h.Included {
			hop.By = "inclusion"
		}
		all = append(all, hop)
	}
	last := hop(rule.Source.Key, ruleIndex(rule), rule.Position[len(rule.Position)-1])
	last.RuleName = rule.Section
	return append(all, last)
}

func hop(object manifest.Key, rule, match int) HopReport {
	field := fmt.Sprintf("spec.rules[%d]", rule)
	return HopReport{
		Object: object, Rule: rule, Match: match,
		At:      Source{Object: object},
		RuleAt:  Source{Object: object, Field: field},
		MatchAt: Source{Object: object, Field: fmt.Sprintf("%s.matches[%d]", field, match)},
	}
}

// ruleIndex is the index of the rule in its own object.
func ruleIndex(rule *ir.Rule) int { return rule.Position[len(rule.Position)-2] }

func (b *reporter) backends() {
	for _, target := range b.answer.Outcome.Backends {
		out := BackendReport{
			Cluster: target.Cluster, Status: target.Status, Weight: target.Target.Weight, Percent: target.Percent,
			GRPCStatus: grpcWords(target.GRPC, target.Status),
			At:         Source{Object: b.answer.Rule.Source.Key, Field: target.Target.Field},
		}
		if target.Cluster == "" {
			out.Reason = b.messages(func(p manifest.Problem) bool { return concerns(p, out.At.Object, out.At.Field) })
		} else if target.Status == 0 {
			out.Receives = &ReceivesReport{
				Method: b.query.Method, Host: target.Host, Path: b.answer.Outcome.Path, Headers: target.Headers,
			}
		}
		if cluster := b.facts.View.Clusters[target.Cluster]; cluster != nil {
			out.addCluster(cluster)
		}
		if target.Cluster != "" && target.Status != 0 {
			out.Closed = cmp.Or(out.Closed, "it has no endpoint")
		}
		b.report.Backends = append(b.report.Backends, out)
	}
}

func endpoints(cluster *ir.Cluster) []string {
	var all []string
	for _, e := range cluster.Endpoints {
		address := net.JoinHostPort(e.Host, strconv.FormatUint(uint64(e.Port), 10))
		if e.Draining {
			address += " (draining)"
		}
		all = append(all, address)
	}
	return all
}

func (b *reporter) lost() {
	for _, miss := range b.answer.Considered {
		b.addLost(miss.Rule, miss.Reason)
	}
	for _, rule := range b.answer.Behind {
		b.addLost(rule, "lower precedence: "+route.Why(b.answer.Rule, rule))
	}
}

func (b *reporter) addLost(rule *ir.Rule, reason string) {
	hops := hops(rule)
	last := hops[len(hops)-1]
	b.report.NearMisses = append(b.report.NearMisses, NearMissReport{
		Object: last.Object, Rule: last.Rule, Match: matchWords(rule.Match), Reason: reason, At: last.MatchAt,
	})
}

// outcome sets what is done, and why when no backend answers.
func (b *reporter) outcome() {
	rule := b.answer.Rule
	switch {
	case b.answer.Port == nil:
		b.report.Outcome = NoListener
		b.noListener()
	case b.answer.Outcome.Refused:
		b.report.Outcome = Rejected
		b.report.Reason = b.answer.Outcome.Why
	case rule == nil:
		b.report.Outcome = NotFound
		b.notFound()
	case b.answer.Outcome.Policed:
		b.report.Outcome = Responded
		b.report.Reason = b.answer.Outcome.Why
	case rule.Action.Redirect != nil:
		b.report.Outcome = Redirected
	case len(b.report.Backends) > 0 && b.report.Status == 0:
		b.report.Outcome = Forwarded
	case len(b.report.Backends) > 0:
		b.report.Outcome = Responded
		b.report.Reason = unservedWords(b.report.Backends)
	default:
		b.report.Outcome = Responded
		b.report.Reason = b.whyResponds(rule)
	}
}

// whyResponds returns the reason of a rule that answers by itself: from what closed the rule,
// from its problems, or from those of the delegating rules above it.
func (b *reporter) whyResponds(rule *ir.Rule) string {
	if reason := b.closed(); reason != "" {
		return reason
	}
	messages := b.messages(func(p manifest.Problem) bool { return ofRule(p, rule) })
	switch {
	case b.answer.Outcome.Why != "":
		return b.answer.Outcome.Why
	case messages != "":
		return messages
	case rule.Guard:
		return "the rule delegates to other routes, and none of them matches the request"
	}
	for _, hop := range b.report.Route.Hops {
		messages := b.messages(func(p manifest.Problem) bool {
			return p.Code == string(gwv1.RouteReasonUnsupportedValue) && p.Object == hop.Object && strings.HasPrefix(p.Field, hop.RuleAt.Field+".filters[")
		})
		if messages != "" {
			return hop.rule() + " closes all below it: " + messages
		}
	}
	return fmt.Sprintf("the rule answers %d by itself", b.report.Status)
}

// closed returns what closes the rule that answers: a policy that is missing, or one that
// cannot be used. It names the rule where that is a delegating one.
func (b *reporter) closed() string {
	for i := range b.report.Actions {
		action := &b.report.Actions[i]
		if action.Type != ir.PartClosed {
			continue
		}
		at := action.From[0]
		messages := b.messages(func(p manifest.Problem) bool { return p.Object == at.Object && p.Field == at.Field })
		action.Does = cmp.Or(messages, b.answer.Outcome.Why)
		reason := action.Does
		if _, isRoute := route.KindOf(at.Object); !isRoute {
			reason = cmp.Or(b.answer.Outcome.Why, at.Object.String()+": "+reason)
		}
		hops := b.report.Route.Hops
		for _, hop := range hops[:len(hops)-1] {
			if last := action.From[len(action.From)-1]; hop.Object == last.Object && hop.RuleAt.Field == last.Field {
				return hop.rule() + ": " + reason
			}
		}
		return reason
	}
	return ""
}

// rule names the hop's rule in words.
func (h *HopReport) rule() string {
	if h.RuleName != "" {
		return fmt.Sprintf("%s, rule %d (%s)", h.Object, h.Rule, h.RuleName)
	}
	return fmt.Sprintf("%s, rule %d", h.Object, h.Rule)
}

// messages joins the messages of the problems for which of is true.
func (b *reporter) messages(of func(manifest.Problem) bool) string {
	var messages []string
	for _, p := range b.facts.Problems {
		if of(p) && !slices.Contains(messages, p.Message) {
			messages = append(messages, p.Message)
		}
	}
	return strings.Join(messages, "; ")
}

// ofRule reports whether a problem is about the rule that holds an ir.Rule.
func ofRule(p manifest.Problem, rule *ir.Rule) bool {
	return concerns(p, rule.Source.Key, fmt.Sprintf("spec.rules[%d]", ruleIndex(rule)))
}

// concerns reports whether a problem is about a field of an object, or about a field inside it.
func concerns(p manifest.Problem, object manifest.Key, field string) bool {
	rest, inside := strings.CutPrefix(p.Field, field)
	return p.Object == object && inside && (rest == "" || rest[0] == '.')
}
