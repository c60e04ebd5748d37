package cli

import (
	"regexp"
	"testing"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
)

// Colors change nothing but colors: what is aligned without them is with them.
func TestExplainTextInColor(t *testing.T) {
	place := store.Place{File: "a.yaml", Line: 1, Column: 1}
	report := &explain.Report{
		Request: explain.RequestReport{Method: "GET", URL: "http://a.test/"}, Outcome: explain.Forwarded,
		Listener:    &explain.ListenerReport{Gateway: "n/g", Name: "http", Port: 80, Path: "/", At: explain.Source{Place: place}},
		Backends:    []explain.BackendReport{{Status: 500, Reason: "gone", Percent: 100, At: explain.Source{Place: place}}},
		NearMisses:  []explain.NearMissReport{{Match: "path prefix /", Reason: "it lost"}},
		NotAccepted: []explain.NotAcceptedReport{{Reason: "NotAllowedByParent", Message: "no rule leads here"}},
		Suggestions: []string{"b.test"},
		Problems:    []manifest.Problem{{Code: "Gone", Severity: manifest.Error, Message: "it is gone"}}, MoreProblems: 2,
	}
	plain, colored := string(explainText(report, "gatefold validate .", false)), string(explainText(report, "gatefold validate .", true))
	escapes := regexp.MustCompile("\x1b\\[[0-9;]*m")
	if escapes.MatchString(plain) || len(escapes.FindAllString(colored, -1)) < 10 {
		t.Errorf("plain %q\ncolored %q", plain, colored)
	}
	if bare := escapes.ReplaceAllString(colored, ""); bare != plain {
		t.Errorf("got  %q\nwant %q", bare, plain)
	}
}
