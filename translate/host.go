package translate

import (
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/xds"
)

// hostOut is the result for one virtual host.
type hostOut struct {
	Key     tableKey
	Encoded xds.Host
	Table   ordered.Set[*entry]
	// OnePaths are the groups of more than maxOnePath rules with the same xds.Prefix.
	OnePaths []onePath
	// Guarded are rules of Table that may lose requests by their hostname (guardedBy).
	Guarded ordered.Set[*entry]
	// Open are the rules of Table that take every request of the host (entry.takesAll).
	Open ordered.Set[*entry]
	// Twins are groups of rules that match the same requests.
	Twins [][]*entry
	// Policy has the policies of the host's listener. They apply to each route of the host, except for fields
	// that the route sets itself. Policy is nil if no policy applies.
	Policy *hostPolicy
	// Forged are the identity headers (see identityAt) that the host removes from requests of clients.
	Forged []string
	// Insecure is true if the host has no TLS, and no trusted proxy in front of Envoy can have TLS.
	Insecure bool
	// Rejected is set in two cases: Envoys rejected the host and no connected Envoy accepts it, or some Envoys are
	// too old for a field that the host sets. Rejected is nil in all other cases.
	Rejected *Rejection
}

// hostPolicy has the merged policies of a listener, of its ListenerSet and of its Gateway. It applies to every
// route of the listener's virtual hosts, for the fields that the route does not set itself, and for those that a Layer
// prefers or combines with the route's.
type hostPolicy struct {
	policy.Resolved
	// Layers are the policies before they are merged. They say which fields of a route go before them.
	Layers policy.Stack
	// Extras are the merged fields, nil if no field is set. Backends are the backends of the services that
	// Extras names.
	Extras   *ir.Extras
	Backends []*backend.Key
	// Closed is the reason why all routes of the listener answer 500: a policy cannot be used, too many policies
	// apply, or the policies apply to too many hosts. It is nil if the routes serve.
	Closed *closing
	// StreamsClosed is the reason why connections of TCP, TLS and UDP listeners are refused, nil if they are
	// not. A policy that is valid but cannot be used refuses connections only if it has an acl.
	StreamsClosed *closing
}

func sameHost(a, b *hostOut) bool {
	return a == b || a != nil && b != nil && a.Policy == b.Policy && reflect.DeepEqual(a.Rejected, b.Rejected) && a.Table.Same(b.Table) && a.Encoded.Same(b.Encoded)
}

func compareDomains(a, b *hostOut) int { return strings.Compare(a.Key.Domain, b.Key.Domain) }

// problems returns the problems of a virtual host, nil for a nil host. The causes are many rules with one path,
// users who sign in without TLS, and a policy field that an Envoy lacks.
func (h *hostOut) problems() (problems []manifest.Problem) {
	if h == nil {
		return nil
	}
	for _, path := range h.OnePaths {
		problems = append(problems, path.problem(h.Key.Domain))
	}
	if extras := h.extras(); h.Insecure && extras != nil && extras.OAuth2 != nil {
		i := slices.IndexFunc(h.Policy.Origins, func(o policy.FieldOrigin) bool { return o.Field == ir.FieldOAuth2 })
		problems = append(problems, insecureSignIn(h.Policy.Origins[i].From[0], ir.FieldOAuth2.Path(), h.Key.portKey))
	}
	if h.Rejected != nil && h.Rejected.Lacks != "" && h.Policy != nil {
		if i := slices.IndexFunc(h.Policy.Origins, func(o policy.FieldOrigin) bool { return o.Field == h.Rejected.Lacks }); i >= 0 {
			problems = append(problems, xds.TooOld(h.Policy.Origins[i].From[0], h.Rejected))
		}
	}
	return problems
}

// insecureSignIn returns the warning that users sign in on a port (at) without TLS. The parameters object and
// field say where the warning is shown.
func insecureSignIn(object manifest.Key, field string, at portKey) manifest.Problem {
	return manifest.Problem{
		Code: "SignInWithoutTLS", Severity: manifest.Warning, Object: object, Field: field,
		Message: fmt.Sprintf("users sign in on port %d of Gateway %s, which has no TLS: browsers drop the cookies there, and are redirected again and again", at.Port, at.Gateway),
		Hint:    "attach to an HTTPS listener, and redirect the others to it; or give --trusted-hops if a proxy in front speaks TLS",
	}
}

// extras returns the fields that the virtual host sets for its routes, nil if there are none.
func (h *hostOut) extras() *ir.Extras {
	var held *ir.Extras
	if h.Policy != nil {
		held = h.Policy.Extras
	}
	return withForged(held, h.Forged)
}

// withForged returns a copy of extras in which the field Forged is set. The parameter names is the value: the
// identity headers (see identityAt) that a virtual host removes from clients' requests. If names is empty, the
// result is extras itself.
func withForged(extras *ir.Extras, names []string) *ir.Extras {
	if len(names) == 0 {
		return extras
	}
	out := extras.OrNone()
	out.Forged = names
	return &out
}

// list returns the virtual host in Envoy's encoding, with all routes in one list. It is used for hosts that
// have no tree (see table.tree).
func (h *hostOut) list() xds.Host {
	routes := make([][]byte, 0, h.Table.Len())
	for e := range h.Table.All() {
		routes = append(routes, e.Encoded)
	}
	return xds.VirtualHost(h.Key.Domain, h.extras(), routes)
}

// rules yields the rules of the host as Envoys serve them, with the policy fields of the listener. A rule whose
// match Envoys rejected is left out (see asServed). If no connected Envoy serves the host itself, rules yields a
// single rule, which answers 500. If no Envoy serves even that rule, nothing is yielded.
func (h *hostOut) rules() iter.Seq[*ir.Rule] {
	return func(yield func(*ir.Rule) bool) {
		if h.Rejected != nil && !h.Rejected.Some {
			if !h.Rejected.Match {
				yield(closedHost(h.Key.Gateway, h.Rejected))
			}
			return
		}
		for e := range h.Table.All() {
			rule := asServed(e.Rule)
			if rule == nil {
				continue
			}
			if rule == e.Rule && h.Policy != nil && h.Policy.Closed == nil && len(h.Policy.Origins) > 0 {
				rule = e.under(h.Policy.Layers, h.Policy.Extras)
			}
			if !yield(rule) {
				return
			}
		}
	}
}

// asServed returns a rule in the form that Envoys serve. If Envoys rejected the rule (rule.Rejected is set),
// the result is a rule that answers 500, or UNAVAILABLE for a GRPCRoute. If Envoys rejected the match of the
// rule too, the result is nil. Any other rule is returned unchanged.
func asServed(rule *ir.Rule) *ir.Rule {
	switch {
	case rule.Rejected == nil:
		return rule
	case rule.Rejected.Match:
		return nil
	}
	closed := xds.Closed(rule)
	closed.Action.Respond.Why = refused(rule.Rejected, "the rule")
	closed.Action.Parts = []ir.Part{{Kind: ir.PartClosed, Object: rule.Source.Key, Field: ruleField(rule)}}
	return closed
}

// closedHost returns the rule that replaces all rules of a virtual host, because Envoys rejected the configuration
// of the host. The rule answers 500 to every request. The parameter why is the reason of the Envoys.
func closedHost(gateway string, why *ir.Rejection) *ir.Rule {
	return &ir.Rule{
		Name: "rejected", Source: &ir.Origin{Key: ir.GatewayKey(gateway)}, Root: &ir.Origin{Key: ir.GatewayKey(gateway)}, Position: []int{0, 0},
		Match:  ir.Match{Path: ir.Path{Kind: ir.PathPrefix, Value: "/"}},
		Action: ir.Action{Respond: &ir.Respond{Status: http.StatusInternalServerError, Why: refused(why, "the policies of this host")}},
	}
}

// refused returns the message that an Envoy rejected a rule or a host, or is too old for it. The parameter why
// is the reason. The parameter what names the rule or host in the message, for example "the rule".
func refused(why *ir.Rejection, what string) string {
	if why.Lacks != "" {
		return "an Envoy is too old for " + what + ": " + why.Words
	}
	return "an Envoy rejected " + what + ": " + why.Words
}

// attached returns the TrafficPolicies that apply to a rule: those of the listener, of the rule's route, and of
// the routes above it. It includes policies without any effective field.
func (h *hostOut) attached(rule *ir.Rule) []manifest.Key {
	var out []manifest.Key
	add := func(uses []policy.Use) {
		for _, use := range uses {
			out = append(out, use.Policy)
		}
	}
	if h.Policy != nil {
		add(h.Policy.Uses)
	}
	for e := range h.Table.All() {
		if e.Rule.Name == rule.Name && e.Own != nil {
			add(e.Own.Uses)
			break
		}
	}
	return out
}
