package expect

import (
	"cmp"
	"net/netip"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
)

// maxExplained is the highest number of failed lines for which Run sets the fields Reason, ReasonAt, Rule and Near
// of LineReport. maxNear is the highest number of entries in LineReport.Near.
const (
	maxExplained = 100
	maxNear      = 3
)

// Report is what `gatefold test` prints. docs/json.md documents its JSON.
type Report struct {
	// Tests is the number of lines with a verdict.
	Tests   int `json:"tests"`
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Unknown int `json:"unknown"`
	Skipped int `json:"skipped"`
	// Against are the addresses that the lines were sent to. It is empty if explain judged the lines.
	Against []string `json:"against,omitempty"`
	// Lines are the verdicts, sorted by file and line.
	Lines []LineReport `json:"lines"`
	// Coverage is nil if the lines were sent to an Envoy.
	Coverage *CoverageReport `json:"coverage,omitempty"`
	// Problems are the lines that cannot be read, or that name an unknown Gateway.
	Problems []manifest.Problem `json:"problems,omitempty"`
	// FolderErrors are the errors of the folder. They do not make a test fail by themselves.
	FolderErrors []manifest.Problem `json:"folderErrors,omitempty"`
}

// LineReport is the verdict about one line. Its texts do not contain the credentials of the line.
type LineReport struct {
	File    string  `json:"file"`
	Line    int     `json:"line"`
	Verdict Verdict `json:"verdict"`
	// Text is the line as written, without its credentials.
	Text   string `json:"text"`
	Method string `json:"method,omitempty"`
	URL    string `json:"url"`
	// Want is the expected outcome, and Got is what happens, in the syntax of a line.
	Want        string       `json:"want"`
	Got         string       `json:"got,omitempty"`
	Differences []Difference `json:"differences,omitempty"`
	Doubts      []Doubt      `json:"doubts,omitempty"`
	// Reason says why no backend answers the request of a failed line. ReasonAt is the field that decides, if it
	// is known.
	Reason   string          `json:"reason,omitempty"`
	ReasonAt *explain.Source `json:"reasonAt,omitempty"`
	// Rule is the rule that matches the request of a failed line, or nil.
	Rule *explain.Source `json:"rule,omitempty"`
	// Near are rules that nearly matched the request, at most maxNear.
	Near []explain.NearMissReport `json:"near,omitempty"`
}

// Run judges the lines of expectations (the parameter requests) by the answers of package explain. It returns the
// verdicts as a Report. The parameter client is the client's address for lines that do not contain an address (see
// Judge.Client). Run explains the answer of only the first maxExplained failed lines (see LineReport.explain).
func Run(facts explain.Facts, requests []Request, client netip.Addr) *Report {
	judge := NewJudge(facts.View, client)
	report, all := &Report{Lines: []LineReport{}}, map[manifest.Field]bool{}
	requests, report.Problems = KnownGateways(facts, requests)
	for _, request := range requests {
		result := judge.Judge(request)
		for _, rule := range result.Rules {
			all[rule] = true
		}
		line := result.Report()
		if result.Verdict == Failed && report.Failed < maxExplained {
			line.explain(facts, judge.Query(request))
			judge.hidden.report(&line, request)
		}
		report.Add(line)
	}
	covered := coverage(facts.View, all)
	locate(facts, covered.Unreached)
	report.Coverage = &covered
	return report
}

// Failing judges the lines of expectations (the parameter requests) by the answers of package explain. It returns the
// lines that fail, and those whose Gateway the folder does not have. Failing calls the function stop before each line. If
// stop returns an error, Failing ends and returns this error.
func Failing(facts explain.Facts, requests []Request, stop func() error) (failing []Request, err error) {
	judge := NewJudge(facts.View, netip.Addr{})
	_, unknown := KnownGateways(facts, requests)
	for _, request := range requests {
		if err := stop(); err != nil {
			return nil, err
		}
		lacks := len(unknown) > 0 && unknown[0].File == request.File && unknown[0].Line == request.Number
		if lacks {
			unknown = unknown[1:]
		}
		if lacks || judge.Judge(request).Verdict == Failed {
			failing = append(failing, request)
		}
	}
	return failing, nil
}

// Reports returns the verdicts about lines that fail, with their reasons. For each line whose Gateway the folder does
// not have, it returns a problem.
func Reports(facts explain.Facts, failing []Request) (lines []LineReport, problems []manifest.Problem) {
	if len(failing) == 0 {
		return nil, nil
	}
	judge := NewJudge(facts.View, netip.Addr{})
	failing, problems = KnownGateways(facts, failing)
	for _, request := range failing {
		line := judge.Judge(request).Report()
		line.explain(facts, judge.Query(request))
		judge.hidden.report(&line, request)
		lines = append(lines, line)
	}
	return lines, problems
}

// locate sets the place of each source, its file and line, and sorts the sources.
func locate(facts explain.Facts, sources []explain.Source) {
	fields := make([]manifest.Field, len(sources))
	for i, s := range sources {
		fields[i] = manifest.Field{Object: s.Object, Path: s.Field}
	}
	for i, place := range facts.Places(fields) {
		sources[i].Place = place
	}
	sortSources(sources)
}

// Add adds the verdict about a line.
func (r *Report) Add(line LineReport) {
	r.Tests++
	switch line.Verdict {
	case Passed:
		r.Passed++
	case Failed:
		r.Failed++
	case Unknown:
		r.Unknown++
	case Skipped:
		r.Skipped++
	}
	r.Lines = append(r.Lines, line)
}

// Report returns the verdict in the form that commands show.
func (r Result) Report() LineReport {
	return LineReport{
		File: r.Request.File, Line: r.Request.Number, Verdict: r.Verdict, Text: r.Line, Method: r.Request.Method, URL: r.URL,
		Want: r.Want, Got: r.Got, Differences: r.Differences, Doubts: r.Doubts,
	}
}

// url returns the URL as it is written in the line. If the line is about a connection, the result has no path.
func (r Request) url() string {
	target := r.Target
	if r.Connection() {
		target = ""
	}
	return r.URL.Scheme + "://" + r.URL.Host + target
}

// explain adds why a failed line has its answer: the reason, the rule, and rules that nearly matched. If
// explain.Explain returns an error, Reason is this error.
func (l *LineReport) explain(facts explain.Facts, query explain.Query) {
	report, err := explain.Explain(facts, query)
	if err != nil {
		l.Reason = err.Error()
		return
	}
	l.Reason, l.ReasonAt = report.Reason, report.ReasonAt
	if report.Route != nil {
		last := report.Route.Hops[len(report.Route.Hops)-1]
		rule := last.RuleAt
		if rule.Line == 0 {
			rule.Place = cmp.Or(last.MatchAt.Place, last.At.Place)
		}
		l.Rule = &rule
	}
	l.Near = report.NearMisses[:min(maxNear, len(report.NearMisses))]
}
