package expect

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// Verdict is the result of a test.
type Verdict string

// The verdicts.
const (
	Passed  Verdict = "pass"
	Failed  Verdict = "fail"
	Unknown Verdict = "unknown" // the answer depends on facts that are not known here
	Skipped Verdict = "skipped" // the line says that only Envoy can answer it, and was not sent to an Envoy
)

// Result is the verdict about one line.
type Result struct {
	Request Request
	// Line is the text of the line, URL its URL, and Want the outcome that it expects. These texts contain no
	// credentials.
	Line, URL, Want string

	Verdict Verdict
	// Differences are the parts of the line that differ from what happens. If the verdict is Unknown, facts that
	// are not known may be their cause.
	Differences []Difference
	// Doubts are the parts of the line that cannot be judged. If the verdict is Unknown or Skipped and there are no
	// Differences, the Doubts are the reason.
	Doubts []Doubt
	// Got is what happens to the request, in the syntax of a line.
	Got string
	// Rules are the rules that the request reaches: the rule that matches, and the rules that delegate to it.
	Rules []manifest.Field
}

// Difference is a part of a test line, such as the expected path, that does not match what happens.
type Difference struct {
	// Of says which part does not match: "outcome", or a detail such as "path". For a header, Of also has the name of
	// the header, as in "request x-user".
	Of   string `json:"of"`
	Want string `json:"want"`
	Got  string `json:"got"`
}

// Doubt is a part of a line that gatefold cannot judge, because a fact is not known.
type Doubt struct {
	// Of names the part in the same way as Difference.Of.
	Of string `json:"of"`
	// Why says which fact is not known.
	Why string `json:"why"`
}

// outcome is the value of Difference.Of or Doubt.Of if the Difference or Doubt is about the outcome of the line.
const outcome = "outcome"

// Judge compares lines with what explain answers from a View.
type Judge struct {
	View *ir.View
	// Client is the address of clients for lines that contain none. The zero Addr means that it is not known.
	Client netip.Addr
	names  map[string]string // the namespace of each backend by name, "" if several backends have the name
	index  *explain.Index
	hidden *redaction
}

// NewJudge returns a Judge that compares lines with what is served according to view. If a line has no client
// address, the Judge uses the parameter client as the client address. client may be the zero Addr if the address is
// not known.
func NewJudge(view *ir.View, client netip.Addr) *Judge {
	j := &Judge{View: view, Client: client, names: map[string]string{}, index: explain.NewIndex(view), hidden: newRedaction(view)}
	for cluster := range view.Clusters {
		namespace, name := splitCluster(cluster)
		if other, known := j.names[name]; known && other != namespace {
			namespace = ""
		}
		j.names[name] = namespace
	}
	return j
}

// splitCluster returns the namespace and name of the object in a cluster's name, such as a Service. If the
// cluster's name has no object, namespace is "" and name is the cluster's name.
func splitCluster(cluster string) (namespace, name string) {
	parts := strings.Split(cluster, "/")
	if len(parts) < 3 {
		return "", cluster
	}
	return parts[1], parts[2]
}

// Query returns the query of a line for explain. If the line contains no client address, the query has
// j.Client.
func (j *Judge) Query(r Request) explain.Query {
	query := r.query()
	if !query.From.IsValid() {
		query.From = j.Client
	}
	return query
}

// Judge returns the verdict about a line. The verdict is Skipped if the line says that only Envoy can answer
// it.
func (j *Judge) Judge(r Request) Result {
	c := &comparison{judge: j, request: r, result: Result{Request: r}}
	if r.OnlyEnvoy {
		c.result.Verdict = Skipped
		c.doubt(outcome, "the line says that only Envoy can answer it")
		j.hidden.result(&c.result)
		return c.result
	}
	if r.Connection() {
		c.connection(explain.Connection(j.View, j.Query(r)))
	} else {
		c.answer(j.index.Request(j.Query(r)))
	}
	c.conclude()
	j.hidden.result(&c.result)
	return c.result
}

// comparison compares one line with what happens to its request, and collects the Result.
type comparison struct {
	judge   *Judge
	request Request
	result  Result
	// caveats is true if explain's answer is not certain. What may happen instead is known only as a text.
	caveats bool
	// other is true if the request may get another answer because of facts that are not known, and this may be the
	// answer that the line expects.
	other bool
}

// differs adds a Difference, unless the result has it already.
func (c *comparison) differs(of, want, got string) {
	if d := (Difference{of, want, got}); !slices.Contains(c.result.Differences, d) { // backends may receive the same
		c.result.Differences = append(c.result.Differences, d)
	}
}

// doubt adds a Doubt, unless the result has it already.
func (c *comparison) doubt(of, why string) {
	if d := (Doubt{of, why}); !slices.Contains(c.result.Doubts, d) {
		c.result.Doubts = append(c.result.Doubts, d)
	}
}

// conclude sets the verdict. Without Differences, the verdict is Unknown if the result has Doubts, and Passed
// otherwise. With Differences, the verdict is Failed, except if a fact that is not known may be the cause of the
// Differences. There are two such cases, in which the verdict is Unknown:
//   - c.other is true: the line may expect another answer, which the request may get.
//   - c.caveats is true, and the line expects an answer of Envoy itself, or a closed TLS, TCP or UDP connection.
func (c *comparison) conclude() {
	answered := len(c.request.Backends) == 0 && !c.request.Closed || c.request.Closed && c.request.Connection()
	switch differ, doubtful := len(c.result.Differences) > 0, len(c.result.Doubts) > 0; {
	case differ && (c.other || c.caveats && answered):
		c.result.Verdict = Unknown
	case differ:
		c.result.Verdict = Failed
	case doubtful:
		c.result.Verdict = Unknown
	default:
		c.result.Verdict = Passed
	}
}

// answer compares a line with explain's answer to its request. It adds differences and doubts to the result.
func (c *comparison) answer(answer explain.Answer) {
	r := c.request
	c.result.Rules = reached(answer.Rule)
	switch {
	case len(answer.Candidates) > 0:
		c.severalGateways(answer.Candidates)
		return
	case answer.Costly:
		c.caveats = true
		c.doubt(outcome, "the question costs too much: the rules of "+answer.Domain+" have many regular expressions")
		return
	case answer.Port == nil:
		c.result.Got = closed
		if !r.Closed {
			c.differs(outcome, r.outcome(), closed)
		}
		return
	}
	c.result.Got = gotWords(answer.Outcome)
	c.noteCaveats(answer.Outcome.Unless)
	c.noteHandshake(answer.Chain)
	if r.Closed {
		c.differs(outcome, closed, c.result.Got)
		return
	}
	c.other = unasked(answer.Rule)
	c.mirrors(answer.Outcome, answer.Rule)
	c.outcome(answer.Outcome, answer.Rule)
	for _, u := range answer.Unsure {
		other := &comparison{judge: c.judge, request: r}
		other.outcome(u.Outcome, u.Rule)
		c.other = c.other || len(other.result.Differences) == 0 || unasked(u.Rule)
	}
}

// unasked reports whether a rule answers an error only because the discovery document of an OpenID issuer was
// not requested. A running gatefold may serve the rule. unasked returns false if rule is nil.
func unasked(rule *ir.Rule) bool {
	return rule != nil && rule.Action.Respond != nil && rule.Action.Respond.Unasked != ""
}

// severalGateways adds a difference because several Gateways listen on the port.
func (c *comparison) severalGateways(names []string) {
	c.result.Got = "no answer: several Gateways listen on the port"
	c.differs(outcome, c.request.outcome(), fmt.Sprintf("no answer: several Gateways listen on port %d; add GATEWAY:%s to the line", c.request.Port(), strings.Join(names, " or GATEWAY:")))
}

// noteCaveats adds a doubt about the outcome for each of the texts in exceptions, and sets c.caveats if it adds any.
// Each text says what may happen instead of the answer. If the test line says "when allowed", noteCaveats ignores the
// texts about answers of external services and about rate limits.
func (c *comparison) noteCaveats(exceptions []string) {
	for _, words := range exceptions {
		allowed := strings.HasPrefix(words, "extAuth: ") || strings.HasPrefix(words, "rateLimit.")
		if allowed && c.request.WhenAllowed {
			continue
		}
		c.caveats = true
		words = explain.WithAddressHint(words, "add FROM:IP to the line")
		if allowed {
			words += `; add "| when allowed" for requests that pass`
		}
		c.doubt(outcome, words)
	}
}

// noteHandshake sets c.caveats and adds a doubt if only a running Envoy shows how the TLS handshake ends. chain
// is the filter chain of the connection, and may be nil.
func (c *comparison) noteHandshake(chain *ir.Chain) {
	r := c.request
	if chain == nil || chain.TLS == nil {
		return
	}
	if clients := chain.TLS.Clients; clients != nil && !clients.Insecure {
		c.caveats = true
		c.doubt(outcome, "the listener verifies certificates of clients, which is seen on Envoy alone")
	}
	if r.TLS12 && chain.TLS.Version13 {
		c.caveats = true
		c.doubt(outcome, "the listener wants TLS 1.3, which is seen on Envoy alone")
	}
}

// connection compares a line with explain's answer about its connection or datagram. It adds differences and
// doubts to the result.
func (c *comparison) connection(answer explain.ConnectionAnswer) {
	r := c.request
	if len(answer.Candidates) > 0 {
		c.severalGateways(answer.Candidates)
		return
	}
	c.result.Rules = reachedBy(answer.Stream)
	shares := map[string]float64{}
	for _, share := range answer.Backends {
		name := closed
		if cluster := c.judge.View.Clusters[share.Target.Cluster]; cluster != nil && len(cluster.Endpoints) > 0 {
			name = c.name(share.Target.Cluster)
		}
		shares[name] += share.Percent
	}
	if len(shares) == 0 {
		shares[closed] = 100
	}
	want := r.Backends
	if r.Closed {
		want = map[string]int{closed: 1}
	}
	c.noteCaveats(answer.Unless)
	c.result.Got = sharesWords(shares)
	if !sameShares(shares, want) {
		c.differs(outcome, r.outcome(), c.result.Got)
	}
	c.by(answer.By, answer.Denied)
	if r.Certificate != "" {
		c.doubt("certificate", notOffline)
	}
}

// reached returns the field of the rule, such as spec.rules[0] of a route, and the fields of the rules that
// delegate to it. It leaves out a rule that gatefold added for oauth2, because it is in no route. It returns
// nil if rule is nil.
func reached(rule *ir.Rule) (all []manifest.Field) {
	if rule == nil {
		return nil
	}
	for _, hop := range rule.Chain {
		all = append(all, ruleField(hop.Route, hop.Rule))
	}
	if rule.SignIn == (manifest.Key{}) {
		all = append(all, ruleField(rule.Source.Key, rule.Position[len(rule.Position)-2]))
	}
	return all
}

// ruleField returns the field of a rule of a route.
func ruleField(route manifest.Key, rule int) manifest.Field {
	return manifest.Field{Object: route, Path: fmt.Sprintf("spec.rules[%d]", rule)}
}
