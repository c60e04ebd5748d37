package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
)

// problemsView is the output of `status --problems`.
type problemsView struct{ problemList }

// write implements statusView: it prints the problems in the given format. The JSON is that of the admin page
// /api/v1/problems.
func (v *problemsView) write(out io.Writer, format outputFormat) error {
	if format != formatText {
		return writeValue(out, format, struct {
			problemList
			Problems []manifest.Problem `json:"problems"` // also if it is empty
		}{v.problemList, append([]manifest.Problem{}, v.Problems...)})
	}
	v.printFolder(out)
	color := useColor(isTerminal(out))
	for _, p := range v.Problems {
		fmt.Fprintln(out, p.Text(color))
	}
	errors, warnings := manifest.Count(v.Problems)
	_, err := fmt.Fprintf(out, "%s, %s\n", count(errors, "error"), count(warnings, "warning"))
	return err
}

// printFolder prints messages about the folder as a whole: for example, that it is frozen.
func (p *problemList) printFolder(out io.Writer) {
	if p.Unloaded != "" {
		fmt.Fprintf(out, "\nNothing is served: %s\n", oneLine(p.Unloaded))
	}
	if p.Frozen != "" {
		fmt.Fprintf(out, "\nThe folder is frozen: %s\n", oneLine(p.Frozen))
	}
	if p.Busy != "" {
		fmt.Fprintf(out, "\nThe folder is not followed: %s\n", oneLine(p.Busy))
	}
	if p.State != "" {
		fmt.Fprintf(out, "\nWhat serves cannot be saved for a restart: %s\n", oneLine(p.State))
	}
}

// wrong reports whether the folder has an error, is frozen, is not loaded, or is not followed. It also returns true
// if gatefold cannot save what it serves for a restart.
func (p *problemList) wrong() bool {
	errors, _ := manifest.Count(p.Problems)
	return errors > 0 || p.Frozen != "" || p.Unloaded != "" || p.Busy != "" || p.State != ""
}

// maxProblemsShown is how many problems status prints below its tables.
const maxProblemsShown = 10

// printProblems prints how many problems there are, and then the first maxProblemsShown of them without
// excerpts, errors before warnings. Without problems it prints nothing. The error is always nil.
func printProblems(out io.Writer, problems []manifest.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	errors, warnings := manifest.Count(problems)
	fmt.Fprintf(out, "\n%s, %s in the folder:\n", count(errors, "error"), count(warnings, "warning"))
	color := useColor(isTerminal(out))
	sorted := slices.Clone(problems)
	slices.SortStableFunc(sorted, func(a, b manifest.Problem) int { return strings.Compare(string(a.Severity), string(b.Severity)) })
	for _, p := range sorted[:min(len(sorted), maxProblemsShown)] {
		p.Excerpt = ""
		fmt.Fprint(out, p.Text(color))
	}
	if more := len(sorted) - maxProblemsShown; more > 0 {
		fmt.Fprintf(out, "%d more: gatefold status --problems\n", more)
	}
	return nil
}
