package cli

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/gatefold/gatefold/translate/plan"
)

// planMarkdown returns a report as Markdown for a comment on a pull request.
func planMarkdown(r *planned) string {
	p := &markdownPage{command: r.command}
	p.line("### gatefold plan: %s", markdownText(r.Summary))
	if r.Note != "" {
		p.line("\n%s", markdownText(r.Note))
	}
	p.judged(r)
	p.changes("Requests that get another answer", r.Requests)
	p.changes("Requests that are handled otherwise", r.Handling)
	var lines []string
	for _, one := range r.Undecided {
		lines = append(lines, markdownText(undecidedWords(one)))
	}
	p.list("Rules that changed, without an example", lines)
	lines = nil
	for _, issuer := range r.Unasked {
		lines = append(lines, markdownText(issuer))
	}
	p.list("Issuers that were not asked, so that the answers of their rules are not known", lines)
	lines = nil
	for _, one := range r.Policies {
		lines = append(lines, markdownText(policyChangeWords(one)))
	}
	p.list("Policies", lines)
	lines = nil
	for _, one := range otherProblems(r) {
		lines = append(lines, "introduced: "+problemLine(one))
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

type markdownPage struct {
	out     strings.Builder
	command func(plan.Change) string // returns the arguments of explain for the example of a change
}

// maxNamedKinds is the highest number of kinds of requests that are listed below a table of changes.
const maxNamedKinds = 200

// line writes a formatted text and a line end.
func (p *markdownPage) line(format string, args ...any) {
	fmt.Fprintf(&p.out, format+"\n", args...)
}

// changes writes a heading, a table of the first maxPlanned changes, and a list of the others (see the method
// kinds). It writes nothing if there are no changes.
func (p *markdownPage) changes(heading string, list []plan.Change) {
	if len(list) == 0 {
		return
	}
	p.line("\n#### %s\n", heading)
	p.line("| what changes | example | before | after | because |\n|---|---|---|---|---|")
	for i, c := range list {
		if i == maxPlanned {
			p.kinds(list[i:])
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
		if held := heldWords(c); held != "" {
			because = append(because, markdownText("held: "+held))
		}
		regions := ""
		for j, region := range c.Regions {
			if j == maxRegions {
				regions += fmt.Sprintf("<br>and %d more kinds of requests", len(c.Regions)-maxRegions)
				break
			}
			regions += "<br>" + markdownText(regionWords(region))
		}
		p.line("| **%s** | %s%s | %s | %s | %s |", markdownText(effectWords(c)), markdownCode(p.command(c)), regions, before, after, strings.Join(because, "<br>"))
	}
}

// kinds writes a collapsed list for the changes that have no room in the table. Each item of the list is one kind of
// requests that one of the changes affects (plan.Region). After maxNamedKinds items, a last item says how many more
// there are.
func (p *markdownPage) kinds(list []plan.Change) {
	p.line("\n<details><summary>and %d more</summary>\n", len(list))
	named := 0
	for _, c := range list {
		for _, region := range c.Regions {
			if named++; named <= maxNamedKinds {
				p.line("- **%s** %s: %s", markdownText(effectWords(c)), markdownCode(p.command(c)), markdownText(regionWords(region)))
			}
		}
	}
	if named > maxNamedKinds {
		p.line("- and %d more kinds of requests (-o json lists all)", named-maxNamedKinds)
	}
	p.line("\n</details>")
}

// list writes a heading and the lines as a list (see items). It writes nothing if there are no lines.
func (p *markdownPage) list(heading string, lines []string) {
	if len(lines) > 0 {
		p.line("\n#### %s\n", heading)
		p.items(lines)
	}
}

// folded writes the lines as a list that is collapsed until a reader opens it. It writes nothing if there are
// no lines.
func (p *markdownPage) folded(heading string, lines []string) {
	if len(lines) > 0 {
		p.line("\n<details><summary>%s</summary>\n", heading)
		p.items(lines)
		p.line("\n</details>")
	}
}

// items writes the first maxPlanned lines as a list, and the number of further lines.
func (p *markdownPage) items(lines []string) {
	for i, line := range lines {
		if i == maxPlanned {
			p.line("- and %d more", len(lines)-maxPlanned)
			return
		}
		p.line("- %s", line)
	}
}

// markdownText returns a text that Markdown shows as it is: without markup, links, mentions or references to
// issues. Names and values come from the author of the folder, who may not be trusted. Line ends become spaces.
// An invisible comment interrupts mentions and references (such as @name, #1 and GH-1), emoji shortcodes, and names
// that begin with "www.": escaping is not enough for these, because GitHub and GitLab search the rendered page.
func markdownText(text string) string {
	runes, emoji := []rune(text), regexp.MustCompile(`^[a-z0-9_+-]+:`)
	var b strings.Builder
	for i, r := range runes {
		rest := string(runes[i+1 : min(len(runes), i+maxShortcode)])
		switch {
		case r == '\n' || r == '\r':
			b.WriteByte(' ')
		case strings.ContainsRune("@#!~%$^&", r) && startsWord(rest), r == ':' && emoji.MatchString(rest):
			fmt.Fprintf(&b, "&#%d;<!-- -->", r)
		case strings.ContainsRune("\\`*_{}[]<>#!|~@&", r), r == ':' && strings.HasPrefix(rest, "//"):
			fmt.Fprintf(&b, "&#%d;", r)
		case (r == 'w' || r == 'W') && strings.HasPrefix(strings.ToLower(rest), "ww."), r == '-' && isIssue(runes[:i], rest):
			b.WriteRune(r)
			b.WriteString("<!-- -->")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// maxShortcode is the highest length, in characters, of an emoji shortcode that markdownText recognizes. The first
// colon counts.
const maxShortcode = 64

// startsWord reports whether a text begins with a digit, an ASCII letter or a quote.
func startsWord(text string) bool {
	return text != "" && (text[0] >= '0' && text[0] <= '9' || text[0]|0x20 >= 'a' && text[0]|0x20 <= 'z' || text[0] == '"')
}

// isIssue reports whether a hyphen is part of a reference such as GH-1, which GitHub reads as issue 1. The
// parameters before and rest are the texts before and after the hyphen.
func isIssue(before []rune, rest string) bool {
	return rest != "" && rest[0] >= '0' && rest[0] <= '9' && strings.HasSuffix(strings.ToUpper(string(before[max(0, len(before)-2):])), "GH")
}

// markdownCode returns a text as code in a table cell.
func markdownCode(text string) string { return "<code>" + markdownText(text) + "</code>" }
