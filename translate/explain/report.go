package explain

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// Report is an Answer in the form that commands and pages show, with places, reasons and problems.
// docs/json.md documents its JSON.
type Report struct {
	Request RequestReport `json:"request"`
	// Outcome is what happens to the request. Reason says why if no backend answers.
	Outcome OutcomeKind `json:"outcome"`
	Reason  string      `json:"reason,omitempty"`
	// ReasonAt is the field that decides, if a policy answers and the field is known.
	ReasonAt *Source `json:"reasonAt,omitempty"`
	// Status is the HTTP status of an answer without a backend, else 0.
	Status   uint32 `json:"status,omitempty"`
	Location string `json:"location,omitempty"`
	// GRPCStatus is what a gRPC client gets instead of Status, such as "12 UNIMPLEMENTED"; the
	// HTTP status is then 200.
	GRPCStatus string `json:"grpcStatus,omitempty"`
	// Caveats are texts about what may change the outcome and is not known here: answers of
	// external services, limits that depend on earlier requests, and rules that match a value
	// which the question lacks.
	Caveats []string `json:"caveats,omitempty"`
	// Suggestions name what exists and is most like what was not found, nearest first:
	// URLs, hosts or paths.
	Suggestions []string `json:"suggestions,omitempty"`
	// Delegation is the rule that delegated the path, if none of the routes below it matches
	// the request.
	Delegation *DelegationReport `json:"delegation,omitempty"`
	Listener   *ListenerReport   `json:"listener,omitempty"`
	// Route is the rule that wins; nil if none matches the request.
	Route    *RouteReport    `json:"route,omitempty"`
	Actions  []ActionReport  `json:"actions,omitempty"`
	Backends []BackendReport `json:"backends,omitempty"`
	// Policies are the policies on the way of the request, at most 100: from the Gateway down
	// to the rule, then those of the backends.
	Policies []PolicyReport `json:"policies,omitempty"`
	// NearMisses are the rules that nearly matched, in the order of the table, at most 40.
	NearMisses []NearMissReport `json:"nearMisses,omitempty"`
	// NotAccepted are the routes that a route of the host does not accept, or not with all their matches.
	// They are listed where no route takes the request, at most 20.
	NotAccepted []NotAcceptedReport `json:"notAccepted,omitempty"`
	// NotMatched is how many rules before the winner were compared and did not match.
	NotMatched int `json:"notMatched"`
	// Problems are those of the objects on the way of the request and of rules that might have
	// matched it, the most likely cause first, at most 20. MoreProblems counts the other
	// problems of routes of the same virtual host.
	Problems     []manifest.Problem `json:"problems,omitempty"`
	MoreProblems int                `json:"moreProblems,omitempty"`
}

// OutcomeKind is the type of an outcome.
type OutcomeKind string

// What can happen to a request.
const (
	Forwarded  OutcomeKind = "forward"     // a backend answers
	Redirected OutcomeKind = "redirect"    // the client is sent elsewhere
	Responded  OutcomeKind = "respond"     // the rule answers with Status by itself
	NotFound   OutcomeKind = "not-found"   // no rule takes it: 404
	Rejected   OutcomeKind = "rejected"    // Envoy answers before it looks for a route
	NoListener OutcomeKind = "no-listener" // nothing listens on the port
	Closed     OutcomeKind = "closed"      // a connection is closed, a datagram dropped
)

// RequestReport is the request that was asked about.
type RequestReport struct {
	// Method is "" for a connection: tcp://, tls:// or udp://.
	Method  string      `json:"method"`
	URL     string      `json:"url"`
	Headers http.Header `json:"headers,omitempty"`
}

// ListenerReport is the listener that accepts the request.
type ListenerReport struct {
	Gateway string `json:"gateway"` // "namespace/name"
	Name    string `json:"name"`    // in the object of At
	Port    uint32 `json:"port"`
	// Envoy is the name of the Envoy listener.
	Envoy string `json:"envoy"`
	// At is where the listener is written: in the Gateway, or in one of its ListenerSets.
	At Source `json:"at"`
	// Certificates are the certificates of a TLS listener. Envoy sends the first that fits the
	// server name.
	Certificates []CertificateReport `json:"certificates,omitempty"`
	// VirtualHost is the domain of the virtual host that the host matches, "" for none.
	VirtualHost string `json:"virtualHost,omitempty"`
	// Path is the path that is matched, without the query. Normalized is true if it differs
	// from the request's.
	Path       string `json:"path"`
	Normalized bool   `json:"normalized,omitempty"`
}

// CertificateReport is the certificate of one Secret.
type CertificateReport struct {
	Object manifest.Key `json:"object"`
	// Names are the DNS names and IP addresses of the certificate.
	Names    []string  `json:"names,omitempty"`
	NotAfter time.Time `json:"notAfter,omitzero"`
	At       Source    `json:"at"`
}

// RouteReport is one rule of the table.
type RouteReport struct {
	// Name is the name of the Envoy route.
	Name string `json:"name"`
	// Match is the whole condition as text, including what parent routes add.
	Match string `json:"match"`
	// Weight is the weight of the route (EP-11466).
	Weight int32 `json:"weight,omitempty"`
	// Guard is true if the rule answers 500 in place of something that could not be resolved.
	Guard bool `json:"guard,omitempty"`
	// Hops are the matches from the route that is attached to the Gateway down to the one with
	// the rule, which is the last.
	Hops []HopReport `json:"hops"`
}

// HopReport is one match on the way from the root route to the rule that wins.
type HopReport struct {
	Object manifest.Key `json:"object"`
	// Rule and Match count from 0; Match is -1 for a rule that was added for oauth2. RuleName is rules[].name.
	Rule     int    `json:"rule"`
	RuleName string `json:"ruleName,omitempty"`
	Match    int    `json:"match"`
	// By says how the next hop was found: "delegation" (this rule names the route) or
	// "inclusion" (the route names this one as parent); "" for the last.
	By      string `json:"by,omitempty"`
	At      Source `json:"at"`
	RuleAt  Source `json:"ruleAt"`
	MatchAt Source `json:"matchAt"`
}

// ActionReport is something that the rule does with the request or the response.
type ActionReport struct {
	// Type is the type of a filter, "timeouts", "retry", IdentityHeader, or "TrafficPolicy" and a
	// field.
	Type string `json:"type"`
	// Does is a text that says what it does.
	Does string `json:"does"`
	// From are the places where it is written: several if they were merged.
	From []Source `json:"from"`
}

// IdentityHeader is the Type of an action that removes a header which only filters may set.
const IdentityHeader = "identity header"

// BackendReport is a target of the request.
type BackendReport struct {
	// Cluster is "" for a reference that is not resolved: its share is answered with Status,
	// and Reason says why. A cluster that gets no requests has a Status and Closed, too.
	Cluster string `json:"cluster,omitempty"`
	Status  uint32 `json:"status,omitempty"`
	// GRPCStatus is what a gRPC client gets instead of Status.
	GRPCStatus string  `json:"grpcStatus,omitempty"`
	Reason     string  `json:"reason,omitempty"`
	Weight     uint32  `json:"weight"`
	Percent    float64 `json:"percent"`
	At         Source  `json:"at"`
	// Objects are the objects that define the endpoints ("address:port").
	Objects   []Source `json:"objects,omitempty"`
	Endpoints []string `json:"endpoints,omitempty"`
	// TLS is nil for clear text.
	TLS *TLSReport `json:"tls,omitempty"`
	// Closed says why it gets no requests, "" if it does.
	Closed string `json:"closed,omitempty"`
	// Receives is the request that the backend gets; nil for one without a cluster.
	Receives *ReceivesReport `json:"receives,omitempty"`
}

// LocalReply returns, as text, what clients get for a share that no backend gets.
func (b BackendReport) LocalReply() string {
	if b.Status == 0 {
		return "closed"
	}
	return fmt.Sprintf("answered %d", b.Status)
}

// ReceivesReport is a request as a backend receives it, with the headers that Envoy adds.
// ClientAddress and NewRequestID stand for values that the question lacks.
type ReceivesReport struct {
	Method  string      `json:"method"`
	Host    string      `json:"host"`
	Path    string      `json:"path"`
	Headers http.Header `json:"headers,omitempty"`
}

// NearMissReport is a rule that nearly matched the request, and why it does not answer it.
type NearMissReport struct {
	Object manifest.Key `json:"object"`
	Rule   int          `json:"rule"`
	Match  string       `json:"match"`
	Reason string       `json:"reason"`
	At     Source       `json:"at"`
}

// NotAcceptedReport is a route that a parent does not accept, or not with all its matches, in
// the words of its status.
type NotAcceptedReport struct {
	Object  manifest.Key `json:"object"`
	Parent  manifest.Key `json:"parent"`
	Reason  string       `json:"reason"`
	Message string       `json:"message"`
	At      Source       `json:"at"`
}

// sources returns every Source of the report.
func (r *Report) sources() []*Source {
	all := r.way()
	if r.ReasonAt != nil {
		all = append(all, r.ReasonAt)
	}
	if r.Delegation != nil {
		all = append(all, &r.Delegation.At)
	}
	for i := range r.NearMisses {
		all = append(all, &r.NearMisses[i].At)
	}
	for i := range r.NotAccepted {
		all = append(all, &r.NotAccepted[i].At)
	}
	return all
}

// way returns the Sources of the chain and rule that lead to the answer.
func (r *Report) way() []*Source {
	var all []*Source
	list := func(of []Source) {
		for i := range of {
			all = append(all, &of[i])
		}
	}
	if r.Listener != nil {
		all = append(all, &r.Listener.At)
		for i := range r.Listener.Certificates {
			all = append(all, &r.Listener.Certificates[i].At)
		}
	}
	if r.Route != nil {
		for i := range r.Route.Hops {
			h := &r.Route.Hops[i]
			all = append(all, &h.At, &h.RuleAt, &h.MatchAt)
		}
	}
	for i := range r.Actions {
		list(r.Actions[i].From)
	}
	for i := range r.Backends {
		all = append(all, &r.Backends[i].At)
		list(r.Backends[i].Objects)
		all = append(all, r.Backends[i].TLS.sources()...)
	}
	for i := range r.Policies {
		all = append(all, &r.Policies[i].At)
	}
	return all
}

// locate fills in the places of every Source.
func (r *Report) locate(places func([]manifest.Field) []store.Place) {
	sources := r.sources()
	fields := make([]manifest.Field, len(sources))
	for i, s := range sources {
		fields[i] = manifest.Field{Object: s.Object, Path: s.Field}
	}
	for i, place := range places(fields) {
		sources[i].Place = place
	}
}

// DelegationReport is the rule that delegates the request's path to other routes, none of which
// matches the request.
type DelegationReport struct {
	Object manifest.Key `json:"object"`
	// Rule counts from 0; RuleName is rules[].name.
	Rule     int    `json:"rule"`
	RuleName string `json:"ruleName,omitempty"`
	// Path is the delegated path as text.
	Path string `json:"path"`
	// To are the selected routes as text: a route, all routes of a namespace, or routes with a
	// label. It is empty if the routes name the rule as their parent.
	To []string `json:"to,omitempty"`
	At Source   `json:"at"`
}

// PolicyReport is a policy whose target is on the way of the request.
type PolicyReport struct {
	Object manifest.Key `json:"object"`
	// Target is the policy's target as text: an object, with a rule, listener or port of it; ""
	// if a rule names the policy by ExtensionRef.
	Target string         `json:"target,omitempty"`
	State  ir.PolicyState `json:"state"`
	// Fields are the fields of a TrafficPolicy that are in force, as paths below spec.
	Fields []string `json:"fields,omitempty"`
	// Overridden are its other fields.
	Overridden []string `json:"overridden,omitempty"`
	// By are the objects that set those other fields, or that share a field in force with it.
	By []manifest.Key `json:"by,omitempty"`
	// Reason says why the policy is not in force or, if Stale is set, what is wrong with its
	// newest version.
	Reason string `json:"reason,omitempty"`
	// Stale is true if this is the last valid version of an invalid policy.
	Stale bool   `json:"stale,omitempty"`
	At    Source `json:"at"`
}

// ruleWords names the hop's rule in words.
func (h *HopReport) ruleWords() string {
	if h.RuleName != "" {
		return fmt.Sprintf("%s, rule %d (%s)", h.Object, h.Rule, h.RuleName)
	}
	return fmt.Sprintf("%s, rule %d", h.Object, h.Rule)
}

// Words returns a text of one line.
func (c CertificateReport) Words() string {
	words := c.Object.String()
	if len(c.Names) > 0 {
		words += " for " + strings.Join(c.Names[:min(len(c.Names), maxSuggestions)], ", ")
	}
	if !c.NotAfter.IsZero() {
		words += ", until " + c.NotAfter.UTC().Format(time.DateOnly)
	}
	return words
}
