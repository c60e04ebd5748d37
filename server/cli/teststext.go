package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/visible"
	"github.com/gatefold/gatefold/translate/expect"
	"github.com/gatefold/gatefold/translate/explain"
)

// print prints a test run in the format of -o.
func (o *testOptions) print(w io.Writer, run testRun) error {
	switch o.format {
	case formatGitHub:
		return o.annotate(w, run)
	case formatJUnit:
		return o.writeJUnit(w, run.report)
	case formatJSON, formatYAML:
		return writeValue(w, o.format, run.report)
	}
	_, err := io.WriteString(w, o.text(run, useColor(isTerminal(w))))
	return err
}

// text returns the report as text: problems of test files, the lines that failed or are unknown, and a summary.
// With --coverage, or if the coverage is too low, it also lists the rules that no line reaches.
func (o *testOptions) text(run testRun, color bool) string {
	page := &explainPage{color: color}
	r := run.report
	for _, p := range r.Problems {
		page.out.WriteString(p.Text(color))
	}
	for _, line := range r.Lines {
		if line.Verdict == expect.Failed || line.Verdict == expect.Unknown {
			page.testLine(line)
		}
	}
	if r.Coverage != nil && (o.coverage || o.tooLow(r)) {
		for _, rule := range r.Coverage.Unreached {
			fmt.Fprintf(&page.out, "not reached: %s\n", sourceWords(rule))
		}
	}
	fmt.Fprintln(&page.out, o.summary(run))
	return page.out.String()
}

// testLine prints the verdict of a test (a line of a test file), with its reasons.
func (t *explainPage) testLine(line expect.LineReport) {
	style := map[expect.Verdict]string{expect.Failed: red}[line.Verdict]
	fmt.Fprintf(&t.out, "%s: %s: %s\n", t.paint(bold, fmt.Sprintf("%s:%d", visible.Text(line.File), line.Line)), t.paint(style, string(line.Verdict)),
		visible.Text(line.Text))
	for _, fact := range testFacts(line) {
		fmt.Fprintf(&t.out, "  %s\n", fact)
	}
}

// annotate prints messages as workflow commands of GitHub Actions, so that GitHub shows them in a pull request. It
// prints one message for each problem of a test file, for each line that failed or is unknown, for each error in the
// folder, and for the summary. The message for a failed line is an error. The message for an unknown line is an error
// with --fail-on-unknown, and a warning without. If the coverage is too low, annotate also prints a warning for each
// rule that no line reaches.
func (o *testOptions) annotate(w io.Writer, run testRun) error {
	for _, p := range run.report.Problems {
		fmt.Fprintln(w, annotation(p))
	}
	for _, line := range run.report.Lines {
		level := "error"
		if line.Verdict == expect.Unknown && !o.failOnUnknown {
			level = "warning"
		}
		if line.Verdict == expect.Failed || line.Verdict == expect.Unknown {
			message := strings.Join(append([]string{line.Text}, testFacts(line)...), "; ")
			fmt.Fprintln(w, workflowCommand(level, manifest.Problem{File: line.File, Line: line.Line}, "gatefold test: "+string(line.Verdict), message))
		}
	}
	for _, p := range run.report.FolderErrors {
		fmt.Fprintln(w, workflowCommand("warning", p, p.Code, problemWords(p)))
	}
	if o.tooLow(run.report) {
		for _, rule := range run.report.Coverage.Unreached {
			fmt.Fprintln(w, workflowCommand("warning", manifest.Problem{File: rule.File, Line: rule.Line, Column: rule.Column}, "gatefold test: not reached", sourceWords(rule)+" is reached by no test"))
		}
	}
	level := "notice"
	if o.fails(run.report) {
		level = "error"
	}
	_, err := fmt.Fprintln(w, workflowCommand(level, manifest.Problem{}, "gatefold test", o.summary(run)))
	return err
}

// testFacts returns in words the reasons why a test (a line of a test file) did not pass.
func testFacts(line expect.LineReport) (facts []string) {
	for _, d := range line.Differences {
		facts = append(facts, differenceWords(d))
	}
	for _, d := range line.Doubts {
		facts = append(facts, fmt.Sprintf("not known: %s: %s", d.Of, d.Why))
	}
	if line.Reason != "" {
		reason := line.Reason
		if line.ReasonAt != nil {
			reason += placeWords(line.ReasonAt.Place)
		}
		facts = append(facts, "because "+reason)
	}
	if line.Rule != nil {
		facts = append(facts, "by rule "+sourceWords(*line.Rule))
	}
	for _, near := range line.Near {
		facts = append(facts, fmt.Sprintf("not by %s, rule %d: %s%s", near.Object, near.Rule, near.Reason, placeWords(near.At.Place)))
	}
	return facts
}

// differenceWords returns in words a difference between the expected and the actual result.
func differenceWords(d expect.Difference) string {
	if d.Of == "outcome" {
		return fmt.Sprintf("expected %s, got %s", d.Want, d.Got)
	}
	return fmt.Sprintf("%s: expected %s, got %s", d.Of, d.Want, d.Got)
}

// sourceWords returns an object, its field and its place in words.
func sourceWords(s explain.Source) string {
	return fmt.Sprintf("%s, %s%s", s.Object, s.Field, placeWords(s.Place))
}

// placeWords returns a place in brackets, or "" if the file is not known.
func placeWords(place store.Place) string {
	if place.File == "" {
		return ""
	}
	return " (" + manifest.Problem{File: place.File, Line: place.Line}.Position() + ")"
}

// folderErrorWords returns a message about the number of errors in the folder.
func folderErrorWords(errors int) string {
	return count(errors, "error") + " in the folder; gatefold validate shows the details"
}

// summary returns a summary of the test run in one line.
func (o *testOptions) summary(run testRun) string {
	r := run.report
	line := fmt.Sprintf("%s in %s: %d passed, %d failed, %d unknown", count(r.Tests, "test"), count(run.files, "file"), r.Passed, r.Failed, r.Unknown)
	if r.Skipped > 0 {
		line += fmt.Sprintf(", %d skipped (only Envoy)", r.Skipped)
	}
	if len(r.Problems) > 0 {
		line += fmt.Sprintf("; %s cannot be read", count(len(r.Problems), "line"))
	}
	if r.Coverage == nil {
		return line
	}
	if r.Coverage.Rules == 0 {
		return line + "; the folder serves no rules"
	}
	line += fmt.Sprintf("; %d of %s reached (%.1f%%", r.Coverage.Reached, count(r.Coverage.Rules, "rule"), r.Coverage.Percent)
	if o.tooLow(r) {
		line += fmt.Sprintf(", wanted %g%%", o.minCoverage)
	}
	return line + ")"
}
