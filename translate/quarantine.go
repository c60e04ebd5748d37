package translate

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
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

// Refusal is what Envoy said of a part.
type Refusal struct {
	// Match tells that it is refused also when it answers 500.
	Match bool
	Words string
}

// Quarantine is what Envoys refused: the one thing that flows back (design
// section 2). It is never changed after it was handed over.
type Quarantine map[RefusedPart]Refusal

// refusals are the entries about one object's routes, or one virtual host.
type refusals map[RefusedPart]Refusal

// refusedHost names a virtual host.
type refusedHost struct{ table, domain string }

// quarantineInputs hold the quarantine by what it is about.
type quarantineInputs struct {
	routes *memo.Input[store.Key, refusals]
	hosts  *memo.Input[refusedHost, refusals]
	// present are the keys that have entries.
	presentRoutes map[store.Key]refusals
	presentHosts  map[refusedHost]refusals
}

func newQuarantineInputs(e *memo.Engine) *quarantineInputs {
	return &quarantineInputs{
		routes: memo.NewInput[store.Key](e, deepEqual[refusals]),
		hosts:  memo.NewInput[refusedHost](e, deepEqual[refusals]),
	}
}

// Quarantine makes set what is refused, from the next Apply on.
func (t *Translator) Quarantine(set Quarantine) {
	q := t.in.quarantine
	routes, hosts := map[store.Key]refusals{}, map[refusedHost]refusals{}
	for part, refusal := range set {
		if part.Route == "" {
			part.Table = xds.Unsharded(part.Table)
			at := refusedHost{part.Table, part.Host}
			put(hosts, at, part, refusal.and(hosts[at][part]))
		} else {
			put(routes, holderOf(part.Route), part, refusal)
		}
	}
	replace(q.routes, q.presentRoutes, routes)
	replace(q.hosts, q.presentHosts, hosts)
	q.presentRoutes, q.presentHosts = routes, hosts
}

// and joins what was said of a wildcard in several shards of one table, in any order.
func (r Refusal) and(other Refusal) Refusal {
	if other.Words == "" || other.Words > r.Words {
		other.Words = r.Words
	}
	return Refusal{Match: r.Match || other.Match, Words: other.Words}
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

// holderOf gives the route that holds a rule, from the rule's name:
// "HTTPRoute/infra/root/0/0>team/child/1/0" is of team/child.
func holderOf(name string) store.Key {
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
		return store.Key{}
	}
	return store.Key{Group: gwv1.GroupName, Kind: kind, Namespace: parts[0], Name: parts[1]}
}

// admit gives the entry as it may be served: one that was refused answers 500,
// and is nil when its match was. refusal is nil when nothing was.
func (r refusals) admit(e *entry) (admitted *entry, refusal *Refusal) {
	if len(r) == 0 {
		return e, nil
	}
	said, refused := r[RefusedPart{Route: e.Rule.Name, Sum: sha256.Sum256(e.Encoded)}]
	switch {
	case !refused:
		return e, nil
	case said.Match:
		return nil, &said
	}
	key := e.Rule.Source.Key
	closed := e.closed(&closing{"an Envoy rejected the rule: " + said.Words, ir.Part{Kind: ir.PartClosed, Object: key, Field: ruleField(e.Rule)}})
	if _, too := r[RefusedPart{Route: e.Rule.Name, Sum: sha256.Sum256(closed.Encoded)}]; too {
		said.Match = true
		return nil, &said
	}
	return closed, &said
}

// admitAll gives those that may be served; words tell of one that was refused.
func (r refusals) admitAll(entries []*entry) (admitted []*entry, words string) {
	if len(r) == 0 {
		return entries, ""
	}
	for _, e := range entries {
		e, refusal := r.admit(e)
		if refusal != nil {
			words = refusal.Words
		}
		if e != nil {
			admitted = append(admitted, e)
		}
	}
	return admitted, words
}

func ruleField(rule *ir.Rule) string {
	return fmt.Sprintf("spec.rules[%d]", rule.Position[len(rule.Position)-2])
}

// refusalOf tells whether a virtual host was refused in this form.
func (n *network) refusalOf(c *memo.Ctx, key tableKey, extras *ir.Extras) (refusal Refusal, refused bool) {
	at := refusedHost{listen.RoutesName(key.Gateway, key.Port, key.Chain), key.Domain}
	all, _ := n.in.quarantine.hosts.Get(c, at)
	if len(all) == 0 {
		return Refusal{}, false
	}
	frame := xds.VirtualHost(key.Domain, extras, nil).Bytes()
	refusal, refused = all[RefusedPart{Table: at.table, Host: at.domain, Sum: sha256.Sum256(frame)}]
	return refusal, refused
}

// closedTable is what a refused virtual host serves: 500 for everything.
func closedTable(gateway, words string) memo.Ordered[*entry] {
	rule := &ir.Rule{
		Name: "refused", Source: &ir.Origin{Key: ir.GatewayKey(gateway)}, Root: &ir.Origin{Key: ir.GatewayKey(gateway)}, Position: []int{0, 0},
		Match:  ir.Match{Path: ir.Path{Kind: ir.PathPrefix, Value: "/"}},
		Action: ir.Action{Respond: &ir.Respond{Status: http.StatusInternalServerError, Why: "an Envoy rejected the policies of this host: " + words}},
	}
	encoded, problems := xds.Route(rule)
	if len(problems) > 0 {
		panic(fmt.Sprintf("translate: the answer of a closed host is refused: %+v", problems))
	}
	return memo.NewOrdered(compareEntries).Insert(&entry{Rule: rule, Encoded: encoded})
}
