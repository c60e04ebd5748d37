package translate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
)

// tenantAt is a namespace with routes at a Gateway ("namespace/name").
type tenantAt struct{ Gateway, Namespace string }

// maxIdentityBytes limits the total length, in bytes, of the names of a namespace's identity headers (see identityAt)
// at a Gateway. The limit is necessary because each virtual host with routes of the namespace repeats all these names
// (see forged).
const maxIdentityBytes = 2 << 10

// identityAt is an identity header of a namespace at a Gateway: a header in which policies of its routes pass
// the user's identity to backends, for example clientIdHeader.
type identityAt struct {
	tenantAt
	Header string
}

// identity is an identity header, with the first route whose policies set it.
type identity struct {
	identityAt
	Route manifest.Key
}

type identityIn struct {
	mount *memo.Rule[manifest.Key, *mountOut]
	graft *memo.Rule[flatKey, *graftOut]
}

// identityRules collect the identity headers (see identityAt) that policies set for the routes of each
// namespace at a Gateway.
type identityRules struct {
	names *memo.Fold[tenantAt, string, identity, memo.Ordered[identity]]
	// tenants has for each Gateway the number of namespaces with identity headers (see identityAt). Most
	// Gateways have none.
	tenants *memo.Fold[string, tenantAt, struct{}, int]
}

func newIdentityRules(e *memo.Engine, in identityIn) *identityRules {
	setters := memo.NewFold[identityAt, flatKey](e, "identities", gather[flatKey](compareNodes), memo.Ordered[flatKey].Same)
	memo.From(setters, in.mount, func(key manifest.Key, m *mountOut, yield func(memo.Place[identityAt, flatKey], flatKey)) {
		seen := map[identityAt]bool{}
		m.tables(func(table tableKey, flat *flatOut) {
			yieldIdentities(flatKey{Route: key}, table.Gateway, flat.Entries, seen, yield)
		})
	}, identical)
	memo.From(setters, in.graft, func(key flatKey, g *graftOut, yield func(memo.Place[identityAt, flatKey], flatKey)) {
		seen := map[identityAt]bool{}
		for _, table := range g.Tables {
			yieldIdentities(key, table.Gateway, g.Entries, seen, yield)
		}
	}, identical)
	r := &identityRules{names: memo.NewFold[tenantAt, string](e, "identitynames", gather[string](compareIdentities), memo.Ordered[identity].Same)}
	memo.From(r.names, setters, func(key identityAt, nodes memo.Ordered[flatKey], yield func(memo.Place[tenantAt, string], identity)) {
		for first := range nodes.All() {
			yield(memo.Place[tenantAt, string]{Key: key.tenantAt, ID: key.Header}, identity{key, first.Route})
			return
		}
	}, identical)
	r.tenants = memo.NewFold[string, tenantAt](e, "identified", count[tenantAt], identical[int])
	memo.From(r.tenants, r.names, func(key tenantAt, names memo.Ordered[identity], yield func(memo.Place[string, tenantAt], struct{})) {
		if names.Len() > 0 {
			yield(memo.Place[string, tenantAt]{Key: key.Gateway, ID: key}, struct{}{})
		}
	}, identical)
	return r
}

func compareNodes(a, b flatKey) int {
	return cmp.Or(manifest.CompareKeys(a.Route, b.Route), cmp.Compare(a.Port, b.Port), strings.Compare(a.Via, b.Via))
}

func compareIdentities(a, b identity) int { return strings.Compare(a.Header, b.Header) }

// report adds an error for each namespace with too many identity headers (see identityAt) at a Gateway.
func (r *identityRules) report(all *problemFold) {
	problemsFrom(all, "identitynames", r.names, func(names memo.Ordered[identity]) []manifest.Problem {
		for first := range names.All() {
			if closed := first.overfull(names); closed != nil {
				return []manifest.Problem{{
					Code: "TooManyCopies", Severity: manifest.Error, Object: first.Route, Field: "metadata.name", Message: closed.Why + "; its routes there answer 500",
					Hint: "use one header for all routes: clientIdHeader of policies, and what other fields call the user's name",
				}}
			}
		}
		return nil
	})
}

// overfull returns the reason why the routes of a namespace answer 500: the names of the namespace's identity
// headers (see identityAt) are together longer than maxIdentityBytes. If they are within that limit, the result
// is nil.
func (t tenantAt) overfull(names memo.Ordered[identity]) *closing {
	size := 0
	for name := range names.All() {
		size += len(name.Header)
	}
	if size <= maxIdentityBytes {
		return nil
	}
	return &closing{
		Why: fmt.Sprintf("TooManyCopies: the names of the identity headers of namespace %s at Gateway %s are longer together than %d bytes", t.Namespace, t.Gateway, maxIdentityBytes),
		At:  ir.Part{Kind: ir.PartClosed, Object: manifest.Key{Kind: "Namespace", Name: t.Namespace}, Field: "metadata.name"},
	}
}

// yieldIdentities calls yield for each identity header (see identityAt) that the policies of the given entries set.
// The parameter node is the node that the entries belong to. yield gets a Place whose Key is the header and whose ID
// is node. Its second argument is node, too: the node becomes one of the nodes that set the header. The map seen has
// the headers that were yielded before. yieldIdentities skips these, and adds the new ones.
func yieldIdentities(node flatKey, gateway string, entries []*entry, seen map[identityAt]bool, yield func(memo.Place[identityAt, flatKey], flatKey)) {
	for _, e := range entries {
		if e.Rule.Action.Extras == nil && e.Rule.Action.ExternalAuth == nil {
			continue
		}
		for _, identity := range e.Rule.Action.Identities() {
			at := identityAt{tenantAt{gateway, e.Rule.Source.Key.Namespace}, identity.Name}
			if !seen[at] {
				seen[at] = true
				yield(memo.Place[identityAt, flatKey]{Key: at, ID: node}, node)
			}
		}
	}
}

// forged returns the sorted names of the identity headers (see identityAt) that a virtual host removes from the
// requests of clients, so that clients cannot forge these headers. Some of the headers are set by the policies of the
// listener (the parameter host). The others are set by policies in the namespaces that have routes in the virtual
// host (the parameter owners). If the header names of a namespace are too long (see overfull), they are left out. The
// map closed then has the namespace, with the reason. The routes of the namespace answer 500.
func (r *identityRules) forged(c *memo.Ctx, gateway string, owners memo.Ordered[owner], host *hostPolicy) (names []string, closed map[string]*closing) {
	if host != nil {
		names = host.Extras.IdentityNames()
	}
	if tenants, _ := r.tenants.Get(c, gateway); tenants > 0 {
		closed = map[string]*closing{}
		for owner := range owners.All() {
			tenant := tenantAt{gateway, owner.Namespace}
			own, _ := r.names.Get(c, tenant)
			if why := tenant.overfull(own); why != nil {
				closed[owner.Namespace] = why
				continue
			}
			for identity := range own.All() {
				names = append(names, identity.Header)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), closed
}

// closing returns a copy of the table t in which the rules of some namespaces are replaced by rules that answer 500.
// The parameter namespaces maps each of these namespaces to the reason. If the map is empty, closing returns t
// itself. The copy has only rules: all its other fields are zero.
func (t table) closing(namespaces map[string]*closing) table {
	if len(namespaces) == 0 {
		return t
	}
	out := table{rules: memo.NewOrdered(compareEntries)}
	for e := range t.rules.All() {
		if by := namespaces[e.Rule.Source.Key.Namespace]; by != nil {
			e = e.closed(by)
		}
		out.rules = out.rules.Insert(e)
	}
	return out
}
