package server_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// viewOf is a View with one rule that answers 500 and is named.
func viewOf(name string) func() *ir.View {
	rule := &ir.Rule{
		Name: name, Match: ir.Match{Path: ir.Path{Kind: ir.PathPrefix, Value: "/"}}, Position: []int{0, 0},
		Source: &ir.Origin{Key: manifest.Key{Kind: "HTTPRoute", Namespace: "n", Name: "r"}}, Action: ir.Action{Respond: &ir.Respond{Status: 500}},
	}
	hosts := []ir.HostView{{Domain: "*", Rules: slices.Values([]*ir.Rule{rule}), Len: 1}}
	port := ir.PortView{Port: &ir.Port{Name: "n/g/http", Gateway: "n/g", Port: 80}, Hosts: hosts}
	return func() *ir.View {
		return &ir.View{Gateways: []ir.GatewayView{{Name: "n/g", Ports: []ir.PortView{port}}}}
	}
}

func TestExplainAnswersForWhatWasPublishedLast(t *testing.T) {
	places := func(fields []manifest.Field) []store.Place {
		out := make([]store.Place, len(fields))
		for i := range fields {
			out[i] = store.Place{File: "f.yaml", Line: i + 1, Column: 1}
		}
		return out
	}
	r := start(t, server.Options{Folder: askedFolder{places: places}})
	page := "/api/v1/explain?url=" + url.QueryEscape("http://a.test/x")
	if code, body := r.page(t, "GET", page, ""); code != http.StatusServiceUnavailable {
		t.Errorf("before the first load: %d %s", code, body)
	}
	r.Publish(translate.Result{View: viewOf("one")})
	r.Publish(translate.Result{View: viewOf("two"), Problems: []manifest.Problem{{
		Object: manifest.Key{Kind: "HTTPRoute", Namespace: "n", Name: "r"}, Field: "spec.rules[0].backendRefs[0]", Message: "there is none",
	}}})
	var report explain.Report
	r.read(t, page+"&method=POST&header=x-a:+1&header=x-a:+2&gateway=n/g", &report)
	if report.Route == nil || report.Route.Name != "two" || report.Reason != "there is none" || report.Route.Hops[0].RuleAt.File != "f.yaml" {
		t.Errorf("got %+v", report)
	}
	if report.Request.Method != "POST" || len(report.Request.Headers["X-A"]) != 2 {
		t.Errorf("asked %+v", report.Request)
	}
	for question, want := range map[string]string{
		"?url=nowhere":                       "needs a scheme",
		"":                                   "needs a scheme",
		"?url=http://a.test/&gateway=n/none": `no Gateway \"n/none\" serves`,
		"?url=http://a.test/&method=G+T":     "is not a method",
		"?url=http://a.test/&header=x":       "is not of the form",
	} {
		if code, body := r.page(t, "GET", "/api/v1/explain"+question, ""); code != http.StatusBadRequest || !strings.Contains(body, want) {
			t.Errorf("%s: got %d %s", question, code, body)
		}
	}
}
