package translate

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/xds"
)

// RejectedPart is a rule, a virtual host or a GatewayExtension that Envoys rejected, with the hash of its
// encoding. If the encoding changes, for example by a policy or a parent, the RejectedPart no longer applies,
// and the quarantine ends.
type RejectedPart struct {
	// Route is the name of the Envoy route of a rule. If the part is a virtual host, Route is "", Table is the name
	// of the RouteConfiguration, and Host is the domain. For any other part, Table and Host are "".
	Table, Host, Route string
	// Requirement is "namespace/name" of a GatewayExtension with jwt. Table, Host and Route are then "".
	Requirement string
	Sum         [sha256.Size]byte // the hash; for a virtual host, that of its encoding without routes
}

// Rejection is the reason why Envoys rejected a RejectedPart.
type Rejection = ir.Rejection

// Quarantine has the rules, virtual hosts and GatewayExtensions that Envoys rejected and that no connected Envoy
// accepts, and those that some Envoys are too old for. It is the only input that comes from Envoys
// (docs/design/flow.md). Problems, statuses and the ir.View show the Quarantine. The Quarantine changes no
// resource: the server itself replaces or omits what an Envoy rejected, for that Envoy. A Quarantine is immutable.
type Quarantine map[RejectedPart]Rejection

// rejections are the entries of a Quarantine for one route, one virtual host or one GatewayExtension.
type rejections map[RejectedPart]Rejection

// rejectedHost is a virtual host: the name of a RouteConfiguration and a domain.
type rejectedHost struct{ table, domain string }

// quarantineInputs are the entries of the Quarantine as inputs: by route, by virtual host and by
// GatewayExtension.
type quarantineInputs struct {
	routes     *memo.Input[manifest.Key, rejections]
	hosts      *memo.Input[rejectedHost, rejections]
	extensions *memo.Input[string, rejections] // by "namespace/name"
	// The maps whose names begin with present have the current values of the three inputs. The method replace compares
	// these values with the new ones, to find the keys to delete.
	presentRoutes     map[manifest.Key]rejections
	presentHosts      map[rejectedHost]rejections
	presentExtensions map[string]rejections
}

func newQuarantineInputs(e *memo.Engine) *quarantineInputs {
	return &quarantineInputs{
		routes:     memo.NewInput[manifest.Key](e, "quarantine", deepEqual[rejections]),
		hosts:      memo.NewInput[rejectedHost](e, "quarantine", deepEqual[rejections]),
		extensions: memo.NewInput[string](e, "quarantine", deepEqual[rejections]),
	}
}

// replace stores the entries of a Quarantine (the parameter set) in the three inputs. It deletes all other entries
// from the inputs.
func (q *quarantineInputs) replace(set Quarantine) {
	routes, hosts, extensions := map[manifest.Key]rejections{}, map[rejectedHost]rejections{}, map[string]rejections{}
	for part, rejection := range set {
		switch {
		case part.Requirement != "":
			put(extensions, part.Requirement, part, rejection)
		case part.Route == "":
			put(hosts, rejectedHost{part.Table, part.Host}, part, rejection)
		default:
			put(routes, holderOf(part.Route), part, rejection)
		}
	}
	replace(q.routes, q.presentRoutes, routes)
	replace(q.hosts, q.presentHosts, hosts)
	replace(q.extensions, q.presentExtensions, extensions)
	q.presentRoutes, q.presentHosts, q.presentExtensions = routes, hosts, extensions
}

// put adds one entry of the Quarantine to the rejections of a key (at[key]). If the key has no rejections yet,
// put creates them.
func put[K comparable](at map[K]rejections, key K, part RejectedPart, rejection Rejection) {
	if at[key] == nil {
		at[key] = rejections{}
	}
	at[key][part] = rejection
}

// replace sets the values of an input to those in the map after. The map before has the present values of the
// input. Keys that are in before and not in after are deleted.
func replace[K comparable, V any, M ~map[K]V](in *memo.Input[K, V], before, after M) {
	for key, value := range after {
		in.Set(key, value)
	}
	for key := range before {
		if _, still := after[key]; !still {
			in.Delete(key)
		}
	}
}

// holderOf returns the key of the route that a rule belongs to, from the name of the rule.
func holderOf(name string) manifest.Key { return RuleOf(name).Object }

// RuleOf returns the route and the path of a rule from the name of its Envoy route. For example,
// "HTTPRoute/infra/root/0/0>team/child/1/0" is spec.rules[1] of team/child. After the last ">", the parts of the name
// are the kind, the namespace, the name and the index of the rule; the kind may be absent. If the part for the index
// is not a number, the path is "spec.rules". If this part is absent, RuleOf returns the zero Field.
func RuleOf(name string) manifest.Field {
	name = name[strings.LastIndexByte(name, '>')+1:]
	kind := "HTTPRoute" // in the name of a delegated rule, only the root has a kind
	for _, k := range route.Kinds() {
		if rest, ok := strings.CutPrefix(name, k.Name+"/"); ok {
			kind, name = k.Name, rest
			break
		}
	}
	parts := strings.SplitN(name, "/", 4)
	if len(parts) < 3 {
		return manifest.Field{}
	}
	field := manifest.Field{Object: manifest.Key{Group: gwv1.GroupName, Kind: kind, Namespace: parts[0], Name: parts[1]}, Path: "spec.rules"}
	if number, err := strconv.Atoi(parts[2]); err == nil {
		field.Path = fmt.Sprintf("spec.rules[%d]", number)
	}
	return field
}

// mark returns an entry (e) with its rejection by Envoys. If r has no rejection of the entry, marked is e and
// rejection is nil. If some Envoys still serve the entry (Rejection.Some), marked is e as well. If no Envoy
// serves the entry, marked is a copy of e with Rule.Rejected set.
func (r rejections) mark(e *entry) (marked *entry, rejection *Rejection) {
	if len(r) == 0 {
		return e, nil
	}
	said, rejected := r[RejectedPart{Route: e.Rule.Name, Sum: sha256.Sum256(e.Encoded)}]
	if !rejected {
		return e, nil
	}
	if said.Some {
		return e, &said
	}
	out, rule := *e, *e.Rule
	rule.Rejected, out.Rule = &said, &rule
	return &out, &said
}

// markAll calls mark for each entry, and returns the marked entries. The parameter own has the same entries in
// the same order, but as they were before listener policies and client certificates were added. The result
// problems has a problem for each rejected entry that these additions changed; a rejection of an unchanged entry is
// reported elsewhere. The result words is Envoy's message about the last entry that no Envoy serves, "" if there
// is none.
func (r rejections) markAll(entries, own []*entry) (marked []*entry, problems []manifest.Problem, words string) {
	if len(r) == 0 {
		return entries, nil, ""
	}
	for i, e := range entries {
		now, rejection := r.mark(e)
		if rejection != nil && !rejection.Some {
			words = rejection.Words
		}
		if rejection != nil && e != own[i] {
			problems = append(problems, xds.Rejected(e.Rule, rejection))
		}
		marked = append(marked, now)
	}
	return marked, problems, words
}
