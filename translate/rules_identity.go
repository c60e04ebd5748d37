package translate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
)

// An identity header (ir.Identity) is removed from what clients send wherever a backend could believe it. Policies
// say which names these are, whether or not the policies can be used (written). At each Gateway, the names belong to
// subjects: namespaces and backends. A route removes the names of its namespace, and those of the backends that it
// leads to (rules_forged.go).

// subjectAt is a namespace or a backend at a Gateway ("namespace/name"), to which names of identity headers belong.
type subjectAt struct {
	Gateway string
	Subject manifest.Key // a Namespace, a Service or a Backend
}

// writerAt is an identity header of a subject, and a policy that writes it.
type writerAt struct {
	subjectAt
	writer
}

// writer is an identity header with a policy that writes it.
type writer struct {
	Header string
	Policy manifest.Key
	Field  string // in the policy
	// Counted is true if the name counts towards maxIdentityBytes. Names that cluster paths write do not count, and
	// neither do those of policies that the owner of a Gateway writes for the Gateway or its listeners.
	Counted bool
}

func compareWriters(a, b writer) int {
	return cmp.Or(strings.Compare(a.Header, b.Header), manifest.CompareKeys(a.Policy, b.Policy), strings.Compare(a.Field, b.Field), ir.TrueFirst(a.Counted, b.Counted))
}

// writerID identifies what brings a writer: a node of a delegation tree (see flatKey), or a virtual host whose
// listener has the policy.
type writerID struct {
	Node  flatKey
	Table tableKey
}

type identityIn struct {
	*hostPolicyRules
	level      *memo.Rule[listenerKey, *hostLevel]
	quarantine *quarantineInputs
	mount      *memo.Rule[manifest.Key, *mountOut]
	graft      *memo.Rule[flatKey, *graftOut]
	// These have the keys of mount and graft.
	routes *servedRoutes
	flat   *memo.Rule[flatKey, *flatOut]
	link   *memo.Rule[linkKey, *linkOut]
}

// identityRules collect the identity headers that policies write, and remove them from the requests of clients.
type identityRules struct {
	in identityIn
	// groups has for each virtual host the groups of its rules.
	groups   *memo.Fold[tableKey, groupID, *group, groupSet]
	groupSet *memo.Rule[tableKey, ordered.Set[*group]]
	// hostWrites has what the policies of a virtual host's listener write.
	hostWrites *memo.Rule[tableKey, *hostWrites]
	names      *memo.Fold[subjectAt, writer, writer, ordered.Set[writer]]
	// identified has a value for each Gateway with identity headers. Most Gateways have none.
	identified *memo.Fold[string, subjectAt, struct{}, struct{}]
	overfull   *memo.Rule[subjectAt, *overfull]
	reads      *memo.Rule[listenerKey, []ir.CredentialHeader]
	forged     *memo.Rule[tableKey, *forgedOut]
	clashes    *memo.Fold[clash, tableKey, tableKey, ordered.Set[tableKey]]
	// mounted and grafted are the values of the rules mount and graft, with the removal in the rules that remove more
	// than their virtual host.
	mounted *memo.Rule[manifest.Key, *mountOut]
	grafted *memo.Rule[flatKey, *graftOut]
}

func newIdentityRules(e *memo.Engine, in identityIn) *identityRules {
	r := &identityRules{in: in, groups: newGroups(e, in)}
	r.groupSet = memo.NewRule(e, "groupset", func(c *memo.Ctx, key tableKey) ordered.Set[*group] {
		set, _ := r.groups.Get(c, key)
		return set.Groups
	}, ordered.Set[*group].Same)
	r.hostWrites = memo.NewRule(e, "hostwrites", r.runHostWrites, deepEqual)
	memo.Each(r.hostWrites, r.groups)
	writers := memo.NewFold[writerAt, writerID](e, "identities", count[writerID], identical[int])
	memo.From(writers, in.mount, func(key manifest.Key, m *mountOut, yield func(memo.Place[writerAt, writerID], struct{})) {
		for gateway, rules := range m.aims(key) {
			yieldWriters(gateway, rules, writerID{Node: flatKey{Route: key}}, yield)
		}
	}, identical)
	memo.From(writers, in.graft, func(key flatKey, g *graftOut, yield func(memo.Place[writerAt, writerID], struct{})) {
		for gateway, rules := range g.aims(key) {
			yieldWriters(gateway, rules, writerID{Node: key}, yield)
		}
	}, identical)
	memo.From(writers, r.hostWrites, func(key tableKey, h *hostWrites, yield func(memo.Place[writerAt, writerID], struct{})) {
		yieldWriters(key.Gateway, h.aims(), writerID{Table: key}, yield)
	}, identical)
	r.names = memo.NewFold[subjectAt, writer](e, "identitynames", gather[writer](compareWriters), ordered.Set[writer].Same)
	memo.From(r.names, writers, func(key writerAt, _ int, yield func(memo.Place[subjectAt, writer], writer)) {
		yield(memo.Place[subjectAt, writer]{Key: key.subjectAt, ID: key.writer}, key.writer)
	}, identical)
	r.identified = memo.NewFold[string, subjectAt](e, "identified", func(struct{}, []memo.Member[subjectAt, struct{}]) struct{} { return struct{}{} }, identical[struct{}])
	memo.From(r.identified, r.names, func(key subjectAt, _ ordered.Set[writer], yield func(memo.Place[string, subjectAt], struct{})) {
		yield(memo.Place[string, subjectAt]{Key: key.Gateway, ID: key}, struct{}{})
	}, identical)
	r.addForged(e)
	return r
}

// ruleAim is the aim of a rule, with the namespace of the rule's route.
type ruleAim struct {
	*aim
	Namespace string
	// Free is a namespace whose policies do not count towards maxIdentityBytes, "" if those of all namespaces count.
	Free string
}

// aims returns, by Gateway, the aims of the rules of a root (the parameter key).
func (m *mountOut) aims(key manifest.Key) map[string][]ruleAim {
	out, seen := map[string][]ruleAim{}, map[portKey]bool{}
	for table, place := range m.Attach.places() {
		if seen[table.portKey] {
			continue
		}
		seen[table.portKey] = true
		flat := m.flat(place.Port)
		out[table.Gateway] = append(out[table.Gateway], ruleAims(flat.Entries, flat.Unplaced, key.Namespace)...)
	}
	return out
}

// aims returns, by Gateway, the aims of the rules that a node adds to virtual hosts.
func (out *graftOut) aims(node flatKey) map[string][]ruleAim {
	all := map[string][]ruleAim{}
	for _, table := range slices.Concat(out.Tables, out.Cut) {
		if _, known := all[table.Gateway]; !known {
			all[table.Gateway] = ruleAims(out.Entries, out.Unplaced, node.Route.Namespace)
		}
	}
	return all
}

// ruleAims returns the aims of rules whose policies write identity headers, and those of rules without an entry
// (flatOut.Unplaced), which have the given namespace.
func ruleAims(entries []*entry, unplaced []*aim, namespace string) (all []ruleAim) {
	for _, e := range entries {
		if e.Aim != nil && len(e.Aim.Writes) > 0 {
			all = append(all, ruleAim{aim: e.Aim, Namespace: e.Rule.Source.Key.Namespace})
		}
	}
	for _, to := range unplaced {
		all = append(all, ruleAim{aim: to, Namespace: namespace})
	}
	return all
}

// yieldWriters yields the identity headers that the policies of some rules write, for each subject: the namespace of
// the policy, that of the rule, and the backends that the rule leads to. For a backend count the policies of its own
// namespace and of cluster paths: another team must not decide what its clients may send. The parameter id says what
// brings the rules.
func yieldWriters(gateway string, rules []ruleAim, id writerID, yield func(memo.Place[writerAt, writerID], struct{})) {
	seen := map[writerAt]bool{}
	for _, rule := range rules {
		for _, by := range rule.Writes {
			subjects := []manifest.Key{namespaceKey(by.Policy.Namespace), namespaceKey(rule.Namespace)}
			for _, backend := range rule.Leads {
				if by.Trusted || by.Policy.Namespace == backend.Namespace {
					subjects = append(subjects, backend)
				}
			}
			counted := !by.Trusted && by.Policy.Namespace != rule.Free
			for _, subject := range subjects {
				for _, header := range by.Headers {
					at := writerAt{subjectAt{gateway, subject}, writer{header.Name, by.Policy, header.Field, counted}}
					if !seen[at] {
						seen[at] = true
						yield(memo.Place[writerAt, writerID]{Key: at, ID: id}, struct{}{})
					}
				}
			}
		}
	}
}

// namespaceKey returns the key of a Namespace.
func namespaceKey(name string) manifest.Key { return manifest.Key{Kind: "Namespace", Name: name} }

// hostWrites has what the policies of a listener write, and the groups of one of its virtual hosts.
type hostWrites struct {
	Writes []*written
	Groups []*group
	Free   string // the namespace of the Gateway
}

// runHostWrites returns what the policies of a virtual host's listener write, nil if they write nothing.
func (r *identityRules) runHostWrites(c *memo.Ctx, key tableKey) *hostWrites {
	at, policed := r.in.listenerOf(c, key)
	if !policed {
		return nil
	}
	writes := r.in.level.Get(c, at).Writes
	if len(writes) == 0 {
		return nil
	}
	out := &hostWrites{Writes: writes, Free: ir.GatewayKey(key.Gateway).Namespace}
	for g := range r.groupSet.Get(c, key).All() {
		out.Groups = append(out.Groups, g)
	}
	return out
}

// aims returns the aims of the rules of the virtual host, as far as the policies of the listener matter.
func (h *hostWrites) aims() (all []ruleAim) {
	if h == nil {
		return nil
	}
	for _, g := range h.Groups {
		all = append(all, ruleAim{&aim{g.Leads, h.Writes}, g.Namespace, h.Free})
	}
	return all
}

// maxIdentityBytes limits the total length, in bytes, of the names of the identity headers that the policies of a
// namespace write at a Gateway. The limit is necessary because virtual hosts and routes repeat all these names.
const maxIdentityBytes = 2 << 10

// overfull says that the policies of a namespace write too many identity headers at a Gateway.
type overfull struct {
	closing
	problem manifest.Problem
}

// runOverfull returns why the routes of a namespace, and those under its policies, answer 500: the names of the
// identity headers that its policies write at the Gateway are together longer than maxIdentityBytes. If they are
// within that limit, the result is nil. Subject must be a Namespace.
func (r *identityRules) runOverfull(c *memo.Ctx, key subjectAt) *overfull {
	writers, _ := r.names.Get(c, key)
	size, last, first := 0, "", writer{}
	for w := range writers.All() {
		if w.Counted && w.Policy.Namespace == key.Subject.Name && w.Header != last {
			size, last = size+len(w.Header), w.Header
			if first.Header == "" {
				first = w
			}
		}
	}
	if size <= maxIdentityBytes {
		return nil
	}
	why := fmt.Sprintf("TooManyCopies: the names of the identity headers of namespace %s at Gateway %s are longer together than %d bytes", key.Subject.Name, key.Gateway, maxIdentityBytes)
	return &overfull{closing{Why: why, At: ir.Part{Kind: ir.PartClosed, Object: key.Subject, Field: "metadata.name"}}, manifest.Problem{
		Code: "TooManyCopies", Severity: manifest.Error, Object: first.Policy, Field: first.Field, Message: why + "; its routes there, and those of its policies, answer 500",
		Hint: "use one header for all routes: clientIdHeader of policies, and what other fields call the user's name",
	}}
}

// report adds the problems of identity headers: an error for each namespace with too many of them at a Gateway, a
// warning for each name that another namespace reads as a credential, and what is wrong with changed rules.
func (r *identityRules) report(all *problemFold) {
	problemsFrom(all, "overfull", r.overfull, func(o *overfull) []manifest.Problem {
		if o == nil {
			return nil
		}
		return []manifest.Problem{o.problem}
	})
	problemsFrom(all, "mounted", r.mounted, func(m *mountOut) []manifest.Problem { return m.placed.Problems })
	problemsFrom(all, "grafted", r.grafted, func(g *graftOut) []manifest.Problem { return g.placed.Problems })
	r.reportClashes(all)
}
