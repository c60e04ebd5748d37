package translate

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/xds"
)

// RefusedPart is a part of a table in one form, by the sum of its encoding: what
// changes the encoding, be it the object itself, a policy or a parent, ends the
// quarantine by itself.
type RefusedPart struct {
	// Route is the name of an Envoy route, "" for a virtual host without its
	// routes, which Table (a RouteConfiguration) and Host name.
	Table, Host, Route string
	Sum                [sha256.Size]byte
}

// Refusal is what Envoys said of a part.
type Refusal = ir.Rejection

// Quarantine is what every connected Envoy rejected that has its table: the one thing that
// flows back (docs/design/flow.md). It changes no resource, because each Envoy decides for
// itself what it takes: the server sends it the table without what it rejected. It is for
// problems, status and the View. It is never changed after it was handed over.
type Quarantine map[RefusedPart]Refusal

// refusals are the entries about one object's routes, or one virtual host.
type refusals map[RefusedPart]Refusal

// refusedHost names a virtual host.
type refusedHost struct{ table, domain string }

// quarantineInputs hold the quarantine by what it is about.
type quarantineInputs struct {
	routes *memo.Input[manifest.Key, refusals]
	hosts  *memo.Input[refusedHost, refusals]
	// present are the keys that have entries.
	presentRoutes map[manifest.Key]refusals
	presentHosts  map[refusedHost]refusals
}

func newQuarantineInputs(e *memo.Engine) *quarantineInputs {
	return &quarantineInputs{
		routes: memo.NewInput[manifest.Key](e, "quarantine", deepEqual[refusals]),
		hosts:  memo.NewInput[refusedHost](e, "quarantine", deepEqual[refusals]),
	}
}

// Quarantine makes set what is refused, from the next Apply on.
func (t *Translator) Quarantine(set Quarantine) {
	q := t.in.quarantine
	routes, hosts := map[manifest.Key]refusals{}, map[refusedHost]refusals{}
	for part, refusal := range set {
		if part.Route == "" {
			at := refusedHost{part.Table, part.Host}
			put(hosts, at, part, refusal)
		} else {
			put(routes, holderOf(part.Route), part, refusal)
		}
	}
	replace(q.routes, q.presentRoutes, routes)
	replace(q.hosts, q.presentHosts, hosts)
	q.presentRoutes, q.presentHosts = routes, hosts
}

func put[K comparable](at map[K]refusals, key K, part RefusedPart, refusal Refusal) {
	if at[key] == nil {
		at[key] = refusals{}
	}
	at[key][part] = refusal
}

func replace[K comparable](in *memo.Input[K, refusals], before, after map[K]refusals) {
	for key, value := range after {
		in.Set(key, value)
	}
	for key := range before {
		if _, still := after[key]; !still {
			in.Delete(key)
		}
	}
}

// holderOf returns the route that holds a rule, from the rule's name:
// "HTTPRoute/infra/root/0/0>team/child/1/0" is of team/child.
func holderOf(name string) manifest.Key {
	name = name[strings.LastIndexByte(name, '>')+1:]
	kind := "HTTPRoute" // those below others have the root's kind in front of all
	for _, k := range route.Kinds() {
		if rest, ok := strings.CutPrefix(name, k.Name+"/"); ok {
			kind, name = k.Name, rest
			break
		}
	}
	parts := strings.SplitN(name, "/", 3)
	if len(parts) < 3 {
		return manifest.Key{}
	}
	return manifest.Key{Group: gwv1.GroupName, Kind: kind, Namespace: parts[0], Name: parts[1]}
}

// mark returns the entry with what Envoys said of it, and that; rejection is nil when they
// took it.
func (r refusals) mark(e *entry) (marked *entry, rejection *Refusal) {
	if len(r) == 0 {
		return e, nil
	}
	said, rejected := r[RefusedPart{Route: e.Rule.Name, Sum: sha256.Sum256(e.Encoded)}]
	if !rejected {
		return e, nil
	}
	out, rule := *e, *e.Rule
	rule.Rejected, out.Rule = &said, &rule
	return &out, &said
}

// markAll marks entries; words tell of one that Envoys rejected.
func (r refusals) markAll(entries []*entry) (marked []*entry, words string) {
	if len(r) == 0 {
		return entries, ""
	}
	for _, e := range entries {
		e, rejection := r.mark(e)
		if rejection != nil {
			words = rejection.Words
		}
		marked = append(marked, e)
	}
	return marked, words
}

// asServed returns the rule as Envoys serve it that rejected it, nil when they have it not.
func asServed(rule *ir.Rule) *ir.Rule {
	switch {
	case rule.Rejected == nil:
		return rule
	case rule.Rejected.Match:
		return nil
	}
	closed := xds.Closed(rule)
	closed.Action.Respond.Why = "an Envoy rejected the rule: " + rule.Rejected.Words
	closed.Action.Parts = []ir.Part{{Kind: ir.PartClosed, Object: rule.Source.Key, Field: ruleField(rule)}}
	return closed
}

func ruleField(rule *ir.Rule) string {
	return fmt.Sprintf("spec.rules[%d]", rule.Position[len(rule.Position)-2])
}

// rejectionOf returns what Envoys said of a virtual host in this form, nil when they took it.
func (r *tableRules) rejectionOf(c *memo.Ctx, key tableKey, extras *ir.Extras) *Refusal {
	at := refusedHost{listen.RoutesName(key.Gateway, key.Port, key.Chain), key.Domain}
	all, _ := r.in.quarantine.hosts.Get(c, at)
	if len(all) == 0 {
		return nil
	}
	frame := xds.VirtualHost(key.Domain, extras, nil).Bytes()
	if said, rejected := all[RefusedPart{Table: at.table, Host: at.domain, Sum: sha256.Sum256(frame)}]; rejected {
		return &said
	}
	return nil
}

// closedHost is what Envoys serve that rejected a virtual host: 500 for everything.
func closedHost(gateway, words string) *ir.Rule {
	return &ir.Rule{
		Name: "rejected", Source: &ir.Origin{Key: ir.GatewayKey(gateway)}, Root: &ir.Origin{Key: ir.GatewayKey(gateway)}, Position: []int{0, 0},
		Match:  ir.Match{Path: ir.Path{Kind: ir.PathPrefix, Value: "/"}},
		Action: ir.Action{Respond: &ir.Respond{Status: http.StatusInternalServerError, Why: "an Envoy rejected the policies of this host: " + words}},
	}
}
