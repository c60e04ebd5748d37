package cli

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/gatefold/gatefold/store/visible"
	"github.com/gatefold/gatefold/translate/expect"
)

// formatJUnit is the format that prints the verdicts of tests as JUnit XML. CI systems show it.
const formatJUnit outputFormat = "junit"

// junitSuites is the root element of JUnit XML. It has the elements and attributes that CI systems commonly
// support.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

// junitSuite has the tests of one file, the errors of the folder, or the coverage.
type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string       `xml:"name,attr"`
	Class   string       `xml:"classname,attr"`
	File    string       `xml:"file,attr,omitempty"`
	Line    int          `xml:"line,attr,omitempty"`
	Failure *junitResult `xml:"failure"`
	Error   *junitResult `xml:"error"`
	Skipped *junitResult `xml:"skipped"`
}

type junitResult struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// writeJUnit prints a report as XML, with a suite for each test file. Problems of test files are errors. Errors in
// the folder are skipped tests of a suite of their own. Coverage that is too low is a failure in a suite of its own.
func (o *testOptions) writeJUnit(w io.Writer, r *expect.Report) error {
	all := junitSuites{Name: "gatefold test"}
	at := map[string]int{}
	suite := func(file string) *junitSuite {
		if _, known := at[file]; !known {
			at[file] = len(all.Suites)
			all.Suites = append(all.Suites, junitSuite{Name: file})
		}
		return &all.Suites[at[file]]
	}
	for _, line := range r.Lines {
		suite(line.File).add(o.junitCase(line))
	}
	for _, p := range r.Problems {
		result := &junitResult{Message: p.Message, Text: strings.TrimSuffix(p.Text(false), "\n")}
		suite(p.File).add(junitCase{Name: p.Position(), Class: p.File, File: p.File, Line: p.Line, Error: result})
	}
	for _, p := range r.FolderErrors { // they are shown and fail no test
		result := &junitResult{Message: visible.Text(p.Message), Text: strings.TrimSuffix(p.Text(false), "\n")}
		suite("errors of the folder").add(junitCase{Name: p.Position() + " " + p.Code, Class: "errors of the folder", File: p.File, Line: p.Line, Skipped: result})
	}
	if o.tooLow(r) {
		result := &junitResult{Message: fmt.Sprintf("%.1f%% of the rules are reached, wanted %g%%", r.Coverage.Percent, o.minCoverage)}
		for _, rule := range r.Coverage.Unreached {
			result.Text += "not reached: " + sourceWords(rule) + "\n"
		}
		suite("coverage").add(junitCase{Name: "coverage", Class: "coverage", Failure: result})
	}
	for _, s := range all.Suites {
		all.Tests, all.Failures, all.Errors = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}

// junitCase returns the test case for a line of a test file. A line that failed is a failure; with
// --fail-on-unknown, so is a line whose result is unknown. Any other line that did not pass is a skipped test.
func (o *testOptions) junitCase(line expect.LineReport) junitCase {
	out := junitCase{Name: fmt.Sprintf("%s (line %d)", visible.Text(line.Text), line.Line), Class: line.File, File: line.File, Line: line.Line}
	facts := testFacts(line)
	if line.Verdict == expect.Passed {
		return out
	}
	result := &junitResult{Message: facts[0], Text: strings.Join(facts, "\n")}
	if line.Verdict == expect.Failed || line.Verdict == expect.Unknown && o.failOnUnknown {
		out.Failure = result
	} else {
		out.Skipped = result
	}
	return out
}

// add adds a test case and counts it.
func (s *junitSuite) add(c junitCase) {
	s.Cases = append(s.Cases, c)
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
}
