package explain

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate/ir"
)

// A question that is too large to be read is told so.
func TestQuestionsAreBounded(t *testing.T) {
	for name, headers := range map[string][]string{
		"too many headers": slices.Repeat([]string{"accept: x"}, maxQueryHeaders+1),
		"large headers":    slices.Repeat([]string{"x-a: " + strings.Repeat("x", maxQueryBytes/10)}, 11),
	} {
		if _, err := NewQuery("GET", "http://a.test/", headers); err == nil || !strings.Contains(err.Error(), "the question has ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewQuery("GET", "http://a.test/"+strings.Repeat("x", maxQueryBytes), nil); err == nil {
		t.Error("a URL of more than 1 MB is read")
	}
}

// A host of many labels is looked up by as many of them as a hostname may have.
func TestHostsAreLookedUpInPart(t *testing.T) {
	lookups := 0
	_, found := mostSpecific(strings.Repeat("a.", 1<<19), func(string) (int, bool) {
		lookups++
		return 0, false
	})
	if found || lookups > 253+2 {
		t.Errorf("%d lookups", lookups)
	}
}

// A table of expressions that would take minutes to compare has no answer, and soon.
func TestEffortOfExpressionsIsBounded(t *testing.T) {
	var rules []*ir.Rule
	for i := range 2000 {
		rules = append(rules, &ir.Rule{
			Name: fmt.Sprint(i), Source: &ir.Origin{Key: httpRoute("r")}, Position: []int{i, 0}, Action: ir.Action{Respond: &ir.Respond{Status: 500}},
			Match: ir.Match{Path: ir.Path{Kind: ir.PathRegex, Value: fmt.Sprintf("/.*(x+x+)+y%d.*", i)}},
		})
	}
	view := &ir.View{Gateways: []ir.GatewayView{{Name: "n/g", Ports: []ir.PortView{{
		Port: &ir.Port{Gateway: "n/g", Port: 80}, Hosts: []ir.HostView{{Domain: "*", Rules: slices.Values(rules), Len: len(rules)}},
	}}}}}
	long := Query{Host: "a.test", Path: "/" + strings.Repeat("x", 50<<10)}
	if _, err := Explain(Facts{View: view}, long); err == nil || !strings.Contains(err.Error(), "costs too much") {
		t.Errorf("got %v", err)
	}
	if report, err := Explain(Facts{View: view}, Query{Host: "a.test", Path: "/x"}); err != nil || report.Outcome != NotFound {
		t.Errorf("a short path: %+v (%v)", report, err)
	}
}

// Headers that templates double, one after the other, do not grow without end.
func TestTemplatesAreBounded(t *testing.T) {
	extras := &ir.Extras{}
	for i := range 40 {
		read := ir.Expr{Func: "header", Text: fmt.Sprintf("x-%d", i)}
		extras.Request = append(extras.Request, ir.HeaderChange{Kind: ir.SetHeader, Name: fmt.Sprintf("x-%d", i+1), Value: ir.Template{read, read}})
	}
	r := newRequest(Query{Path: "/", Headers: map[string][]string{"x-0": {"value"}}})
	if n := len(r.transformed(extras).first("x-40")); n > 4*maxQueryBytes {
		t.Errorf("a header of %d bytes", n)
	}
}

// Of repeated query parameters the first counts, as it was sent.
func TestFirstParameters(t *testing.T) {
	got := firstParameters("?q=&q=1&&e==x&p=1+2&%71=3&f")
	want := map[string]string{"q": "", "": "", "e": "=x", "p": "1+2", "%71": "3", "f": ""}
	if fmt.Sprint(got) != fmt.Sprint(want) || len(firstParameters("")) != 0 {
		t.Errorf("got %q, want %q", got, want)
	}
}
