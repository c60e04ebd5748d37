package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

const (
	// labelWidth is the width of the first column in the text of explain.
	labelWidth = 10
	// maxTextWidth is the highest width of the second column. A longer text moves the third column, with file
	// and line, only in its own row.
	maxTextWidth = 66
)

// The styles of explain's text, as control sequences of a terminal.
const (
	plain = ""
	bold  = "\x1b[1m"
	faint = "\x1b[2m"
	green = "\x1b[1;32m"
	red   = "\x1b[1;31m"
)

// explainText returns a report as text, with a line for each fact. If a field in a file defines the fact, the line
// ends with the place of the field: file, line and column. The parameter validate is the command that lists all
// problems. If color is true, the text has colors.
func explainText(r *explain.Report, validate string, color bool) []byte {
	t := &explainPage{color: color, validate: validate}
	fmt.Fprintln(&t.out, strings.TrimSpace(t.paint(bold, r.Request.Method)+" "+t.paint(bold, r.Request.URL)))
	t.outcome(r)
	t.listener(r.Listener)
	if r.Route != nil {
		t.hops(r.Route)
	}
	for _, action := range r.Actions {
		t.action(action)
	}
	for _, backend := range r.Backends {
		t.backend(backend)
	}
	for _, policy := range r.Policies {
		t.policy(policy)
	}
	t.flush()
	t.suggestions(r)
	t.nearMisses(r)
	t.notAccepted(r)
	t.problems(r)
	return t.out.Bytes()
}

// explainPage writes text in the style of explain. It collects rows first, so that their places (file, line and
// column) can be aligned.
type explainPage struct {
	color bool
	// validate is the command that lists all problems of the folder.
	validate string
	out      bytes.Buffer
	rows     []explainRow
}

type explainRow struct{ label, text, place string }

// paint returns text in a style. It returns the text unchanged if the page has no colors or the style is plain.
func (t *explainPage) paint(style, text string) string {
	if !t.color || style == plain || text == "" {
		return text
	}
	return style + text + "\x1b[0m"
}

// row adds a row to the page. The parameter at is the object or field that the row describes: its file, line and
// column are printed at the end of the row.
func (t *explainPage) row(label, text string, at explain.Source) {
	t.rows = append(t.rows, explainRow{label, text, position(at.Place)})
}

// position returns file:line:column. It returns only the file if the line is not known.
func position(p store.Place) string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// flush writes the rows that were added since the last flush. In each row, the file, line and column are
// aligned.
func (t *explainPage) flush() {
	width := 0
	for _, r := range t.rows {
		width = max(width, min(utf8.RuneCountInString(r.text), maxTextWidth))
	}
	if len(t.rows) > 0 {
		t.out.WriteByte('\n')
	}
	for _, r := range t.rows {
		line := fmt.Sprintf("%-*s  %s", labelWidth, r.label, r.text)
		if r.place != "" {
			gap := max(0, width-utf8.RuneCountInString(r.text)) + 2
			line += strings.Repeat(" ", gap) + t.paint(faint, r.place)
		}
		t.out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	t.rows = nil
}

// outcome prints the answer to the request in one line, and then a line for each caveat of the report. A last
// line says why the listener is not programmed, if it is not.
func (t *explainPage) outcome(r *explain.Report) {
	style, text := red, strings.TrimSpace(fmt.Sprintf("%d %s", r.Status, http.StatusText(int(r.Status))))
	if r.GRPCStatus != "" {
		text = "grpc-status " + r.GRPCStatus
	}
	switch r.Outcome {
	case explain.Forwarded:
		style, text = green, strings.Join(shares(r.Backends), ", ")
	case explain.Redirected:
		style, text = green, text+", "+r.Location
	case explain.NoListener:
		text = "no connection"
	case explain.Closed:
		text = "closed"
	}
	if r.Reason != "" {
		text += ": " + r.Reason
	}
	if at := r.ReasonAt; at != nil && at.Line > 0 {
		text += fmt.Sprintf(" (%s:%d)", at.File, at.Line)
	}
	fmt.Fprintf(&t.out, "→ %s\n", t.paint(style, text+policyWords(r)))
	for _, unknown := range r.Caveats {
		fmt.Fprintf(&t.out, "  unless %s\n", explain.WithAddressHint(unknown, "give it by --from"))
	}
	if l := r.Listener; l != nil && l.NotProgrammed != "" {
		fmt.Fprintf(&t.out, "  the listener is not programmed: %s\n", l.NotProgrammed)
	}
}

// shares returns a text for each target of a request, such as a backend. If there are several, each text has the
// percentage of requests. If Envoy itself answers for a target, the text has that answer.
func shares(backends []explain.BackendReport) []string {
	var all []string
	for _, b := range backends {
		target := b.Cluster
		switch {
		case target == "":
			target = b.LocalReply()
		case b.Status != 0:
			target += " " + b.LocalReply()
		}
		if len(backends) > 1 {
			target = percent(b.Percent) + " " + target
		}
		all = append(all, target)
	}
	return all
}

// percent returns a percentage as text, such as "12.5 %".
func percent(p float64) string { return strconv.FormatFloat(p, 'f', -1, 32) + " %" }

// listener adds the rows for the listener, its certificates, the domain of the virtual host, and the path of the
// request. For a connection or datagram, there is no path, and the domain is left out if it is not known. If l is
// nil, no row is added.
func (t *explainPage) listener(l *explain.ListenerReport) {
	if l == nil {
		return
	}
	of := "Gateway " + l.Gateway
	if l.At.Object.Kind == "ListenerSet" {
		of = l.At.Object.String() + ", " + of
	}
	t.row("listener", fmt.Sprintf("%s of %s, port %d", cmp.Or(l.Name, l.Envoy), of, l.Port), l.At)
	for _, c := range l.Certificates {
		t.row("shows", c.Words(), c.At)
	}
	path := l.Path
	if path == "" { // a TCP or TLS connection or a datagram
		if l.VirtualHost != "" {
			t.row("name", l.VirtualHost, explain.Source{})
		}
		return
	}
	t.row("host", cmp.Or(l.VirtualHost, "(none)"), explain.Source{})
	if l.Normalized {
		path += " (normalized)"
	}
	t.row("path", path, explain.Source{})
}

// hops adds a row for each rule that delegates the request to another route, beginning with the route at the
// Gateway. Then it adds the rows of the last rule, which decides what happens to the request.
func (t *explainPage) hops(r *explain.RouteReport) {
	for _, h := range r.Hops[:len(r.Hops)-1] {
		t.row("through", fmt.Sprintf("%s, %s, match %d, by %s", h.Object, ruleName(h), h.Match, h.By), h.MatchAt)
	}
	last := r.Hops[len(r.Hops)-1]
	t.row("route", last.Object.String(), last.At)
	t.row("rule", strings.TrimPrefix(ruleName(last), "rule "), last.RuleAt)
	match := fmt.Sprintf("%d: %s", last.Match, r.Match)
	if last.Match < 0 {
		match = r.Match + ", added for oauth2"
	}
	t.row("match", match, last.MatchAt)
	if r.Weight != 0 {
		t.row("weight", fmt.Sprint(r.Weight), explain.Source{})
	}
}

// ruleName returns the rule of a hop: "rule 0", or "rule 0 (cart)" if the rule has a name.
func ruleName(h explain.HopReport) string {
	if h.RuleName == "" {
		return fmt.Sprintf("rule %d", h.Rule)
	}
	return fmt.Sprintf("rule %d (%s)", h.Rule, h.RuleName)
}

// action adds a row for each object or field that configures one effect on the request, such as a filter or a
// field of a policy. Only the first of these rows describes the effect.
func (t *explainPage) action(a explain.ActionReport) {
	text := a.Type
	if a.Does != "" {
		text += ": " + a.Does
	}
	also := "  and"
	if a.Type == ir.PartClosed {
		also = "  on this rule"
	}
	for i, from := range a.From {
		if i > 0 {
			text = also
		}
		t.row("does", text, from)
	}
}

// backend adds the rows for one target of the request: the objects of the backend, TLS, at most five endpoints,
// and the request that the backend receives. If the target has no cluster, the only row has Envoy's answer and
// the reason for it.
func (t *explainPage) backend(b explain.BackendReport) {
	if b.Cluster == "" {
		t.row("backend", fmt.Sprintf("%s %s: %s", percent(b.Percent), b.LocalReply(), b.Reason), b.At)
		return
	}
	t.row("backend", fmt.Sprintf("%s %s", percent(b.Percent), b.Cluster), b.At)
	for _, object := range b.Objects {
		t.row("", "  "+object.Object.String(), object)
	}
	if b.TLS != nil {
		t.row("", "  "+b.TLS.Words(), explain.Source{})
	}
	if b.Closed != "" {
		t.row("", "  gets nothing: "+b.Closed, explain.Source{})
	}
	if b.Hashed != "" {
		t.row("", "  "+b.Hashed, explain.Source{})
	}
	endpoints := strings.Join(b.Endpoints[:min(len(b.Endpoints), 5)], ", ")
	if more := len(b.Endpoints) - 5; more > 0 {
		endpoints += fmt.Sprintf(" and %d more", more)
	}
	t.row("", "  "+cmp.Or(endpoints, "no endpoint: this share is "+b.LocalReply()), explain.Source{})
	if b.Receives == nil {
		return
	}
	t.row("", fmt.Sprintf("  receives %s %s, host %s", b.Receives.Method, b.Receives.Path, b.Receives.Host), explain.Source{})
	for _, name := range slices.Sorted(maps.Keys(b.Receives.Headers)) {
		for _, value := range b.Receives.Headers[name] {
			t.row("", fmt.Sprintf("    %s: %s", strings.ToLower(name), value), explain.Source{})
		}
	}
}

// suggestions prints the existing URLs, hosts or paths that may replace the one that was not found.
func (t *explainPage) suggestions(r *explain.Report) {
	if len(r.Suggestions) == 0 {
		return
	}
	t.out.WriteString("\n" + t.paint(bold, "suggestions") + "\n")
	for _, name := range r.Suggestions {
		t.out.WriteString("  " + name + "\n")
	}
}

// nearMisses prints the rules that nearly matched, each with the reason why it did not match.
func (t *explainPage) nearMisses(r *explain.Report) {
	if len(r.NearMisses) == 0 {
		return
	}
	t.out.WriteString("\n" + t.paint(bold, "near misses") + "\n")
	for _, l := range r.NearMisses {
		fmt.Fprintf(&t.out, "  %s, rule %d: %s  %s\n", l.Object, l.Rule, l.Match, t.paint(faint, position(l.At.Place)))
		fmt.Fprintf(&t.out, "    %s\n", l.Reason)
	}
}

// below returns the word that stands between a route and its parent in a message: "at" if the parent is a
// Gateway, and otherwise "below".
func below(parent manifest.Key) string {
	if parent.Kind == "Gateway" {
		return "at"
	}
	return "below"
}

// notAccepted prints the routes that a parent does not accept, with the reason. A route is left out if the
// reason is in the route itself and the report lists a problem of this route, which says the same.
func (t *explainPage) notAccepted(r *explain.Report) {
	unreported := slices.DeleteFunc(slices.Clone(r.NotAccepted), func(c explain.NotAcceptedReport) bool {
		return slices.ContainsFunc(r.Problems, func(p manifest.Problem) bool { return p.Object == c.Object && c.At.Object == c.Object })
	})
	if len(unreported) == 0 {
		return
	}
	t.out.WriteString("\n" + t.paint(bold, "not accepted") + "\n")
	for _, c := range unreported {
		fmt.Fprintf(&t.out, "  %s, %s %s  %s\n", c.Object, below(c.Parent), c.Parent, t.paint(faint, position(c.At.Place)))
		fmt.Fprintf(&t.out, "    %s: %s\n", c.Reason, c.Message)
	}
}

// problems prints the problems of the report, and how many more there are for the host.
func (t *explainPage) problems(r *explain.Report) {
	if len(r.Problems) > 0 {
		t.out.WriteString("\n" + t.paint(bold, "problems that may matter") + "\n")
	}
	for _, p := range r.Problems {
		t.out.WriteString("\n" + p.Text(t.color))
	}
	if r.MoreProblems > 0 {
		fmt.Fprintf(&t.out, "\n%s under this host: %s\n", count(r.MoreProblems, "more problem"), t.validate)
	}
}
