package plan

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// Report is what differs between two configurations. docs/json.md documents its JSON.
type Report struct {
	// Summary is one line that can be understood alone.
	Summary string `json:"summary"`
	// Changes is false if gatefold does and reports the same for both configurations.
	Changes bool `json:"changes"`
	// Requests are changes whose example gets another answer. Handling are changes whose example gets the same
	// answer, but is handled differently: with another timeout, for example.
	Requests []Change `json:"requests"`
	Handling []Change `json:"handling,omitempty"`
	Judged
	// Undecided are the requests of changed rules for which no example was found, although one may exist.
	Undecided []Region `json:"undecided,omitempty"`
	// Unasked are OpenID issuers without known endpoints: only `gatefold serve` queries an issuer. plan compares
	// rules that need such an issuer as rules that answer 500.
	Unasked []string `json:"unasked,omitempty"`
	// Introduced are the problems that only the new configuration has. Fixed are the problems that only the old
	// configuration has.
	Introduced []manifest.Problem `json:"introduced,omitempty"`
	Fixed      []manifest.Problem `json:"fixed,omitempty"`
	// Policies are the policy fields that rules gain, lose or change.
	Policies     []PolicyChange      `json:"policies,omitempty"`
	Listeners    []ListenerChange    `json:"listeners,omitempty"`
	Certificates []CertificateChange `json:"certificates,omitempty"`
	Objects      []ObjectChange      `json:"objects,omitempty"`
	// Resources are the Envoy resources that differ, by type.
	Resources []ResourceChange `json:"resources,omitempty"`
}

// Kind is the kind of a difference.
type Kind string

// The kinds of differences.
const (
	Added   Kind = "added"
	Removed Kind = "removed"
	Changed Kind = "changed"
	// Closed is the kind of a policy field that is not applied. Its requests are answered with 500, or UNAVAILABLE
	// by a GRPCRoute.
	Closed Kind = "closed"
	// Invalid is the kind of an object that only the old configuration serves, because the object's definition in the
	// new configuration has an error.
	Invalid Kind = "invalid"
)

// Change is a group of regions of requests that change in the same way.
type Change struct {
	// Effect is what changes, in one word. Changes are sorted by Effect.
	Effect Effect `json:"effect"`
	// Lost are the policy fields that no longer apply, as paths below the policy's spec.
	Lost []ir.Field `json:"lost,omitempty"`
	// Held is set only in a comparison with a running gatefold. Held are objects of the old configuration whose newest
	// versions have errors. The running gatefold keeps their last valid versions, and with them the answer before. The
	// answer after is that of a start without a saved state.
	Held []manifest.Key `json:"held,omitempty"`
	// Regions has at least one region. Example is a request of the first region.
	Regions []Region `json:"regions"`
	Example Example  `json:"example"`
	// Before and After are the answers to the Example.
	Before Answer `json:"before"`
	After  Answer `json:"after"`
	// Reasons are why the answer or the handling changes, the most important first.
	Reasons []Reason `json:"reasons"`
}

// Region is a set of requests for one host. All of them match the same rule in the old configuration (Before), and
// the same rule in the new configuration (After).
type Region struct {
	Gateway string `json:"gateway"` // "namespace/name"
	Port    uint32 `json:"port"`
	Scheme  string `json:"scheme"`
	// Host is a hostname, a wildcard, or "*" for every other host.
	Host string `json:"host"`
	// Match describes the requests in words.
	Match string `json:"match"`
	// Before and After are the rules that match, nil if no rule matches.
	Before *Rule `json:"before,omitempty"`
	After  *Rule `json:"after,omitempty"`
	// Why is set only in Report.Undecided. It is the reason why no example was found for the region, or "" if Match
	// already says it.
	Why string `json:"why,omitempty"`

	otherRule bool // Before and After are two rules, and not one rule that was edited or moved
}

// Rule is a rule of a route.
type Rule struct {
	Object manifest.Key `json:"object"`
	// Rule and Match are indexes from 0. RuleName is rules[].name.
	Rule     int            `json:"rule"`
	RuleName string         `json:"ruleName,omitempty"`
	Match    int            `json:"match"`
	At       explain.Source `json:"at"`
	// envoy is the name of the Envoy route.
	envoy string
}

// Words returns a text that names the rule by its object, its index and its name.
func (r *Rule) Words() string {
	if r.RuleName != "" {
		return fmt.Sprintf("%s, rule %d (%s)", r.Object, r.Rule, r.RuleName)
	}
	return fmt.Sprintf("%s, rule %d", r.Object, r.Rule)
}

// Envoy returns the name of the Envoy route. It returns "" if r is nil.
func (r *Rule) Envoy() string {
	if r == nil {
		return ""
	}
	return r.envoy
}

// Example is a request, or a connection. A connection has only a URL, and From if the client's address matters.
type Example struct {
	Method  string      `json:"method,omitempty"`
	URL     string      `json:"url"`
	Headers http.Header `json:"headers,omitempty"`
	// From is the client's address, "" if the address does not matter.
	From string `json:"from,omitempty"`

	query explain.Query
}

// Query returns the Example as a query for package explain.
func (e *Example) Query() explain.Query { return e.query }

// Answer is what happens to the Example.
type Answer struct {
	Outcome    explain.OutcomeKind `json:"outcome"`
	Status     uint32              `json:"status,omitempty"`
	GRPCStatus string              `json:"grpcStatus,omitempty"`
	Location   string              `json:"location,omitempty"`
	// Reason is why Envoy itself answers, or closes the connection. It is "" if a backend answers, and may be ""
	// in other cases.
	Reason   string  `json:"reason,omitempty"`
	Backends []Share `json:"backends,omitempty"`
	// Unless lists facts that would change the answer: values that the Example does not have, and what an external
	// service may do.
	Unless []string `json:"unless,omitempty"`

	policed bool // a policy, not a backend or the rule, answers
	login   bool // the policy asks for a login: a password, key, token or sign-in
}

// sameAs reports whether two answers are the same for the client and the backends. It ignores:
//   - the field Unless, and the timeout header that backends receive
//   - the field Reason of an answer that is not Forwarded (Outcome)
//   - the field Backends of an answer that is not Forwarded, if each backend has the same Status as the answer: then
//     the client gets this status, whichever backend is chosen
func (a Answer) sameAs(b Answer) bool {
	seen := func(a Answer) Answer {
		a.Unless, a.policed, a.login, a.Backends = nil, false, false, slices.Clone(a.Backends)
		if a.Outcome != explain.Forwarded {
			a.Reason = "" // the reason is not part of the answer
		}
		if a.Outcome != explain.Forwarded && !slices.ContainsFunc(a.Backends, func(b Share) bool { return b.Status != a.Status }) {
			a.Backends = nil // the client gets the same status from every backend
		}
		for i := range a.Backends {
			if receives := a.Backends[i].Receives; receives != nil {
				one := *receives
				one.Headers = one.Headers.Clone()
				one.Headers.Del("X-Envoy-Expected-Rq-Timeout-Ms")
				a.Backends[i].Receives = &one
			}
		}
		return a
	}
	return reflect.DeepEqual(seen(a), seen(b))
}

// Share is a backend that gets some of the requests.
type Share struct {
	// Cluster is "" if the backend reference is not resolved. Status is the HTTP status that Envoy answers by
	// itself to these requests, because no backend can. It is 0 if the backend answers, and for connections.
	Cluster    string  `json:"cluster,omitempty"`
	Status     uint32  `json:"status,omitempty"`
	GRPCStatus string  `json:"grpcStatus,omitempty"`
	Percent    float64 `json:"percent"`
	// Endpoints are the addresses of the backend.
	Endpoints []string `json:"endpoints,omitempty"`
	// Receives is the request that the backend gets. It is nil if the backend gets none, and for connections.
	Receives *explain.ReceivesReport `json:"receives,omitempty"`
}

// Words returns the answer as one line of text. The text has at most maxUnless of the facts in the field Unless.
func (a Answer) Words() string {
	words := a.plainWords()
	if len(a.Unless) > 0 {
		words += ", unless " + strings.Join(a.Unless[:min(len(a.Unless), maxUnless)], ", or ")
	}
	return words
}

// maxUnless bounds how many texts of the field Answer.Unless are in the result of Answer.Words.
const maxUnless = 3

// plainWords returns the answer as one line of text, without a.Unless.
func (a Answer) plainWords() string {
	text := strings.TrimSpace(fmt.Sprintf("%d %s", a.Status, http.StatusText(int(a.Status))))
	if a.GRPCStatus != "" {
		text = "grpc-status " + a.GRPCStatus
	}
	switch a.Outcome {
	case explain.Forwarded:
		var all []string
		for _, b := range a.Backends {
			all = append(all, b.words(len(a.Backends) > 1))
		}
		return strings.Join(all, ", ")
	case explain.Redirected:
		text += ", " + a.Location
	case explain.NoListener:
		text = "no connection"
	case explain.Closed:
		text = "closed"
	}
	if a.Reason != "" {
		text += ": " + a.Reason
	}
	return text
}

// words returns a share as text. If the parameter percent is true, the text begins with the percentage.
func (s Share) words(percent bool) string {
	text := s.Cluster
	switch {
	case s.Cluster == "" && s.Status == 0:
		text = "a reference that is not resolved (closed)"
	case s.GRPCStatus != "":
		text = strings.TrimSpace(text + " grpc-status " + s.GRPCStatus)
	case s.Status != 0:
		text = strings.TrimSpace(fmt.Sprintf("%s answered %d", text, s.Status))
	}
	if percent {
		text = fmt.Sprintf("%.4g%% %s", s.Percent, text)
	}
	return text
}

// Reason is one difference between the two configurations, and where it is written. It explains why a Change
// happens.
type Reason struct {
	Text string `json:"text"`
	// At are the places of the difference. If a rule or field was removed, its place is in the old configuration.
	At []Place `json:"at,omitempty"`
}

// Place is the place of a field in the old or the new configuration.
type Place struct {
	explain.Source
	// Before is true if the place is in the old configuration, which was served before the change.
	Before bool `json:"before,omitempty"`
}

// PolicyChange is a policy field that rules gain (Added), lose (Removed) or have with another value (Changed).
// If the policy of the field makes the rules fail closed, the Kind is Closed.
type PolicyChange struct {
	Kind  Kind   `json:"change"`
	Field string `json:"field"`
	// Before and After are what the field does, in words. If the Kind is Closed, After is the reason.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Policies are the objects with the field. For a Removed field these are objects of the old configuration.
	Policies []manifest.Key `json:"policies,omitempty"`
	// Routes are the routes of the rules that change. Rules is the number of these rules.
	Routes []manifest.Key `json:"routes"`
	Rules  int            `json:"rules"`

	rules map[string]bool // keys of the rules that are counted in Rules
}

// ListenerChange is a port of a Gateway whose Envoy listener differs.
type ListenerChange struct {
	Kind    Kind   `json:"change"`
	Gateway string `json:"gateway"`
	Port    uint32 `json:"port"`
	Scheme  string `json:"scheme"`
	// Envoy is the name of the Envoy listener.
	Envoy string `json:"envoy"`
	// Drains is true if Envoy closes some open connections after their requests have ended.
	Drains bool `json:"drains"`
	// Draining are the listeners of the Gateway whose connections Envoy drains.
	Draining []string `json:"draining,omitempty"`
	What     string   `json:"what,omitempty"`
}

// CertificateChange is a certificate of a listener that differs, or that only one configuration has.
type CertificateChange struct {
	Kind   Kind         `json:"change"`
	Object manifest.Key `json:"object"` // the Secret
	// Before and After are the beginnings of the SHA-256 of the certificate, in hex.
	Before string   `json:"before,omitempty"`
	After  string   `json:"after,omitempty"`
	Names  []string `json:"names,omitempty"`
	// NotAfter is the date on which the certificate expires. If the certificate was removed, it is the date of
	// the removed one.
	NotAfter string `json:"notAfter,omitempty"`
}

// ObjectChange is an object that differs.
type ObjectChange struct {
	Kind   Kind         `json:"change"`
	Object manifest.Key `json:"object"`
	At     *store.Place `json:"at,omitempty"`
}

// ResourceChange counts the Envoy resources of a type that differ.
type ResourceChange struct {
	// Type is the last part of the type's name, such as "RouteConfiguration".
	Type    string `json:"type"`
	Added   int    `json:"added,omitempty"`
	Removed int    `json:"removed,omitempty"`
	Changed int    `json:"changed,omitempty"`
}
