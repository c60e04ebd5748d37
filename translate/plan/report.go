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
	// Summary is one line, which can be read alone.
	Summary string `json:"summary"`
	// Changes is false if nothing differs that gatefold would do or report.
	Changes bool `json:"changes"`
	// Requests are the requests that get another answer, Handling those that are handled otherwise
	// and whose example gets the same answer: another timeout, for example.
	Requests []Change `json:"requests"`
	Handling []Change `json:"handling,omitempty"`
	// Undecided are rules that changed, and for which no request was found although one may be there.
	Undecided []Region `json:"undecided,omitempty"`
	// Unasked are issuers of OpenID whose endpoints only `gatefold serve` asks for: plan compares rules that need
	// them as closed.
	Unasked []string `json:"unasked,omitempty"`
	// Introduced and Fixed are problems.
	Introduced []manifest.Problem `json:"introduced,omitempty"`
	Fixed      []manifest.Problem `json:"fixed,omitempty"`
	// Policies are the fields of policies that rules gain, lose or have otherwise.
	Policies     []PolicyChange      `json:"policies,omitempty"`
	Listeners    []ListenerChange    `json:"listeners,omitempty"`
	Certificates []CertificateChange `json:"certificates,omitempty"`
	Objects      []ObjectChange      `json:"objects,omitempty"`
	// Resources are the Envoy resources that differ, by type.
	Resources []ResourceChange `json:"resources,omitempty"`
}

// Kind is the kind of a difference.
type Kind string

// The ways in which something differs.
const (
	Added   Kind = "added"
	Removed Kind = "removed"
	Changed Kind = "changed"
	// Closed is a policy's: it is not in force, and its requests are answered with 500.
	Closed Kind = "closed"
)

// Change is a group of regions of requests that change in the same way.
type Change struct {
	// Effect is what changes, in a word; changes are sorted by it.
	Effect Effect `json:"effect"`
	// Lost are the fields of policies that no longer hold, as paths below the policy's spec.
	Lost []ir.Field `json:"lost,omitempty"`
	// Regions are never empty. Example is a request of the first.
	Regions []Region `json:"regions"`
	Example Example  `json:"example"`
	// Before and After are the answers to the Example.
	Before Answer `json:"before"`
	After  Answer `json:"after"`
	// Reasons say why, most important first.
	Reasons []Reason `json:"reasons"`
}

// Region is the requests for one host that one rule matches before and one rule after.
type Region struct {
	Gateway string `json:"gateway"` // "namespace/name"
	Port    uint32 `json:"port"`
	Scheme  string `json:"scheme"`
	// Host is a hostname, a wildcard, or "*" for every other host.
	Host string `json:"host"`
	// Match is the condition as text.
	Match string `json:"match"`
	// Before and After are the rules; nil if no rule takes the requests.
	Before *Rule `json:"before,omitempty"`
	After  *Rule `json:"after,omitempty"`
	// Why says why an undecided region has no example.
	Why string `json:"why,omitempty"`
}

// Rule is a rule of a route.
type Rule struct {
	Object manifest.Key `json:"object"`
	// Rule and Match count from 0. RuleName is rules[].name.
	Rule     int            `json:"rule"`
	RuleName string         `json:"ruleName,omitempty"`
	Match    int            `json:"match"`
	At       explain.Source `json:"at"`
	// envoy is the name of the Envoy route.
	envoy string
}

// Words names the rule.
func (r *Rule) Words() string {
	if r.RuleName != "" {
		return fmt.Sprintf("%s, rule %d (%s)", r.Object, r.Rule, r.RuleName)
	}
	return fmt.Sprintf("%s, rule %d", r.Object, r.Rule)
}

// Envoy returns the name of the Envoy route, "" for nil.
func (r *Rule) Envoy() string {
	if r == nil {
		return ""
	}
	return r.envoy
}

// Example is a request, or a connection, which has only a URL.
type Example struct {
	Method  string      `json:"method,omitempty"`
	URL     string      `json:"url"`
	Headers http.Header `json:"headers,omitempty"`
	// From is the client's address, "" if it does not matter.
	From string `json:"from,omitempty"`

	query explain.Query
}

// Query returns the question for explain.
func (e *Example) Query() explain.Query { return e.query }

// Answer is what happens to the Example.
type Answer struct {
	Outcome    explain.OutcomeKind `json:"outcome"`
	Status     uint32              `json:"status,omitempty"`
	GRPCStatus string              `json:"grpcStatus,omitempty"`
	Location   string              `json:"location,omitempty"`
	// Reason says why Envoy answers by itself, "" if nothing is known beside the rule.
	Reason   string  `json:"reason,omitempty"`
	Backends []Share `json:"backends,omitempty"`
	// Unless says what may happen instead: it depends on what the example does not say, or on a service.
	Unless []string `json:"unless,omitempty"`

	policed bool // a policy answers
}

// sameAs reports whether clients and backends get the same, as far as the example shows. It ignores
// the reason of a local reply and the header with the timeout for backends.
func (a Answer) sameAs(b Answer) bool {
	seen := func(a Answer) Answer {
		a.Unless, a.policed, a.Backends = nil, false, slices.Clone(a.Backends)
		if a.Outcome != explain.Forwarded {
			a.Reason = "" // why Envoy answers so is not part of the answer
		}
		if a.Outcome != explain.Forwarded && !slices.ContainsFunc(a.Backends, func(b Share) bool { return b.Status != a.Status }) {
			a.Backends = nil // the client gets the status, whichever backend it is of
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
	// Cluster is "" for a reference that is not resolved. Status is the answer for its share if no
	// backend answers.
	Cluster    string  `json:"cluster,omitempty"`
	Status     uint32  `json:"status,omitempty"`
	GRPCStatus string  `json:"grpcStatus,omitempty"`
	Percent    float64 `json:"percent"`
	// Endpoints are the addresses of the backend.
	Endpoints []string `json:"endpoints,omitempty"`
	// Receives is the request that the backend gets.
	Receives *explain.ReceivesReport `json:"receives,omitempty"`
}

// Words returns the answer in one line.
func (a Answer) Words() string {
	words := a.plainWords()
	if len(a.Unless) > 0 {
		words += ", unless " + strings.Join(a.Unless[:min(len(a.Unless), maxUnless)], ", or ")
	}
	return words
}

// maxUnless bounds what may happen instead in one line.
const maxUnless = 3

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

// Reason says what differs, and where that is written.
type Reason struct {
	Text string `json:"text"`
	// At are the places. Those of a removed rule or field are in the configuration before.
	At []Place `json:"at,omitempty"`
}

// Place is a field in one of the configurations.
type Place struct {
	explain.Source
	// Before is true for a place in the configuration before.
	Before bool `json:"before,omitempty"`
}

// PolicyChange is a policy field that rules gain (Added), lose (Removed) or have with another value
// (Changed), or that closes them (Closed).
type PolicyChange struct {
	Kind  Kind   `json:"change"`
	Field string `json:"field"`
	// Before and After say what it does; After of a Closed one says why.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Policies are the objects with the field: those before for a field that is lost.
	Policies []manifest.Key `json:"policies,omitempty"`
	// Routes are the routes with such rules, and Rules is how many rules these are.
	Routes []manifest.Key `json:"routes"`
	Rules  int            `json:"rules"`

	rules map[string]bool // those counted
}

// ListenerChange is a port of a Gateway that differs.
type ListenerChange struct {
	Kind    Kind   `json:"change"`
	Gateway string `json:"gateway"`
	Port    uint32 `json:"port"`
	Scheme  string `json:"scheme"`
	// Envoy is the name of the Envoy listener.
	Envoy string `json:"envoy"`
	// Drains is true if Envoy closes connections that are open, once their requests have ended.
	Drains bool `json:"drains"`
	// Draining are the listeners of the Gateway whose connections these are.
	Draining []string `json:"draining,omitempty"`
	What     string   `json:"what,omitempty"`
}

// CertificateChange is a certificate that a listener presents.
type CertificateChange struct {
	Kind   Kind         `json:"change"`
	Object manifest.Key `json:"object"` // the Secret
	// Before and After are the beginnings of the SHA-256 of the certificate, in hex.
	Before string   `json:"before,omitempty"`
	After  string   `json:"after,omitempty"`
	Names  []string `json:"names,omitempty"`
	// NotAfter is when the certificate After, or else the one Before, expires, as a date.
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
