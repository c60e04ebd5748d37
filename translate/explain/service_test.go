package explain_test

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// A service that Envoy cannot ask, as its cluster is closed or has no endpoint, is answered
// for by what its extension says of failures.
func TestServicesThatCannotBeAsked(t *testing.T) {
	auth := func(of ir.AuthService) ir.Extras {
		return ir.Extras{ExtAuth: &ir.ExtAuth{ExtensionUse: ir.ExtensionUse{Field: "extAuth", Extension: &ir.Extension{Service: ir.Service{Cluster: "sso"}, Auth: &of}}}}
	}
	limit := func(open bool, entries ...ir.LimitEntry) ir.Extras {
		use := ir.ExtensionUse{Field: "rateLimit.global", Extension: &ir.Extension{Service: ir.Service{Cluster: "sso"}, Limiter: &ir.LimitService{FailOpen: open}}}
		return ir.Extras{GlobalLimit: &ir.GlobalLimit{ExtensionUse: use, Descriptors: [][]ir.LimitEntry{entries}}}
	}
	proc := func(open bool, mode *ir.ProcessingMode) ir.Extras {
		use := ir.ExtensionUse{Field: "extProc", Extension: &ir.Extension{Service: ir.Service{Cluster: "sso"}, Processor: &ir.ProcessorService{FailOpen: open}}}
		return ir.Extras{ExtProc: &ir.ExtProc{ExtensionUse: use, Mode: mode}}
	}
	small := &ir.RequestBody{Max: 4}
	header, value := ir.LimitEntry{Key: "user", Header: "x-user"}, ir.LimitEntry{Key: "k", Value: "v"}
	nothing := ir.ProcessingMode{RequestHeaders: "SKIP", ResponseHeaders: "SKIP"}
	bodies := ir.ProcessingMode{RequestHeaders: "SKIP", ResponseHeaders: "SKIP", RequestBody: "BUFFERED"}
	answers := ir.ProcessingMode{RequestHeaders: "SKIP", ResponseHeaders: "SEND"}
	answerBodies := ir.ProcessingMode{RequestHeaders: "SKIP", ResponseHeaders: "SKIP", ResponseBody: "STREAMED"}
	body := http.Header{"Content-Length": {"5"}}
	for _, c := range []struct {
		name    string
		extras  ir.Extras
		headers http.Header
		status  uint32
		unless  string // the beginning of the one line
	}{
		{name: "closed", extras: auth(ir.AuthService{Percent: 100, StatusOnError: 401}), status: 401},
		{name: "open", extras: auth(ir.AuthService{Percent: 100, StatusOnError: 401, FailOpen: true})},
		{name: "some", extras: auth(ir.AuthService{Percent: 30, StatusOnError: 401}), unless: "extAuth: it is one of the 30% about which Envoy cannot ask sso (401): "},
		{name: "none", extras: auth(ir.AuthService{StatusOnError: 401})},
		{name: "a large body", extras: auth(ir.AuthService{Percent: 100, StatusOnError: 401, Body: small, FailOpen: true}), headers: body, status: 413},
		{name: "a limit", extras: limit(false, value), status: 500},
		{name: "an open limit", extras: limit(true, value)},
		{name: "a limit of a header that is missing", extras: limit(false, value, header)},
		{name: "a limit of a header", extras: limit(false, header), headers: http.Header{"X-User": {"x"}}, status: 500},
		{name: "a processor", extras: proc(false, nil), status: 500},
		{name: "an open processor", extras: proc(true, nil)},
		{name: "a processor of nothing", extras: proc(false, &nothing)},
		{name: "a processor of answers", extras: proc(false, &answers), status: 500},
		{name: "a processor of bodies without one", extras: proc(false, &bodies)},
		{name: "a processor of bodies", extras: proc(false, &bodies), headers: body, status: 500},
		{name: "a processor of answers' bodies", extras: proc(false, &answerBodies), unless: "extProc: there is a body"},
	} {
		for reason, cluster := range map[string]*ir.Cluster{
			"it has no endpoint":          {Name: "sso"},
			"BackendTLSPolicy n/p is bad": {Name: "sso", Closed: "BackendTLSPolicy n/p is bad"},
		} {
			rule := prefixed("r", 0, "/")
			rule.Action.Extras = &c.extras
			use := c.extras.Extensions()[0]
			rule.Action.Parts = []ir.Part{{Kind: use.Field.PartKind(), Object: manifest.Key{Kind: api.KindTrafficPolicy, Namespace: "n", Name: "p"}, Field: use.Field.Path()}}
			view := viewWith("a.test", rule)
			view.Clusters["sso"] = cluster
			report, err := explain.Explain(explain.Facts{View: view}, explain.Query{Host: "a.test", Method: "POST", Headers: c.headers})
			if err != nil {
				t.Fatal(err)
			}
			wanted := report.Status == c.status && (c.status == 0) == (report.Outcome == explain.Forwarded)
			if !wanted || len(report.Caveats) != min(1, len(c.unless)) || !strings.HasPrefix(strings.Join(report.Caveats, ""), c.unless) {
				t.Errorf("%s: %s %d unless %q, want %d unless %q", c.name, report.Outcome, report.Status, report.Caveats, c.status, c.unless)
			}
			if said := append(slices.Clone(report.Caveats), report.Reason); c.status != 413 && c.status+uint32(len(c.unless)) > 0 && !strings.HasSuffix(strings.Join(said, ""), ": "+reason) {
				t.Errorf("%s: got %q, want it to say that %s", c.name, said, reason)
			}
			if does := report.Actions[0].Does; !strings.HasSuffix(does, ", as now: "+reason) {
				t.Errorf("%s: got %q, want it to say that %s", c.name, does, reason)
			}
		}
	}
}

// A service that can be asked may deny the request, or not answer.
func TestServicesThatMayNotAnswer(t *testing.T) {
	rule := prefixed("r", 0, "/")
	service := &ir.Extension{Service: ir.Service{Cluster: "c"}, Auth: &ir.AuthService{Percent: 100, StatusOnError: 503}}
	rule.Action.Extras = &ir.Extras{ExtAuth: &ir.ExtAuth{ExtensionUse: ir.ExtensionUse{Field: "extAuth", Extension: service}}}
	for open, want := range map[bool]string{true: "extAuth: c denies it", false: "extAuth: c denies it, or does not answer (503)"} {
		service.Auth.FailOpen = open
		report, err := explain.Explain(explain.Facts{View: viewWith("a.test", rule)}, explain.Query{Host: "a.test"})
		if err != nil || !slices.Equal(report.Caveats, []string{want}) {
			t.Errorf("open %t: got %q (%v), want %q", open, report.Caveats, err, want)
		}
	}
}

// A processor of bodies is not sent the body of a request that Envoy answers by itself, as it
// does so once it has the headers.
func TestProcessorsOfBodiesThatNobodyReads(t *testing.T) {
	mode := &ir.ProcessingMode{RequestHeaders: "SKIP", ResponseHeaders: "SKIP", RequestBody: "STREAMED"}
	service := &ir.Extension{Service: ir.Service{Cluster: "none"}, Processor: &ir.ProcessorService{Mode: mode}}
	for _, c := range []struct {
		name   string
		action ir.Action
		status uint32
		unless int
	}{
		{"a backend", ir.Action{Forward: &ir.Forward{Backends: []ir.Backend{{Cluster: "c", Weight: 1}}}}, 500, 0},
		{"no endpoint", ir.Action{Forward: &ir.Forward{Backends: []ir.Backend{{Cluster: "none", Weight: 1}}}}, 503, 0},
		{"both", ir.Action{Forward: &ir.Forward{Backends: []ir.Backend{{Cluster: "none", Weight: 1}, {Cluster: "c", Weight: 1}}}}, 0, 1},
		{"a redirect", ir.Action{Redirect: &ir.Redirect{Status: 302, Hostname: "b.test"}}, 302, 0},
	} {
		rule := prefixed("r", 0, "/")
		rule.Action = c.action
		rule.Action.Extras = &ir.Extras{ExtProc: &ir.ExtProc{ExtensionUse: ir.ExtensionUse{Field: "extProc", Extension: service}}}
		view := viewWith("a.test", rule)
		view.Clusters["none"] = &ir.Cluster{Name: "none"}
		report, err := explain.Explain(explain.Facts{View: view}, explain.Query{Host: "a.test", Method: "POST", Headers: http.Header{"Content-Length": {"5"}}})
		if err != nil || report.Status != c.status || len(report.Caveats) != c.unless {
			t.Errorf("%s: got %d unless %q (%v), want %d and %d lines", c.name, report.Status, report.Caveats, err, c.status, c.unless)
		}
	}
}

// Envoy sends a processor the answers of the filters before it, too, and the one to an
// upgrade that it rejects. Found by sending each to a real Envoy.
func TestProcessorsSeeAnswersOfFilters(t *testing.T) {
	cors := &ir.CORS{Origins: []ir.StringMatch{{Value: "https://a.test"}}}
	auth := &ir.ExtAuth{ExtensionUse: ir.ExtensionUse{Field: "extAuth", Extension: &ir.Extension{Service: ir.Service{Cluster: "none"}, Auth: &ir.AuthService{Percent: 100, StatusOnError: 401}}}}
	for _, filter := range []struct {
		extras  ir.Extras
		method  string
		headers http.Header
		status  uint32
	}{
		{ir.Extras{CSRF: &ir.CSRF{Enabled: 100}}, "POST", http.Header{}, 403},
		{ir.Extras{CORS: cors}, "OPTIONS", http.Header{"Origin": {"https://a.test"}, "Access-Control-Request-Method": {"GET"}}, 200},
		{ir.Extras{BufferBytes: 4}, "POST", http.Header{"Content-Length": {"5"}}, 413},
		{ir.Extras{ExtAuth: auth}, "GET", http.Header{}, 401},
		{ir.Extras{}, "GET", http.Header{"Connection": {"Upgrade"}, "Upgrade": {"foo"}}, 403},
	} {
		for _, c := range []struct {
			mode    ir.ProcessingMode
			cluster string
			open    bool
			status  uint32 // 0 for that of the filter
			unless  []string
		}{
			{ir.ProcessingMode{}, "none", false, 500, nil},
			{ir.ProcessingMode{RequestHeaders: "SKIP", ResponseHeaders: "SEND"}, "none", false, 500, nil},
			{ir.ProcessingMode{ResponseHeaders: "SKIP"}, "none", false, 0, nil},
			{ir.ProcessingMode{}, "none", true, 0, nil},
			{ir.ProcessingMode{}, "c", false, 0, []string{"extProc: c changes the answer, or does not answer (500)"}},
			{ir.ProcessingMode{}, "c", true, 0, []string{"extProc: c changes the answer"}},
			{ir.ProcessingMode{ResponseHeaders: "SKIP"}, "c", false, 0, nil},
		} {
			rule := prefixed("r", 0, "/")
			extras := filter.extras
			service := &ir.Extension{Service: ir.Service{Cluster: c.cluster}, Processor: &ir.ProcessorService{FailOpen: c.open, Mode: &c.mode}}
			extras.ExtProc = &ir.ExtProc{ExtensionUse: ir.ExtensionUse{Field: "extProc", Extension: service}}
			rule.Action.Extras = &extras
			view := viewWith("a.test", rule)
			view.Clusters["none"] = &ir.Cluster{Name: "none"}
			report, err := explain.Explain(explain.Facts{View: view}, explain.Query{Host: "a.test", Method: filter.method, Headers: filter.headers})
			if want := cmp.Or(c.status, filter.status); err != nil || report.Status != want || !slices.Equal(report.Caveats, c.unless) {
				t.Errorf("%s %v, %+v: got %d unless %q (%v), want %d unless %q", filter.method, filter.headers, c, report.Status, report.Caveats, err, want, c.unless)
			}
		}
	}
}

// A processor of whole bodies gets none that is larger than Envoy's buffer, which a policy with buffer raises.
func TestBodiesThatAProcessorCannotGet(t *testing.T) {
	for _, c := range []struct {
		mode, length string
		buffer       uint32
		want         bool
	}{{"BUFFERED", "32769", 0, true}, {"BUFFERED", "32768", 0, false}, {"BUFFERED", "32769", 65536, false}, {"STREAMED", "32769", 0, false}} {
		use := ir.ExtensionUse{Field: "extProc", Extension: &ir.Extension{Service: ir.Service{Cluster: "c"}, Processor: &ir.ProcessorService{}}}
		rule := prefixed("r", 0, "/")
		rule.Action.Extras = &ir.Extras{BufferBytes: c.buffer, ExtProc: &ir.ExtProc{ExtensionUse: use, Mode: &ir.ProcessingMode{RequestBody: c.mode}}}
		view := viewWith("a.test", rule)
		query, err := explain.NewQuery(http.MethodPost, "http://a.test/", []string{"Content-Length: " + c.length})
		if err != nil {
			t.Fatal(err)
		}
		lines := explain.Request(view, query).Outcome.Unless
		if got := slices.ContainsFunc(lines, func(line string) bool { return strings.HasSuffix(line, "(413)") }); got != c.want {
			t.Errorf("%+v: %q", c, lines)
		}
	}
}
