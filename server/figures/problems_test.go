package figures

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/gatefold/gatefold/store/manifest"
)

// page returns what /metrics shows.
func (m *Set) page() string {
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	return answer.Body.String()
}

// Problems are counted by the namespace whose mistake it is. Whatever files have as
// namespaces, there are not more series than for the 50 with the most problems.
func TestProblemsAreCountedByNamespace(t *testing.T) {
	m := New()
	in := func(namespace string) manifest.Problem {
		return manifest.Problem{Code: "UnknownField", Severity: manifest.Error, Object: manifest.Key{Kind: "Service", Namespace: namespace, Name: "a"}}
	}
	problems := []manifest.Problem{in("shop"), in("shop"), in(""), in("no namespace"), in("\xff")}
	for i := range 100 {
		problems = append(problems, in(fmt.Sprintf("team-%02d", i)))
	}
	m.CountProblems(problems)
	page := m.page()
	for _, line := range []string{
		`gatefold_problems{code="UnknownField",namespace="shop",severity="error"} 2`,
		`gatefold_problems{code="UnknownField",namespace="",severity="error"} 1`,
		`gatefold_problems{code="UnknownField",namespace="team-00",severity="error"} 1`,
		`gatefold_problems{code="UnknownField",namespace="_other",severity="error"} 53`,
		`gatefold_problems{code="",namespace="",severity="error"} 0`,
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("no line %s in %s", line, page)
		}
	}
	if n := strings.Count(page, "\ngatefold_problems{"); n != 2+1+50+1 {
		t.Errorf("%d series", n)
	}
	m.CountProblems(problems[:2])
	if n := strings.Count(m.page(), "\ngatefold_problems{"); n != 3 {
		t.Errorf("%d series are left", n)
	}
}

// TestReloadsBeginAtZero wants a series for each result of a reload before the first one (server.Reload lists them): an
// alert sees the step from 0 to 1.
func TestReloadsBeginAtZero(t *testing.T) {
	page := New().page()
	for _, result := range []string{"ok", "problems", "frozen", "waiting", "failed"} {
		if line := fmt.Sprintf("gatefold_reloads_total{result=%q} 0\n", result); !strings.Contains(page, line) {
			t.Errorf("no line %s", line)
		}
	}
}
