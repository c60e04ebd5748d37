package policy

import (
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate/ir"
)

// FuzzTemplate reads any text as a template: what is outside of {{ }} stays as it is,
// and functions come with the arguments that others count on.
func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{
		"a", "{{ header(\"x\") }}", `a{{upper(request_header('x-y'))}}b`, `{{ default(header("x"), "it's \"") }}`, "{{", "}}", "{{ }}", "{% if %}", "{{{{", "{{ header(header()) }}",
		`{{ lower(lower(lower(lower(lower(header("x")))))) }}`, "100%{{ header(\":path\") }}", "{{ header(\"x\")\n}}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		template, fault := parseTemplate(text)
		if fault != nil {
			if fault.Message == "" || fault.Hint == "" {
				t.Errorf("%+v says nothing", fault)
			}
			return
		}
		var plain strings.Builder
		for _, expr := range template {
			if expr.Func == "" {
				plain.WriteString(expr.Text)
			}
			wantSound(t, expr, 0)
		}
		if !strings.Contains(text, "{{") && plain.String() != text {
			t.Errorf("%q became %q", text, plain.String())
		}
	})
}

func wantSound(t *testing.T, expr ir.Expr, depth int) {
	t.Helper()
	arguments := map[string]int{"": 0, funcHeader: 0, funcRequestHeader: 0, funcLower: 1, funcUpper: 1, funcDefault: 1}
	want, known := arguments[expr.Func]
	if !known || len(expr.Args) != want || depth > maxNesting {
		t.Errorf("%+v at depth %d", expr, depth)
	}
	if (expr.Func == funcHeader || expr.Func == funcRequestHeader) && !readable.MatchString(expr.Text) {
		t.Errorf("a header is called %q", expr.Text)
	}
	for _, argument := range expr.Args {
		wantSound(t, argument, depth+1)
	}
}
