package expect

import (
	"cmp"
	"net/netip"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
)

// maxExplained bounds the lines whose reasons are searched, and maxNear the rules that are named
// for each.
const (
	maxExplained = 100
	maxNear      = 3
)

// Report is what `gatefold test` prints. docs/json.md documents its JSON.
type Report struct {
	// Tests is the number of lines; those that cannot be read are Problems.
	Tests   int `json:"tests"`
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Unknown int `json:"unknown"`
	Skipped int `json:"skipped"`
	// Against are the addresses that the lines were sent to; empty for an answer by explain.
	Against []string `json:"against,omitempty"`
	// Lines are the verdicts, by file and line.
	Lines []LineReport `json:"lines"`
	// Coverage is nil where the lines were sent to an Envoy.
	Coverage *CoverageReport `json:"coverage,omitempty"`
	// Problems are lines that cannot be read.
	Problems []manifest.Problem `json:"problems,omitempty"`
	// FolderErrors are the errors of the folder. They fail no test by themselves.
	FolderErrors []manifest.Problem `json:"folderErrors,omitempty"`
}

// LineReport is the verdict about one line. Its texts do not have the credentials of the line.
type LineReport struct {
	File    string  `json:"file"`
	Line    int     `json:"line"`
	Verdict Verdict `json:"verdict"`
	// Text is the line as it is written.
	Text   string `json:"text"`
	Method string `json:"method,omitempty"`
	URL    string `json:"url"`
	// Want and Got are where the request goes, in the words of a line.
	Want        string       `json:"want"`
	Got         string       `json:"got,omitempty"`
	Differences []Difference `json:"differences,omitempty"`
	Doubts      []Doubt      `json:"doubts,omitempty"`
	// Reason says why no backend answers a line that fails, and ReasonAt is the field that decides.
	Reason   string          `json:"reason,omitempty"`
	ReasonAt *explain.Source `json:"reasonAt,omitempty"`
	// Rule is the rule that takes the request of a line that fails.
	Rule *explain.Source `json:"rule,omitempty"`
	// Near are rules that nearly took it.
	Near []explain.NearMissReport `json:"near,omitempty"`
}

// Run judges lines by explain; client is Judge.Client.
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
		}
		report.Add(line)
	}
	covered := coverage(facts.View, all)
	locate(facts, covered.Unreached)
	report.Coverage = &covered
	return report
}

// Failures judges lines by explain and returns those that fail, at most `most` of them with their
// reasons, and how many there are. An error is that of stop, which is asked before each line.
func Failures(facts explain.Facts, requests []Request, most int, stop func() error) (failed []LineReport, all int, err error) {
	judge := NewJudge(facts.View, netip.Addr{})
	for _, request := range requests {
		if err := stop(); err != nil {
			return nil, 0, err
		}
		result := judge.Judge(request)
		if result.Verdict != Failed {
			continue
		}
		if all++; all <= most {
			line := result.Report()
			line.explain(facts, judge.Query(request))
			failed = append(failed, line)
		}
	}
	return failed, all, nil
}

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

// Report returns the verdict as commands show it.
func (r Result) Report() LineReport {
	return LineReport{
		File: r.Request.File, Line: r.Request.Number, Verdict: r.Verdict, Text: r.Line, Method: r.Request.Method, URL: r.URL,
		Want: r.Want, Got: r.Got, Differences: r.Differences, Doubts: r.Doubts,
	}
}

// url returns the URL as written.
func (r Request) url() string {
	target := r.Target
	if r.Connection() {
		target = ""
	}
	return r.URL.Scheme + "://" + r.URL.Host + target
}

// explain adds why the answer to a line is as it is.
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
