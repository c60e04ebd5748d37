package plan

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/translate/ir"
)

// hostPair is a class of hosts of a port: requests for all hosts of the class get the same answers. views are
// the virtual hosts for these hosts before and after, and tables and indexes have their rules. A view is nil if
// that side has no virtual host for them.
type hostPair struct {
	port *portPair
	// named is the hostname or wildcard of the class, and host is a member of the class. sni is the server name in
	// the TLS handshake of the connection. Usually sni is the same as host. It is another name if h is about a reused
	// connection: the client opened the connection for sni, and then sends requests for host.
	named, host, sni string
	views            [2]*ir.HostView
	tables           [2]*table
	indexes          [2]*index
}

// fillTables sets h.tables: the rules for h.host in the old and in the new configuration, from h.views.
func (h *hostPair) fillTables() {
	for side := range h.views {
		h.tables[side] = newTable(h.views[side], h.host, h.port.comparison.effects[side])
	}
}

// fillIndexes builds the indexes from the tables.
func (h *hostPair) fillIndexes() {
	for side := range h.tables {
		h.indexes[side] = newIndex(h.tables[side])
	}
}

// compare compares how the old and the new configuration handle requests to the hosts of h. It reports the requests
// that get another answer or are handled differently. It also reports the requests for which this was not decided
// (Report.Undecided).
func (h *hostPair) compare() {
	c := h.port.comparison
	h.fillTables()
	differences := h.context()
	defer h.addUnasked()
	changed := align(h.tables[0], h.tables[1], len(differences) > 0)
	empty := len(h.tables[0].entries) == 0 && len(h.tables[1].entries) == 0
	if !changed && !empty {
		return
	}
	h.fillIndexes()
	if empty {
		h.withoutRules()
		return
	}
	c.budget.host = maxHostSteps
	all, open, whole := c.pairsOf(h.tables[0], h.tables[1], len(differences) > 0)
	if !whole {
		c.undecided(h.region(pair{}, "other requests: there are too many combinations of rules to try"), "")
	}
	for _, one := range all {
		if c.budget.ctx.Err() != nil {
			return
		}
		h.add(one.pair, one.request, one.words(), append(h.reasons(one.pair), differences...))
	}
	for _, one := range open {
		c.undecided(h.region(one.pair, one.words()), one.why)
	}
}

// region returns the Region of the requests to h's hosts for which Envoy chooses the two rules of the pair p. The
// parameter match describes these requests in words.
func (h *hostPair) region(p pair, match string) Region { return h.port.key.region(h.named, p, match) }

// addUnasked reports rules that answer an error in the old and in the new configuration, because a discovery
// document is missing. It reports a rule only if the object with the policy of the rule changed, or any
// GatewayExtension.
func (h *hostPair) addUnasked() {
	c := h.port.comparison
	for _, e := range h.tables[0].entries {
		if e.changed || e.twin == nil || unaskedBy(e.rule) == "" || unaskedBy(e.twin.rule) == "" {
			continue
		}
		parts := e.twin.rule.Action.Parts
		if _, changed := c.objects.kinds[parts[0].Object]; changed || c.objects.anyOfKind(api.KindGatewayExtension) {
			p := pair{e, e.twin}
			c.undecided(h.region(p, p.words()), "the issuer "+unaskedBy(e.twin.rule)+" was not asked: only `gatefold serve` asks it")
		}
	}
}

// withoutRules compares the answers of hosts without rules: 404, 421, or no connection.
func (h *hostPair) withoutRules() {
	h.add(pair{}, request{path: "/", method: "GET"}, "every request", []Reason{{Text: "the listeners of the port have other hostnames", At: h.port.portPlaces()}})
}

// context returns the differences that affect every rule of the hosts: how Envoy finds the client's address,
// and which headers of clients it removes.
func (h *hostPair) context() (out []Reason) {
	a, b := h.port.ports[0], h.port.ports[1]
	if x, y := a.Port.Settings, b.Port.Settings; x.ProxyProtocol != y.ProxyProtocol || x.TrustedHops != y.TrustedHops {
		out = append(out, Reason{Text: "the client's address is found otherwise (PROXY protocol or trusted hops)", At: h.port.portPlaces()})
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

// add reports what changes for the requests for which Envoy chooses the rule p.before in the old configuration, and
// the rule p.after in the new one. The request r is one of them. add tries r and variants of r. If an answer changes,
// add reports, in Report.Requests, the request that best shows the effect of a policy (see shown). If no answer
// changes, add reports r in Report.Handling, unless both rules of p are nil. add also counts the policy fields that
// the rules gain, lose or change. The parameter match describes the requests in words.
func (h *hostPair) add(p pair, r request, match string, reasons []Reason) {
	c := h.port.comparison
	c.policies.add(p)
	if r.headers == nil {
		r.headers = http.Header{}
	}
	region := h.region(p, match)
	region.otherRule = p.before != nil && p.after != nil && !h.takeovers().sameRule(p)
	change := Change{Regions: []Region{region}, Lost: p.lostFields(), Reasons: reasons, Held: h.heldBy(p)}
	switch best, plain := h.withExample(change, p, r); {
	case best != nil:
		c.requests.add(best)
	case p != (pair{}):
		c.handling.add(plain)
	}
}

// withExample tries the request r and variants of r as the example of a change. It returns two copies of the change,
// each with an example, and with the answers to this example in the old and the new configuration:
//   - In the copy plain, the example is r.
//   - In the copy best, the example is a request (r or a variant) whose answer changes. Of several such requests,
//     withExample takes one that best shows the effect of a policy (see shown). If no answer changes, best is nil.
func (h *hostPair) withExample(change Change, p pair, r request) (best, plain *Change) {
	c := h.port.comparison
	most := mostShown(c.effects, p)
	maker := &variantMaker{indexes: h.indexes, patterns: c.patterns, expressions: c.expressions}
	for _, variants := range []func(pair, request) []variant{maker.variants, maker.byAccess} {
		for _, v := range variants(p, r) {
			query := h.query(v)
			one := change
			one.Example = exampleOf(query)
			one.Before, one.After = h.answer(0, query), h.answer(1, query)
			if plain == nil {
				plain = &one
			}
			if one.Before.sameAs(one.After) || best != nil && shown(one) <= shown(*best) {
				continue
			}
			if best = &one; shown(one) >= most {
				return best, plain
			}
		}
	}
	return best, plain
}

// takeovers returns a helper that explains, for the hosts of h, why another rule than before gets their requests.
func (h *hostPair) takeovers() *takeovers {
	c := h.port.comparison
	return &takeovers{key: h.port.key, views: h.views, indexes: h.indexes, rules: c.whereabouts, objects: c.objects}
}

// shown ranks the example request of a change by how clearly it shows the effect of a policy. A higher rank is
// clearer:
//   - 2: a policy answers the request only in the old configuration.
//   - 1: a policy answers the request only in the new configuration.
//   - 0: otherwise.
func shown(c Change) int {
	switch {
	case c.Before.policed && !c.After.policed:
		return 2
	case c.After.policed && !c.Before.policed:
		return 1
	}
	return 0
}

// mostShown returns the highest rank that the function shown can return for an example for which Envoy chooses the
// two rules of the pair p. It is an upper limit: there may be no such example. The limit is 0 if the pair lacks a
// rule, or if both rules have the same policies.
func mostShown(effects effectPair, p pair) (most int) {
	if p.before == nil || p.after == nil {
		return 0
	}
	a, b := &p.before.rule.Action, &p.after.rule.Action
	if effects.same(a.Extras, b.Extras) {
		return 0
	}
	before, after := a.PartValues(), b.PartValues()
	for i := range before {
		kind := before[i].Kind
		if _, isPolicy := (ir.Part{Kind: kind}).PolicyField(); !isPolicy || effects.same(before[i].Value, after[i].Value) {
			continue
		}
		most = max(most, 1)
		if inForce(kind, a) { // the policy may deny requests before, and no longer after
			most = 2
		}
	}
	return most
}
