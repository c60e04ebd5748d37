package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/plan"
)

// judged writes which edits a gatefold that serves the old configuration does not apply, which errors edits bring to other
// objects, and what --strict does not apply.
func (t *planPage) judged(r *planned) {
	if refused := strictWords(r.Strict); refused != "" {
		fmt.Fprintf(&t.out, "\n%s\n", refused)
	}
	section(t, "These edits are not applied until their errors are fixed:", r.Held, func(e plan.HeldEdit) {
		fmt.Fprintf(&t.out, "  %s\n", heldEditWords(e))
		for _, p := range e.Problems {
			fmt.Fprintf(&t.out, "    %s\n", indented(p.Text(t.color)))
		}
	})
	section(t, "These edits bring errors to other objects:", r.Brought, func(b plan.BroughtError) {
		fmt.Fprintf(&t.out, "  %s\n    %s\n", broughtWords(b), indented(b.Problem.Text(t.color)))
	})
}

// judged writes which edits a gatefold that serves the old configuration does not apply, which errors edits bring to other
// objects, and what --strict does not apply.
func (p *markdownPage) judged(r *planned) {
	if refused := strictWords(r.Strict); refused != "" {
		p.line("\n%s", markdownText(refused))
	}
	var lines []string
	for _, e := range r.Held {
		line := markdownText(heldEditWords(e))
		for _, problem := range e.Problems {
			line += "<br>" + problemLine(problem)
		}
		lines = append(lines, line)
	}
	p.list("Edits that are not applied until their errors are fixed", lines)
	lines = nil
	for _, b := range r.Brought {
		lines = append(lines, markdownText(broughtWords(b))+"<br>"+problemLine(b.Problem))
	}
	p.list("Edits that bring errors to other objects", lines)
}

// problemLine returns a problem in one line of Markdown.
func problemLine(p manifest.Problem) string {
	return markdownText(p.Position() + ": " + string(p.Severity) + ": " + p.Code + ": " + p.Message)
}

// heldEditWords returns which edit is not applied, and what is served meanwhile.
func heldEditWords(e plan.HeldEdit) string {
	meanwhile := "the version before it is still served"
	switch {
	case e.Serves == plan.ServesClosed:
		meanwhile = "the new route answers 500"
	case e.Serves == plan.ServesNothing:
		meanwhile = "the new object is not served"
	case e.Kind == plan.Removed:
		meanwhile = "the object is still served"
	}
	return fmt.Sprintf("%s %s: %s", e.Kind, e.Object, meanwhile)
}

// broughtWords returns which edit brings an error to which object.
func broughtWords(b plan.BroughtError) string {
	by := "edits of other objects"
	if !b.By.IsZero() {
		by = "the edit of " + b.By.String()
	}
	return fmt.Sprintf("%s: by %s", b.Problem.Object, by)
}

// strictWords returns what `serve --strict` does not apply, and why, in one line. It returns "" if it applies everything.
func strictWords(refused []plan.Refusal) string {
	if len(refused) == 0 {
		return ""
	}
	var names []string
	errors := 0
	for _, one := range refused {
		names, errors = append(names, one.Of), errors+len(one.Errors)
	}
	first := refused[0].Errors[0]
	what := "no change of " + strings.Join(names, ", ") + " is applied"
	if names[0] == "the folder" {
		what = "the change is not applied as a whole"
	}
	return fmt.Sprintf("With gatefold serve --strict, %s: %s; the first is %s: %s", what, count(errors, "new error"), first.Position(), first.Code)
}

// otherProblems returns the problems that are introduced, without those of edits that are not applied and those that edits
// bring to other objects: these have lists of their own.
func otherProblems(r *planned) []manifest.Problem {
	var told []manifest.Problem
	for _, e := range r.Held {
		told = append(told, e.Problems...)
	}
	for _, b := range r.Brought {
		told = append(told, b.Problem)
	}
	type spot struct {
		code, position, field string
		object                manifest.Key
	}
	spotOf := func(p manifest.Problem) spot { return spot{p.Code, p.Position(), p.Field, p.Object} }
	known := map[spot]bool{}
	for _, p := range told {
		known[spotOf(p)] = true
	}
	return slices.DeleteFunc(slices.Clone(r.Introduced), func(p manifest.Problem) bool { return known[spotOf(p)] })
}

// indented returns a text whose lines after the first are indented as below an entry.
func indented(text string) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}
