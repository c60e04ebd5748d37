package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
)

// Problems are counted by the namespace whose mistake it is. Whatever files have as
// namespaces, there are not more series than for the 50 with the most problems.
func TestProblemsAreCountedByNamespace(t *testing.T) {
	r := start(t, Options{})
	in := func(namespace string) manifest.Problem {
		return manifest.Problem{Code: "UnknownField", Severity: manifest.Error, Object: manifest.Key{Kind: "Service", Namespace: namespace, Name: "a"}}
	}
	problems := []manifest.Problem{in("shop"), in("shop"), in(""), in("no namespace"), in("\xff")}
	for i := range 100 {
		problems = append(problems, in(fmt.Sprintf("team-%02d", i)))
	}
	r.Publish(translate.Result{Problems: problems})
	r.figures(t,
		`gatefold_problems{code="UnknownField",namespace="shop",severity="error"} 2`,
		`gatefold_problems{code="UnknownField",namespace="",severity="error"} 1`,
		`gatefold_problems{code="UnknownField",namespace="team-00",severity="error"} 1`,
		`gatefold_problems{code="UnknownField",namespace="_other",severity="error"} 53`,
		`gatefold_problems{code="",namespace="",severity="error"} 0`)
	if n := strings.Count(r.get(t, "/metrics"), "\ngatefold_problems{"); n != 2+1+50+1 {
		t.Errorf("%d series", n)
	}
	r.Publish(translate.Result{Problems: problems[:2]})
	if n := strings.Count(r.get(t, "/metrics"), "\ngatefold_problems{"); n != 3 {
		t.Errorf("%d series are left", n)
	}
}
