package translate

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/xds"
)

// addForged declares the rules that remove identity headers.
func (r *identityRules) addForged(e *memo.Engine) {
	r.overfull = memo.NewRule(e, "overfull", r.runOverfull, deepEqual)
	r.reads = memo.NewRule(e, "hostreads", func(c *memo.Ctx, key listenerKey) []ir.CredentialHeader {
		return (&ir.Action{Extras: r.in.hostPolicy.Get(c, key).Extras}).CredentialHeaders()
	}, deepEqual)
	r.forged = memo.NewRule(e, "forged", r.runForged, deepEqual)
	r.clashes = memo.NewFold[clash, tableKey](e, "clashes", gather[tableKey](compareTables), ordered.Set[tableKey].Same)
	memo.From(r.clashes, r.forged, func(key tableKey, f *forgedOut, yield func(memo.Place[clash, tableKey], tableKey)) {
		for _, one := range f.Clashes {
			yield(memo.Place[clash, tableKey]{Key: one, ID: key}, key)
		}
	}, identical)
	r.mounted = memo.NewRule(e, "mounted", r.runMounted, sameMount)
	memo.EachOf(r.mounted, r.in.routes, inTables)
	r.grafted = memo.NewRule(e, "grafted", r.runGrafted, deepEqual)
	memo.EachOf(r.grafted, r.in.flat, ifDelegating)
	memo.EachOf(r.grafted, r.in.link, childOf)
}

func compareTables(a, b tableKey) int {
	return cmp.Or(comparePortKeys(a.portKey, b.portKey), strings.Compare(a.Chain, b.Chain), strings.Compare(a.Domain, b.Domain))
}

// forgedOut is what a virtual host removes.
type forgedOut struct {
	// Names are the identity headers that all rules of the host remove, sorted.
	Names []string
	// Reads are what the policies of the listener read as credentials.
	Reads []ir.CredentialHeader
	// Clashes are the names that other namespaces read as credentials.
	Clashes []clash
}

// forgedAt returns what a virtual host removes.
func (r *identityRules) forgedAt(c *memo.Ctx, key tableKey) *forgedOut {
	if _, found := r.identified.Get(c, key.Gateway); !found {
		return &forgedOut{}
	}
	return r.forged.Get(c, key)
}

// runForged returns what a virtual host removes: the names that all of its groups remove, so that the routes need not
// repeat them.
func (r *identityRules) runForged(c *memo.Ctx, key tableKey) *forgedOut {
	out, first := &forgedOut{}, true
	if at, policed := r.in.listenerOf(c, key); policed {
		out.Reads = r.reads.Get(c, at)
	}
	groups := r.groupSet.Get(c, key)
	for g := range groups.All() {
		if !g.Removes || !first && len(out.Names) == 0 {
			continue
		}
		names := r.namesOf(c, key.Gateway, g)
		names = slices.DeleteFunc(names, func(name string) bool { return readsName(out.Reads, name) })
		if !first {
			names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(out.Names, name) })
		}
		out.Names, first = names, false
	}
	out.Clashes = r.clashesIn(c, key.Gateway, groups, out.Reads)
	return out
}

// readsName reports whether a header is one that is read as a credential.
func readsName(reads []ir.CredentialHeader, name string) bool {
	return slices.ContainsFunc(reads, func(read ir.CredentialHeader) bool { return read.Name == name })
}

// namesOf returns the identity headers that the rules of a group remove at a Gateway, sorted: those of the rules'
// namespace and of the backends that they lead to, without what the rules read as a credential.
func (r *identityRules) namesOf(c *memo.Ctx, gateway string, g *group) (names []string) {
	for _, subject := range append([]manifest.Key{namespaceKey(g.Namespace)}, g.Leads...) {
		writers, _ := r.names.Get(c, subjectAt{gateway, subject})
		for w := range writers.All() {
			if !readsName(g.Reads, w.Header) && (!w.Counted || r.overfullAt(c, gateway, w.Policy.Namespace) == nil) {
				names = append(names, w.Header)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// overfullAt returns why the policies of a namespace close their routes at a Gateway (see runOverfull), nil if they
// do not.
func (r *identityRules) overfullAt(c *memo.Ctx, gateway, namespace string) *overfull {
	return r.overfull.Get(c, subjectAt{gateway, namespaceKey(namespace)})
}

// runMounted returns the rules of a root with the removal of identity headers.
func (r *identityRules) runMounted(c *memo.Ctx, key manifest.Key) *mountOut {
	mount := r.in.mount.Get(c, key)
	placed := r.strip(c, key, mount.placed, func(yield func(tableKey, []*entry) bool) {
		more := true
		mount.tables(func(table tableKey, flat *flatOut) { more = more && yield(table, flat.Entries) })
	})
	if placed == nil {
		return mount
	}
	out := *mount
	out.placed = *placed
	return &out
}

// runGrafted returns the rules of a node with the removal of identity headers.
func (r *identityRules) runGrafted(c *memo.Ctx, key flatKey) *graftOut {
	graft := r.in.graft.Get(c, key)
	placed := r.strip(c, key.Route, graft.placed, func(yield func(tableKey, []*entry) bool) {
		for _, table := range graft.Tables {
			if !yield(table, graft.Entries) {
				return
			}
		}
	})
	if placed == nil {
		return graft
	}
	out := *graft
	out.placed = *placed
	return &out
}

// strip returns the entries of a node, with the removal of identity headers in each rule that removes more than its
// virtual host. It returns nil if no rule does. The parameter route is the route of the node, p are the entries without
// the removal, and tables yields the virtual hosts of the node, with the node's own entries.
func (r *identityRules) strip(c *memo.Ctx, route manifest.Key, p placed, tables iter.Seq2[tableKey, []*entry]) *placed {
	type place struct { // where the entries of a node are the same
		gateway, names, reads string
		base                  **entry // the first element: virtual hosts of one listener and port have the same slice
	}
	done, changed := map[place][]*entry{}, map[tableKey][]*entry{}
	refused, _ := r.in.quarantine.routes.Get(c, route)
	out := p
	for table, own := range tables {
		base := p.in(table, own)
		if _, found := r.identified.Get(c, table.Gateway); !found || len(base) == 0 {
			continue
		}
		host := r.forged.Get(c, table)
		where := place{table.Gateway, strings.Join(host.Names, " "), fmt.Sprint(host.Reads), &base[0]}
		entries, known := done[where]
		if !known {
			entries = r.stripAll(c, table.Gateway, host, base)
			marked, problems, words := refused.markAll(entries, base)
			if entries = marked; words != "" && !slices.Equal(entries, base) {
				out.close(table.Gateway, words)
			}
			out.complain(problems)
			done[where] = entries
		}
		if !slices.Equal(entries, base) {
			changed[table] = entries
		}
	}
	if len(changed) == 0 {
		return nil
	}
	for table, entries := range p.Entries {
		if changed[table] == nil {
			changed[table] = entries
		}
	}
	out.Entries = changed
	return &out
}

// stripAll returns copies of entries that remove identity headers, besides those that their virtual host (the
// parameter host) removes. Entries that remove nothing more are returned as they are.
func (r *identityRules) stripAll(c *memo.Ctx, gateway string, host *forgedOut, base []*entry) []*entry {
	out := make([]*entry, len(base))
	for i, e := range base {
		out[i] = e
		if closed := r.closedBy(c, gateway, e); closed != nil {
			out[i] = e.closed(closed)
			continue
		}
		g := groupOf(e)
		if !g.Removes {
			continue
		}
		names := slices.DeleteFunc(r.namesOf(c, gateway, g), func(name string) bool {
			return slices.Contains(host.Names, name) || slices.ContainsFunc(host.Reads, func(read ir.CredentialHeader) bool {
				return read.Name == name && !e.sets(read.Field)
			})
		})
		if len(names) > 0 {
			out[i] = e.stripped(names)
		}
	}
	return out
}

// closedBy returns why a rule answers 500: its namespace, or that of one of its policies, has too many identity
// headers at the Gateway. It returns nil if none has.
func (r *identityRules) closedBy(c *memo.Ctx, gateway string, e *entry) *closing {
	spaces := []string{e.Rule.Source.Key.Namespace}
	if e.Aim != nil {
		for _, by := range e.Aim.Writes {
			if !by.Trusted && !slices.Contains(spaces, by.Policy.Namespace) {
				spaces = append(spaces, by.Policy.Namespace)
			}
		}
	}
	for _, space := range spaces {
		if over := r.overfullAt(c, gateway, space); over != nil {
			return &over.closing
		}
	}
	return nil
}

// stripped returns a copy of an entry that removes identity headers from what clients send.
func (e *entry) stripped(names []string) *entry {
	rule := *e.Rule
	rule.Rejected = nil // that was said of another encoding
	rule.Action.Extras = withForged(rule.Action.Extras, names)
	encoded, problems := xds.Route(&rule)
	if len(problems) > 0 { // the names were checked when they were read
		panic(fmt.Sprintf("translate: %s is refused when it removes %v: %+v", rule.Name, names, problems))
	}
	return &entry{Rule: &rule, Encoded: encoded, Own: e.Own, Aim: e.Aim}
}

// clash is an identity header that another namespace reads as a credential on a virtual host.
type clash struct {
	writer
	Reader string // the namespace
}

// clashesIn returns the clashes of a virtual host, which has the given groups. The parameter reads is what the
// policies of the listener read.
func (r *identityRules) clashesIn(c *memo.Ctx, gateway string, groups ordered.Set[*group], reads []ir.CredentialHeader) (out []clash) {
	readers, spaces := map[clash]bool{}, map[string]bool{}
	for g := range groups.All() {
		spaces[g.Namespace] = true
		for _, read := range g.Reads {
			readers[clash{writer{Header: read.Name}, g.Namespace}] = true
		}
	}
	for _, read := range reads {
		readers[clash{writer{Header: read.Name}, ir.GatewayKey(gateway).Namespace}] = true
	}
	if len(readers) == 0 {
		return nil
	}
	for space := range spaces {
		writers, _ := r.names.Get(c, subjectAt{gateway, namespaceKey(space)})
		for w := range writers.All() {
			for reader := range readers {
				if w.Counted = false; w.Header == reader.Header && w.Policy.Namespace != reader.Reader {
					out = append(out, clash{w, reader.Reader})
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b clash) int {
		return cmp.Or(compareWriters(a.writer, b.writer), strings.Compare(a.Reader, b.Reader))
	})
	return slices.Compact(out)
}

// reportClashes adds a warning for each name of an identity header that another namespace reads as a credential on a
// host that both have.
func (r *identityRules) reportClashes(all *problemFold) {
	memo.From(all, r.clashes, func(key clash, tables ordered.Set[tableKey], yield func(memo.Place[struct{}, string], []manifest.Problem)) {
		for first := range tables.All() {
			yield(memo.Place[struct{}, string]{ID: fmt.Sprint("clashes ", key)}, []manifest.Problem{{
				Code: "SharedHeader", Severity: manifest.Warning, Object: key.Policy, Field: key.Field,
				Message: fmt.Sprintf("the policy writes header %q, which namespace %s reads as a credential on host %s of Gateway %s: it is removed from requests to other routes of the policy's namespaces and backends, and not from those of namespace %s",
					key.Header, key.Reader, first.Domain, first.Gateway, key.Reader),
				Hint: "choose a name that no client has a use for, such as x-gateway-client",
			}})
			return
		}
	}, deepEqual)
}
