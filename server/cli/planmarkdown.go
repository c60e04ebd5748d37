package cli

import (
	"fmt"
	"strings"

	"github.com/gatefold/gatefold/translate/plan"
)

// planMarkdown is a plan as a comment of a pull request.
func planMarkdown(r *plan.Report) string {
	p := &markdownPage{}
	p.line("### gatefold plan: %s", markdownText(r.Summary))
	p.changes("Requests that get another answer", r.Requests)
	p.changes("Requests that are handled otherwise", r.Handling)
	var lines []string
	for _, one := range r.Undecided {
		lines = append(lines, markdownText(regionWords(one)))
	}
	p.list("Rules that changed, without an example", lines)
	lines = nil
	for _, one := range r.Policies {
		lines = append(lines, markdownText(policyChangeWords(one)))
	}
	p.list("Policies", lines)
	lines = nil
	for _, one := range r.Introduced {
		lines = append(lines, "introduced: "+markdownText(one.Position()+": "+one.Message))
	}
	for _, one := range r.Fixed {
		lines = append(lines, "fixed: "+markdownText(one.Message))
	}
	p.list("Problems", lines)
	lines = nil
	for _, one := range r.Listeners {
		lines = append(lines, markdownText(listenerChangeWords(one)))
	}
	for _, one := range r.Certificates {
		lines = append(lines, "certificate "+markdownText(certificateChangeWords(one)))
	}
	p.list("Listeners and certificates", lines)
	lines = nil
	for _, one := range r.Objects {
		lines = append(lines, fmt.Sprintf("%s %s", one.Kind, markdownText(one.Object.String())))
	}
	for _, one := range r.Resources {
		lines = append(lines, "Envoy: "+markdownText(resourceWords(one)))
	}
	p.folded("Objects and Envoy resources", lines)
	return p.out.String()
}

type markdownPage struct{ out strings.Builder }

func (p *markdownPage) line(format string, args ...any) {
	fmt.Fprintf(&p.out, format+"\n", args...)
}

func (p *markdownPage) changes(heading string, list []plan.Change) {
	if len(list) == 0 {
		return
	}
	p.line("\n#### %s\n", heading)
	p.line("| example | before | after | because |\n|---|---|---|---|")
	for i, c := range list {
		if i == maxPlanned {
			p.line("\nand %d more", len(list)-maxPlanned)
			return
		}
		before, after := markdownText(c.Before.Words()), markdownText(c.After.Words())
		if before == after {
			for _, line := range receivesWords(c) {
				after += "<br>" + markdownText(line)
			}
		}
		var because []string
		for _, reason := range c.Reasons {
			because = append(because, markdownText(reason.Text+placesWords(reason.At)))
		}
		more := ""
		if len(c.Regions) > 1 {
			more = fmt.Sprintf("<br>and %d more kinds of requests", len(c.Regions)-1)
		}
		p.line("| %s<br>%s%s | %s | %s | %s |", markdownCode(exampleWords(c.Example)), markdownText(regionWords(c.Regions[0])), more, before, after, strings.Join(because, "<br>"))
	}
}

func (p *markdownPage) list(heading string, lines []string) {
	if len(lines) > 0 {
		p.line("\n#### %s\n", heading)
		p.items(lines)
	}
}

// folded is a list that readers open.
func (p *markdownPage) folded(heading string, lines []string) {
	if len(lines) > 0 {
		p.line("\n<details><summary>%s</summary>\n", heading)
		p.items(lines)
		p.line("\n</details>")
	}
}

func (p *markdownPage) items(lines []string) {
	for i, line := range lines {
		if i == maxPlanned {
			p.line("- and %d more", len(lines)-maxPlanned)
			return
		}
		p.line("- %s", line)
	}
}

// markdownText returns a text in which nothing is markup: names and values are those of whoever
// writes the folder.
func markdownText(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || r == '\r':
			b.WriteByte(' ')
		case strings.ContainsRune("\\`*_{}[]<>()#+-.!|~@&:", r) && !strings.ContainsRune("-.:()+_", r):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// markdownCode returns a text as code in a table.
func markdownCode(text string) string { return "<code>" + markdownText(text) + "</code>" }
