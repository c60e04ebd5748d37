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

// Report is an Answer in the form that commands and pages show, with places, reasons and problems. docs/json.md
// documents its JSON.
type Report struct {
	Request RequestReport `json:"request"`
	// Outcome is what happens to the request. Reason is why, as text, if no backend answers.
	Outcome OutcomeKind `json:"outcome"`
	Reason  string      `json:"reason,omitempty"`
	// ReasonAt is the field that decides, if a policy answers and the field is known. Otherwise it is nil.
	ReasonAt *Source `json:"reasonAt,omitempty"`
	// Status is the HTTP status of an answer without a backend. It is 0 if a backend answers.
	Status   uint32 `json:"status,omitempty"`
	Location string `json:"location,omitempty"`
	// GRPCStatus is the status that a gRPC client gets instead of Status, such as "12 UNIMPLEMENTED". The HTTP
	// status is then 200. It is "" if clients get Status.
	GRPCStatus string `json:"grpcStatus,omitempty"`
	// Caveats are texts about facts that are not known and may change the outcome: answers of external services,
	// limits that depend on earlier requests, and rules that compare a value which the query lacks.
	Caveats []string `json:"caveats,omitempty"`
	// Suggestions are existing URLs, hosts or paths that may replace the one that was not found, at most 10. In
	// most cases, the most similar comes first.
	Suggestions []string `json:"suggestions,omitempty"`
	// Delegation is the rule that delegated the path, if none of its child routes matches the request. Otherwise
	// it is nil.
	Delegation *DelegationReport `json:"delegation,omitempty"`
	Listener   *ListenerReport   `json:"listener,omitempty"`
	// Route is the rule that matches the request. It is nil if no rule matches.
	Route    *RouteReport    `json:"route,omitempty"`
	Actions  []ActionReport  `json:"actions,omitempty"`
	Backends []BackendReport `json:"backends,omitempty"`
	// Policies are the policies that target an object of this request, or that its rule names, at most 100. The
	// order is that of the targets: from the Gateway down to the rule, and then the backends. If there are
	// more, those that are not in force come first.
	Policies []PolicyReport `json:"policies,omitempty"`
	// NearMisses are the rules that nearly matched, at most 60: those that would delegate the request, and then the
	// others in the order in which Envoy tries rules.
	NearMisses []NearMissReport `json:"nearMisses,omitempty"`
	// NotAccepted are routes that might match the request, but that a parent rejects, entirely or in part. Routes
	// whose namespace may not serve the host are in the list, too. It has at most 20 routes.
	NotAccepted []NotAcceptedReport `json:"notAccepted,omitempty"`
	// NotMatched is the number of rules that were compared before Route and did not match.
	NotMatched int `json:"notMatched"`
	// Problems are the problems of objects that lead to the answer, and of rules that might have matched the
	// request: the 20 most likely causes, the most likely one first. MoreProblems is the number of problems that
	// are left out, also those of other routes in the same virtual host.
	Problems     []manifest.Problem `json:"problems,omitempty"`
	MoreProblems int                `json:"moreProblems,omitempty"`
}

// OutcomeKind is the type of an outcome.
type OutcomeKind string

// What can happen to a request or a connection.
const (
	Forwarded  OutcomeKind = "forward"     // a backend answers
	Redirected OutcomeKind = "redirect"    // the client gets another URL
	Responded  OutcomeKind = "respond"     // a rule, a policy or a cluster without endpoints makes Envoy answer
	NotFound   OutcomeKind = "not-found"   // no rule matches: 404
	Rejected   OutcomeKind = "rejected"    // Envoy itself rejects the request, before any policy or action
	NoListener OutcomeKind = "no-listener" // no listener accepts the request or the connection
	Closed     OutcomeKind = "closed"      // Envoy closes the connection or drops the datagram
)

// RequestReport is the request of the query.
type RequestReport struct {
	// Method is "" for a connection: tcp://, tls:// or udp://.
	Method  string      `json:"method"`
	URL     string      `json:"url"`
	Headers http.Header `json:"headers,omitempty"`
}

// ListenerReport is the listener that accepts the request.
type ListenerReport struct {
	Gateway string `json:"gateway"` // "namespace/name"
	Name    string `json:"name"`    // the name of the listener in the object At.Object
	Port    uint32 `json:"port"`
	// Envoy is the name of the Envoy listener.
	Envoy string `json:"envoy"`
	// At is where the listener is written: in the Gateway, or in one of its ListenerSets.
	At Source `json:"at"`
	// NotProgrammed says why Envoys do not serve the listener as it is: none is connected, the port is taken, or an
	// Envoy rejected something or has not answered yet. Only a running gatefold knows it. The rest of the report is
	// about the time when they do.
	NotProgrammed string `json:"notProgrammed,omitempty"`
	// Certificates are the certificates of a TLS listener. Envoy sends the first one that fits the server name.
	Certificates []CertificateReport `json:"certificates,omitempty"`
	// VirtualHost is the domain of the virtual host for the request's host, "" if there is none.
	VirtualHost string `json:"virtualHost,omitempty"`
	// Path is the path that is compared with rules, without the query. Normalized is true if it differs from the
	// path that the client sent.
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

// RouteReport is one rule of a virtual host.
type RouteReport struct {
	// Name is the name of the Envoy route.
	Name string `json:"name"`
	// Match is the whole condition as text, including the conditions of parent routes.
	Match string `json:"match"`
	// Weight is the weight of the route (EP-11466).
	Weight int32 `json:"weight,omitempty"`
	// Guard is true if the rule gets the requests that no child route of a delegating rule matches. It answers
	// 500, or sends them to the Services of the delegating rule.
	Guard bool `json:"guard,omitempty"`
	// Hops are the matches from the root route down to the match of the rule itself, which is the last hop.
	Hops []HopReport `json:"hops"`
}

// HopReport is one match on the way from the root route to the rule that matches.
type HopReport struct {
	Object manifest.Key `json:"object"`
	// Rule and Match count from 0. Match is -1 for a rule that was added for oauth2. RuleName is rules[].name.
	Rule     int    `json:"rule"`
	RuleName string `json:"ruleName,omitempty"`
	Match    int    `json:"match"`
	// By says how the next hop was found. It is "delegation" if this rule names the route of the next hop. It is
	// "inclusion" if the route of the next hop names this route as its parent. It is "" for the last hop.
	By      string `json:"by,omitempty"`
	At      Source `json:"at"`
	RuleAt  Source `json:"ruleAt"`
	MatchAt Source `json:"matchAt"`
}

// ActionReport is something that the rule does with the request or the response, such as a change or a check.
type ActionReport struct {
	// Type is one of these: the type of a filter; "timeouts"; "retry"; the constant IdentityHeader; "TrafficPolicy"
	// with the name of one of its fields.
	Type string `json:"type"`
	// Does says, as text, what the action does.
	Does string `json:"does"`
	// From are the places where the action is written. There are several if settings were merged.
	From []Source `json:"from"`
}

// IdentityHeader is the Type of an action that removes a header which only filters may set.
const IdentityHeader = "identity header"

// BackendReport is a backend that the request may be forwarded to.
type BackendReport struct {
	// Cluster is "" for a backend reference that is not resolved. The reference's share of requests is answered with
	// Status, and Reason says why. For a cluster that gets no requests, Status is set as well, and Closed says why.
	Cluster string `json:"cluster,omitempty"`
	Status  uint32 `json:"status,omitempty"`
	// GRPCStatus is the status that a gRPC client gets instead of Status, or "".
	GRPCStatus string  `json:"grpcStatus,omitempty"`
	Reason     string  `json:"reason,omitempty"`
	Weight     uint32  `json:"weight"`
	Percent    float64 `json:"percent"`
	At         Source  `json:"at"`
	// Objects are the objects that the cluster is made from: the Service or Backend, then EndpointSlices and
	// policies. Each endpoint is "address:port".
	Objects   []Source `json:"objects,omitempty"`
	Endpoints []string `json:"endpoints,omitempty"`
	// Hashed says, as text, which values choose the endpoint: the hashPolicies of a BackendConfigPolicy. It is "" if
	// there are none.
	Hashed string `json:"hashed,omitempty"`
	// TLS is nil for clear text.
	TLS *TLSReport `json:"tls,omitempty"`
	// Closed says why the cluster gets no requests, "" if it gets some.
	Closed string `json:"closed,omitempty"`
	// Receives is the request that the backend gets. It is nil if the backend gets none.
	Receives *ReceivesReport `json:"receives,omitempty"`
}

// LocalReply returns, as text, what clients get from Envoy when it chooses this backend and the backend cannot get
// the request. It returns "closed" if the backend is for TCP, TLS or UDP.
func (b BackendReport) LocalReply() string {
	if b.Status == 0 {
		return "closed"
	}
	return fmt.Sprintf("answered %d", b.Status)
}

// ReceivesReport is a request as a backend receives it, with the headers that Envoy adds. If the value of a header
// is not known, a placeholder stands for the value: ClientAddress, NewRequestID, AccessToken or ServiceAnswer.
type ReceivesReport struct {
	Method  string      `json:"method"`
	Host    string      `json:"host"`
	Path    string      `json:"path"`
	Headers http.Header `json:"headers,omitempty"`
}

// NearMissReport is a rule that nearly matched the request. Reason is why it does not answer the request.
type NearMissReport struct {
	Object manifest.Key `json:"object"`
	Rule   int          `json:"rule"`
	Match  string       `json:"match"`
	Reason string       `json:"reason"`
	At     Source       `json:"at"`
}

// NotAcceptedReport is a route that a parent rejects, entirely or in part, or whose namespace may not serve the
// request's host. For a rejected route, Reason and Message are those of its status.
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

// way returns the Sources of the objects that lead to the answer: listener, certificates, hops, actions,
// backends and policies.
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

// locate sets the Place of every Source. The function places returns the place of each field.
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

// DelegationReport is the rule that delegates the request's path to child routes, if none of these matches the
// request.
type DelegationReport struct {
	Object manifest.Key `json:"object"`
	// Rule counts from 0. RuleName is rules[].name.
	Rule     int    `json:"rule"`
	RuleName string `json:"ruleName,omitempty"`
	// Path is the delegated path as text.
	Path string `json:"path"`
	// To are the selected routes as texts, at most 10: a route, all routes of a namespace, or routes with a
	// label. It is empty if the child routes name the rule's route as their parent.
	To []string `json:"to,omitempty"`
	At Source   `json:"at"`
}

// PolicyReport is a policy that targets an object of the request: its Gateway, a route, a backend or a service.
type PolicyReport struct {
	Object manifest.Key `json:"object"`
	// Target is the policy's target as text: an object, and its rule, listener or port. It is "" if a rule names
	// the policy by ExtensionRef.
	Target string         `json:"target,omitempty"`
	State  ir.PolicyState `json:"state"`
	// Fields are the fields of a TrafficPolicy that are in force, as paths below spec.
	Fields []string `json:"fields,omitempty"`
	// Overridden are the fields of a TrafficPolicy that are not in force.
	Overridden []string `json:"overridden,omitempty"`
	// By are the objects that override the policy: their values of the Overridden fields are in force. By also has
	// the other policies that set a part of a field in Fields.
	By []manifest.Key `json:"by,omitempty"`
	// Reason says why the policy is not in force. If Stale is set, it also says what is wrong with the newest
	// version.
	Reason string `json:"reason,omitempty"`
	// Stale is true if this is the last valid version of an invalid policy.
	Stale bool   `json:"stale,omitempty"`
	At    Source `json:"at"`
}

// ruleWords returns the object, index and name of the hop's rule as text.
func (h *HopReport) ruleWords() string {
	if h.RuleName != "" {
		return fmt.Sprintf("%s, rule %d (%s)", h.Object, h.Rule, h.RuleName)
	}
	return fmt.Sprintf("%s, rule %d", h.Object, h.Rule)
}

// Words returns the object, the first names (at most maxSuggestions) and the last day of the certificate as
// text in one line.
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
