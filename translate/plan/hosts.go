package plan

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// hostPair is a class of hosts of a port, with the tables for these hosts before and after.
type hostPair struct {
	*portPair
	// named is the hostname or wildcard of the class, and host is a member of the class. sni is the server name in
	// the TLS handshake. It equals host if the server name host selects the filter chains of the class.
	named, host, sni string
	views            [2]*ir.HostView
	tables           [2]*table
	indexes          [2]*index
}

// fill builds the tables and indexes from the views.
func (h *hostPair) fill() {
	for side := range h.views {
		h.tables[side] = newTable(h.views[side], h.host, h.effects[side])
		h.indexes[side] = newIndex(h.tables[side])
	}
}

// compare reports the requests to the hosts of h that change, or may change.
func (h *hostPair) compare() {
	h.tables = [2]*table{newTable(h.views[0], h.host, h.effects[0]), newTable(h.views[1], h.host, h.effects[1])}
	differences := h.context()
	defer h.addUnasked()
	changed := align(h.tables[0], h.tables[1], len(differences) > 0)
	if len(h.tables[0].entries) == 0 && len(h.tables[1].entries) == 0 {
		h.withoutRules()
		return
	}
	if !changed {
		return
	}
	for side := range h.indexes {
		h.indexes[side] = newIndex(h.tables[side])
	}
	h.budget.host = maxHostSteps
	all, open, whole := h.pairsOf(h.tables[0], h.tables[1], len(differences) > 0)
	if !whole {
		h.undecided(pair{}, "other requests: there are too many combinations of rules to try", "")
	}
	for _, one := range all {
		if h.budget.ctx.Err() != nil {
			return
		}
		h.add(one.pair, one.request, one.words(), append(h.reasons(one.pair), differences...))
	}
	for _, one := range open {
		h.undecided(one.pair, one.words(), one.why)
	}
}

// undecided adds requests without an example to Report.Undecided. The same requests are added once for each
// rule that may match.
func (h *hostPair) undecided(p pair, match, why string) {
	region := h.region(p, match)
	region.Why = why
	taker := cmp.Or(region.After.Envoy(), region.Before.Envoy())
	if key := fmt.Sprintf("%v %q %q %q %q", h.key, h.named, match, why, taker); !h.unclear[key] {
		h.unclear[key] = true
		h.report.Undecided = append(h.report.Undecided, region)
	}
}

// addUnasked reports rules that answer an error on both sides because of a missing discovery document. A rule
// is reported only if the object of its policy, or any GatewayExtension, changed.
func (h *hostPair) addUnasked() {
	for _, e := range h.tables[0].entries {
		if e.changed || e.twin == nil || unaskedBy(e.rule) == "" || unaskedBy(e.twin.rule) == "" {
			continue
		}
		extension := false
		for key := range h.objectKinds() {
			extension = extension || key.Kind == api.KindGatewayExtension
		}
		parts := e.twin.rule.Action.Parts
		if _, changed := h.objectKinds()[parts[0].Object]; changed || extension {
			h.undecided(pair{e, e.twin}, (pair{e, e.twin}).words(), "the issuer "+unaskedBy(e.twin.rule)+" was not asked: only `gatefold serve` asks it")
		}
	}
}

// withoutRules compares the answers of hosts without rules: 404, 421, or no connection.
func (h *hostPair) withoutRules() {
	h.fill()
	h.add(pair{}, request{path: "/", method: "GET"}, "every request", []Reason{{Text: "the listeners of the port have other hostnames", At: h.portPlaces()}})
}

// context returns the differences that apply to all rules of the hosts.
func (h *hostPair) context() (out []Reason) {
	a, b := h.ports[0], h.ports[1]
	if x, y := a.Port.Settings, b.Port.Settings; x.ProxyProtocol != y.ProxyProtocol || x.TrustedHops != y.TrustedHops {
		out = append(out, Reason{Text: "the client's address is found otherwise (PROXY protocol or trusted hops)", At: h.portPlaces()})
	}
	if h.views[0] == nil || h.views[1] == nil {
		return out
	}
	if x, y := h.views[0].Forged, h.views[1].Forged; !slices.Equal(x, y) {
		out = append(out, Reason{Text: fmt.Sprintf("identity headers that clients may not send: %s; before: %s", orNone(y), orNone(x))})
	}
	if !slices.Equal(a.Claims, b.Claims) {
		out = append(out, Reason{Text: fmt.Sprintf("headers for claims that clients may not send: %s; before: %s", orNone(b.Claims), orNone(a.Claims))})
	}
	return out
}

// orNone returns the elements of a list as one text. It returns "none" for an empty list.
func orNone(list []string) string { return cmp.Or(strings.Join(list, ", "), "none") }

// add reports the requests of the pair p. Of the variants of the request r whose answer changes, it reports one
// with the highest result of shown. If no answer changes, it reports r under Handling, but only if p has a
// rule. If both rules of p have the same match, add also counts their changed policy fields.
func (h *hostPair) add(p pair, r request, match string, reasons []Reason) {
	if p.before != nil && p.after != nil && p.before.match == p.after.match {
		h.countPolicies(p)
	}
	region := h.region(p, match)
	region.otherRule = p.before != nil && p.after != nil && !h.sameRule(p)
	change := &Change{Regions: []Region{region}, Lost: p.lostFields(), Reasons: reasons}
	if r.headers == nil {
		r.headers = http.Header{}
	}
	most := h.mostShown(p)
	var best, plain *Change
	for _, variants := range []func(pair, request) []variant{h.variants, h.byAccess} {
		for _, v := range variants(p, r) {
			query := h.query(v)
			one := *change
			one.Example = exampleOf(query)
			one.Before, one.After = h.answer(0, query), h.answer(1, query)
			if plain == nil {
				plain = &one
			}
			if one.Before.sameAs(one.After) || best != nil && shown(one) <= shown(*best) {
				continue
			}
			if best = &one; shown(one) >= most {
				break
			}
		}
		if best != nil && shown(*best) >= most {
			break
		}
	}
	switch {
	case best != nil:
		h.group(best, &h.comparison.requests)
	case p != (pair{}):
		h.group(plain, &h.comparison.other)
	}
}

// shown returns how well a change shows the effect of a policy. It is 2 if a policy answered before and does
// not after, 1 in the opposite case, and 0 otherwise.
func shown(c Change) int {
	switch {
	case c.Before.policed && !c.After.policed:
		return 2
	case c.After.policed && !c.Before.policed:
		return 1
	}
	return 0
}

// mostShown returns the highest value that shown can have for a pair. It returns 0 if the pair lacks a rule, or
// if both rules have the same policies.
func (h *hostPair) mostShown(p pair) (most int) {
	if p.before == nil || p.after == nil {
		return 0
	}
	a, b := &p.before.rule.Action, &p.after.rule.Action
	if h.effects[0].of(a.Extras) == h.effects[1].of(b.Extras) {
		return 0
	}
	before, after := components(a), components(b)
	for i := range before {
		kind := before[i].kind
		if _, isPolicy := (ir.Part{Kind: kind}).PolicyField(); !isPolicy || h.effects[0].of(before[i].value) == h.effects[1].of(after[i].value) {
			continue
		}
		most = max(most, 1)
		if inForce(kind, a) { // the policy may deny requests before, and no longer after
			most = 2
		}
	}
	return most
}

// group adds the regions of a change to an earlier change with the same answers, reasons and lost fields. If
// there is no such change, it appends the new one to list.
func (h *hostPair) group(one *Change, list *[]*Change) {
	key := fmt.Sprintf("%t %q %q %v", list == &h.comparison.requests, one.Before.Words(), one.After.Words(), append(reasonKeys(one.Reasons), fmt.Sprint(one.Lost)))
	if known := h.groups[key]; known != nil {
		known.Regions = append(known.Regions, one.Regions...)
		return
	}
	h.groups[key] = one
	*list = append(*list, one)
}

// reasonKeys returns a text for each reason, from its text and its first object.
func reasonKeys(reasons []Reason) (out []string) {
	for _, r := range reasons {
		text := r.Text
		if len(r.At) > 0 {
			text += " " + r.At[0].Object.String()
		}
		out = append(out, text)
	}
	return out
}

// region returns the Region for the rules of a pair. The parameter match describes the requests in words.
func (h *hostPair) region(p pair, match string) Region {
	return Region{
		Gateway: h.key.gateway, Port: h.key.port, Scheme: h.key.scheme, Host: h.named, Match: match,
		Before: ruleOf(p.before), After: ruleOf(p.after),
	}
}

// ruleOf returns the Rule of an entry, and nil for nil. It is the rule of the last route of the delegation.
func ruleOf(e *entry) *Rule {
	if e == nil {
		return nil
	}
	hops := explain.HopsOf(e.rule)
	last := hops[len(hops)-1]
	return &Rule{Object: last.Object, Rule: last.Rule, RuleName: last.RuleName, Match: last.Match, At: last.MatchAt, envoy: e.rule.Name}
}

// query converts a variant of a request to the host into a query of package explain.
func (h *hostPair) query(v variant) explain.Query {
	q := explain.Query{
		Gateway: h.key.gateway, Scheme: h.key.scheme, Host: h.authority(h.host), SNI: h.sni, Port: h.key.port,
		Method: v.method, Path: v.path, Headers: v.headers, From: v.from,
	}
	separator := "?"
	for _, one := range v.query {
		q.Path += separator + one.name + "=" + one.value
		separator = "&"
	}
	return q
}

// authority returns a host with the port. It leaves out the default port of the scheme.
func (h *hostPair) authority(host string) string {
	if h.key.scheme == "http" && h.key.port == 80 || h.key.scheme == "https" && h.key.port == 443 {
		return host
	}
	return host + ":" + portText(h.key.port)
}

func portText(port uint32) string { return fmt.Sprint(port) }

// exampleOf returns a query as an Example. If the server name differs from the host, the URL has the server
// name, and the host is the header Host.
func exampleOf(q explain.Query) Example {
	e := Example{Method: q.Method, URL: q.URL(), query: q}
	if len(q.Headers) > 0 {
		e.Headers = q.Headers.Clone()
	}
	name, _, _ := strings.Cut(q.Host, ":")
	if q.SNI != "" && q.SNI != name {
		e.URL = q.Scheme + "://" + strings.Replace(q.Host, name, q.SNI, 1) + q.Path
		if e.Headers == nil {
			e.Headers = map[string][]string{}
		}
		e.Headers.Set("Host", q.Host)
	}
	if q.From.IsValid() {
		e.From = q.From.String()
	}
	return e
}

// answer returns the answer of one side to a query. It passes only rules with a matching path to package
// explain, so that the cost does not depend on the number of rules.
func (h *hostPair) answer(side int, q explain.Query) Answer {
	port := h.ports[side]
	if port == nil {
		return Answer{Outcome: explain.NoListener}
	}
	path, _, _ := strings.Cut(q.Path, "?")
	shown := *port
	shown.Port, shown.Hosts = h.names[side].around(h.sni, h.host), nil
	if host := h.views[side]; host != nil {
		one := *host
		var rules []*ir.Rule
		for _, e := range h.indexes[side].at(path, h.patterns) {
			rules = append(rules, e.rule)
		}
		one.Rules, one.Len = slices.Values(rules), len(rules)
		shown.Hosts = []ir.HostView{one}
	}
	clusters := [2]Side{h.before, h.after}[side].View.Clusters
	view := &ir.View{Clusters: clusters, Gateways: []ir.GatewayView{{Name: h.key.gateway, Ports: []ir.PortView{shown}}}}
	return answerOf(explain.Request(view, q), clusters, q.Method)
}

// answerOf converts an answer of package explain into an Answer.
func answerOf(a explain.Answer, clusters map[string]*ir.Cluster, method string) Answer {
	o := a.Outcome
	out := Answer{Status: o.Status, Location: o.Location, Outcome: outcomeOf(a), Unless: o.Unless, policed: o.Policed}
	if o.GRPC {
		out.GRPCStatus = grpcText(o.Status)
	}
	if o.Policed || o.Rejected || out.Outcome == explain.Responded {
		out.Reason = o.Why
	}
	if a.Rule != nil && a.Rule.Guard && out.Reason == "" {
		out.Reason = "the path is delegated, and no route takes it"
	}
	for _, b := range o.Backends {
		share := Share{Cluster: b.Cluster, Status: b.Status, Percent: b.Percent}
		if b.Status != 0 && b.GRPC {
			share.GRPCStatus = grpcText(b.Status)
		}
		if cluster := clusters[b.Cluster]; cluster != nil {
			share.Endpoints = explain.Endpoints(cluster)
		}
		if b.Cluster != "" && b.Status == 0 {
			share.Receives = &explain.ReceivesReport{Method: method, Host: b.Host, Path: o.Path, Headers: b.Headers}
		}
		out.Backends = append(out.Backends, share)
	}
	return out
}

// grpcText returns the gRPC status for an HTTP status, as number and name.
func grpcText(status uint32) string {
	code, name := explain.GRPCStatus(status)
	return fmt.Sprintf("%d %s", code, name)
}

// outcomeOf returns the kind of an answer.
func outcomeOf(a explain.Answer) explain.OutcomeKind {
	switch {
	case a.Port == nil:
		return explain.NoListener
	case a.Outcome.Rejected:
		return explain.Rejected
	case a.Rule == nil:
		return explain.NotFound
	case a.Outcome.Policed:
		return explain.Responded
	case a.Rule.Action.Redirect != nil:
		return explain.Redirected
	case len(a.Outcome.Backends) > 0 && a.Outcome.Status == 0:
		return explain.Forwarded
	}
	return explain.Responded
}

// variant is a request and the client's address. An invalid address means that the client does not matter.
type variant struct {
	request
	from netip.Addr
}

// objectsOf returns the objects of places, each once.
func objectsOf(places []Place) (out []manifest.Key) {
	for _, at := range places {
		if !slices.Contains(out, at.Object) {
			out = append(out, at.Object)
		}
	}
	return out
}

func listenerField(l ir.Listener) string { return fmt.Sprintf("spec.listeners[%d]", l.Index) }
