package expect

import (
	"strings"

	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// redacted replaces a password, key or token of a line.
const redacted = "[redacted]"

// redaction hides credentials in the texts that are shown. The credentials are those that occur in the lines of a
// test file (see explain.Redaction).
type redaction struct{ *explain.Redaction }

// newRedaction returns the redaction for the rules of a View. A nil View has no rules.
func newRedaction(view *ir.View) *redaction {
	d := &redaction{explain.NewRedaction()}
	if view == nil {
		return d
	}
	known := map[*ir.Extras]bool{}
	for _, gateway := range view.Gateways {
		for _, port := range gateway.Ports {
			for _, host := range port.Hosts {
				for rule := range host.Rules {
					if extras := rule.Action.Extras; extras != nil && !known[extras] {
						known[extras] = true
						d.AddRule(rule)
					}
				}
			}
		}
	}
	return d
}

// hide returns a function that replaces the credentials of a request in a sentence by the constant redacted.
func (d *redaction) hide(r Request) func(string) string { return d.Hide(r.Headers, r.Target) }

// line returns the text of a line without credentials.
func (d *redaction) line(r Request) string {
	question, answer, _ := strings.Cut(r.Line, " -> ")
	words := fields(question)
	for i, word := range words {
		name, _, found := strings.Cut(word, ":")
		switch {
		case strings.Contains(word, "://"):
			words[i] = d.URL(word)
		case found && i > 0 && d.IsHeader(name) && r.Headers.Get(name) != "":
			words[i] = name + ":" + redacted
		}
	}
	details := strings.Split(answer, " | ")
	for i, detail := range details {
		kind, rest, _ := strings.Cut(strings.TrimSpace(detail), " ")
		if name, value, found := strings.Cut(rest, ": "); found && (kind == "request" || kind == "response") {
			details[i] = kind + " " + name + ": " + d.value(name, value)
			continue
		}
		details[i] = d.URL(detail)
	}
	return d.hide(r)(strings.Join(words, " ") + " -> " + strings.Join(details, " | "))
}

// value returns the value of a header as it is shown: redacted if the header has credentials. The values "-"
// (absent) and "" are not replaced.
func (d *redaction) value(name, value string) string {
	if value == "-" {
		return value
	}
	return d.Value(name, value)
}

// result sets URL, Line and Want of c, and removes the credentials of the line from these and all other texts of c,
// except from c.Request.
func (d *redaction) result(c *Result) {
	own := d.hide(c.Request)
	hide := func(text string) string { return own(d.URL(text)) }
	c.Got = hide(c.Got)
	for i := range c.Differences {
		diff := &c.Differences[i]
		if _, name, isHeader := strings.Cut(diff.Of, " "); isHeader {
			diff.Want, diff.Got = d.value(name, diff.Want), d.value(name, diff.Got)
		}
		diff.Want, diff.Got = hide(diff.Want), hide(diff.Got)
	}
	for i := range c.Doubts {
		c.Doubts[i].Why = hide(c.Doubts[i].Why)
	}
	c.URL, c.Line = hide(c.Request.url()), d.line(c.Request)
	c.Want = hide(c.Request.outcome())
}

// report removes the credentials of a request from the sentences in a LineReport that the method LineReport.explain
// has written: Reason, and the Reason of each NearMissReport.
func (d *redaction) report(l *LineReport, r Request) {
	hide := d.hide(r)
	l.Reason = hide(l.Reason)
	for i := range l.Near {
		l.Near[i].Reason = hide(l.Near[i].Reason)
	}
}
