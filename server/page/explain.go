package page

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
)

// maxTrace is the largest number of rows that the page for explain shows, and maxListed the largest number of items
// in one row. maxQuestion is the largest size, in bytes, of the query string of the page's own URL, which has the
// fields of the form.
const maxTrace, maxListed, maxQuestion = 200, 20, 16 << 10

// explainPage is the form for a request to explain, and the answer.
type explainPage struct {
	Method, URL, Headers, From, Gateway string

	Mistake string // what is wrong with the form
	Answer  *explain.Report
	Trace   []traceRow
	More    int // rows that are not shown
}

// traceRow is one step that leads to the answer, with the object that defines the step.
type traceRow struct {
	Step, Text string
	Object     manifest.Key
	At         store.Place
}

// explain returns the body of the page that explains a request. Without a URL in the form, there is no answer.
// It returns an error if the query is too long, or if nothing is loaded yet. Other errors are shown in the
// form.
func (p *pages) explain(r *http.Request) (any, error) {
	query := r.URL.Query()
	page := explainPage{Method: query.Get("method"), URL: query.Get("url"), Headers: query.Get("headers"), From: query.Get("from"), Gateway: query.Get("gateway")}
	if len(r.URL.RawQuery) > maxQuestion {
		return nil, failure{http.StatusRequestURITooLong, "the question is too long"}
	}
	if page.URL == "" {
		return page, nil
	}
	report, err := p.documents.Explain(page.question())
	if err != nil {
		if codeOf(err) == http.StatusServiceUnavailable {
			return nil, err
		}
		page.Mistake = err.Error()
		return page, nil
	}
	page.Answer = report
	page.Trace = trace(report)
	page.More = max(0, len(page.Trace)-maxTrace)
	page.Trace = page.Trace[:len(page.Trace)-page.More]
	return page, nil
}

// question returns the content of the form as the query for the JSON page /api/v1/explain. Each line of the
// form's headers becomes a query parameter "header".
func (e *explainPage) question() url.Values {
	asked := url.Values{"method": {strings.TrimSpace(e.Method)}, "url": {strings.TrimSpace(e.URL)}, "from": {strings.TrimSpace(e.From)}, "gateway": {strings.TrimSpace(e.Gateway)}}
	for line := range strings.Lines(e.Headers) {
		if line = strings.TrimSpace(line); line != "" {
			asked.Add("header", line)
		}
	}
	return asked
}

// Outcome returns in words what happens to the request or connection: the backends (at most maxListed), a
// redirect, a status, "no connection" or "closed".
func (e explainPage) Outcome() string {
	r := e.Answer
	code := strings.TrimSpace(fmt.Sprintf("%d %s", r.Status, http.StatusText(int(r.Status))))
	if r.GRPCStatus != "" {
		code = "grpc-status " + r.GRPCStatus
	}
	switch r.Outcome {
	case explain.Forwarded:
		var shares []string
		for _, b := range r.Backends {
			name := b.Cluster
			if name == "" {
				name = b.LocalReply()
			}
			if len(r.Backends) > 1 {
				name = fmt.Sprintf("%.4g%% %s", b.Percent, name)
			}
			shares = append(shares, name)
		}
		return listed(shares)
	case explain.Redirected:
		return code + ", " + r.Location
	case explain.NoListener:
		return "no connection"
	case explain.Closed:
		return "closed"
	}
	return code
}

// Unless returns the caveats of the answer: facts that are not known and may change it. If the address of the
// client is such a fact, a hint says to write the address into the form.
func (e explainPage) Unless() (all []string) {
	for _, words := range e.Answer.Caveats {
		all = append(all, explain.WithAddressHint(words, "write it into the form"))
	}
	return all
}

// Class returns the CSS class of the outcome.
func (e explainPage) Class() string {
	if e.Answer.Outcome == explain.Forwarded || e.Answer.Outcome == explain.Redirected {
		return "good"
	}
	return "bad"
}

// trace returns the rows that show how the answer to the request comes about: the steps from the listener to the
// backends, the policies, the rules that nearly matched, and the routes that are not accepted.
func trace(r *explain.Report) (rows []traceRow) {
	add := func(step, text string, at explain.Source) {
		rows = append(rows, traceRow{step, text, at.Object, at.Place})
	}
	if l := r.Listener; l != nil {
		add("listener", fmt.Sprintf("%s of Gateway %s, port %d", l.Name, l.Gateway, l.Port), l.At)
		if l.NotProgrammed != "" {
			add("not programmed", l.NotProgrammed, explain.Source{})
		}
		for _, c := range l.Certificates {
			add("certificate", c.Words(), c.At)
		}
		if l.VirtualHost != "" {
			add("host", l.VirtualHost, explain.Source{})
		}
		if l.Normalized {
			add("path", "matched as "+l.Path, explain.Source{})
		}
	}
	if d := r.Delegation; d != nil {
		text := "the path " + d.Path + " is delegated, and none of the routes below matches"
		if len(d.To) > 0 {
			text += ": " + listed(d.To)
		}
		add("delegation", text, d.At)
	}
	if r.Route != nil {
		rows = append(rows, hops(r.Route)...)
	}
	for _, a := range r.Actions {
		var at explain.Source
		if len(a.From) > 0 {
			at = a.From[0]
		}
		add(a.Type, a.Does, at)
	}
	for _, b := range r.Backends {
		rows = append(rows, backend(&b)...)
	}
	for _, policy := range r.Policies {
		add("policy", policyWords(&policy), policy.At)
	}
	for _, n := range r.NearMisses {
		add("nearly", fmt.Sprintf("%s, rule %d: %s: %s", n.Object, n.Rule, n.Match, n.Reason), n.At)
	}
	for _, n := range r.NotAccepted {
		add("not accepted", fmt.Sprintf("%s under %s: %s: %s", n.Object, n.Parent, n.Reason, n.Message), n.At)
	}
	return rows
}

// hops returns a row for each rule through which the request passes when routes delegate to other routes. The
// first rule is of the route that is attached to the Gateway, and the last rule decides the answer.
func hops(r *explain.RouteReport) (rows []traceRow) {
	for i, h := range r.Hops {
		text := fmt.Sprintf("%s, rule %d", h.Object, h.Rule)
		if h.RuleName != "" {
			text += " (" + h.RuleName + ")"
		}
		at := h.MatchAt
		if i == len(r.Hops)-1 {
			text += ": " + r.Match
		}
		if h.By != "" {
			text += ", next by " + h.By
		}
		rows = append(rows, traceRow{"rule", text, h.Object, at.Place})
	}
	return rows
}

// backend returns the rows for one target of the request: first the backend with its endpoints, or the answer
// that Envoy itself gives. Rows for its TLS and for the request that it receives follow, if they are known.
func backend(b *explain.BackendReport) (rows []traceRow) {
	text := fmt.Sprintf("%s, %.4g%%", b.Cluster, b.Percent)
	switch {
	case b.Cluster == "" || b.Status != 0:
		text = strings.TrimSpace(fmt.Sprintf("%s %.4g%% %s: %s", b.Cluster, b.Percent, b.LocalReply(), b.Reason+b.Closed))
	case len(b.Endpoints) > 0:
		text += ": " + listed(b.Endpoints)
	}
	rows = append(rows, traceRow{"backend", text, b.At.Object, b.At.Place})
	if b.Hashed != "" {
		rows = append(rows, traceRow{Step: "hash", Text: b.Hashed})
	}
	if b.TLS != nil {
		rows = append(rows, traceRow{"TLS", b.TLS.Words(), b.TLS.Policy.Object, b.TLS.Policy.Place})
	}
	if got := b.Receives; got != nil {
		rows = append(rows, traceRow{Step: "receives", Text: strings.TrimSpace(fmt.Sprintf("%s %s%s %s", got.Method, got.Host, got.Path, headerWords(got.Headers)))})
	}
	return rows
}

// headerWords returns headers in one line, or "" if there are none.
func headerWords(headers http.Header) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		for _, value := range headers[name] {
			words = append(words, name+": "+value)
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "with " + listed(words)
}

// policyWords returns in words the state of a policy, and its fields that apply to the request.
func policyWords(p *explain.PolicyReport) string {
	text := fmt.Sprintf("%s: %s", p.Object, p.State)
	if p.Target != "" {
		text += " at " + p.Target
	}
	if len(p.Fields) > 0 {
		text += "; in force: " + listed(p.Fields)
	}
	if len(p.Overridden) > 0 {
		text += "; overridden: " + listed(p.Overridden)
	}
	if p.Stale {
		text += "; its last valid version"
	}
	if p.Reason != "" {
		text += "; " + p.Reason
	}
	return text
}

// listed joins the first maxListed items of a list with commas, and appends how many more there are.
func listed(items []string) string {
	text := strings.Join(items[:min(len(items), maxListed)], ", ")
	if more := len(items) - maxListed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
