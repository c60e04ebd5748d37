package explain_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/examples/echo/handler"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// What explain says a backend receives is what an echo backend received.
func TestForwardIsWhatTheBackendReceives(t *testing.T) {
	echo := envoytest.Echo(t, "echo", "")
	set := func(name, value string) *ir.HeaderMods {
		return &ir.HeaderMods{Set: []ir.Header{{Name: name, Value: value}}}
	}
	to := ir.Backend{Cluster: "echo", Weight: 1}
	own := to
	own.RequestHeaders = set("x-who", "backend 100%")
	forward := func(path string, b ir.Backend, rewrite *ir.Rewrite) *ir.Rule {
		return &ir.Rule{
			Name:  path,
			Match: ir.Match{Path: ir.Path{Kind: ir.PathPrefix, Value: path}},
			Action: ir.Action{
				Forward: &ir.Forward{Backends: []ir.Backend{b}}, Rewrite: rewrite,
				RequestHeaders: &ir.HeaderMods{
					Set: []ir.Header{{Name: "x-who", Value: "rule %REQ(x-secret)%"}}, Add: []ir.Header{{Name: "x-add", Value: "2"}},
					Remove: []string{"x-gone"},
				},
			},
		}
	}
	prefix := func(from, to string) *ir.Rewrite { return &ir.Rewrite{Path: &ir.PathChange{Prefix: from, Value: to}} }
	rules := []*ir.Rule{
		forward("/full", to, &ir.Rewrite{Hostname: "new.test", Path: &ir.PathChange{Full: true, Value: `/n\1`}}),
		forward("/own", own, nil),
		forward("/plain", to, nil),
		forward("/root", to, prefix("/root", "")),
		forward("/a", to, prefix("/a", "/x/y")),
		{Name: "gone", Match: ir.Match{Path: ir.Path{Kind: ir.PathPrefix, Value: "/gone"}}, Action: ir.Action{Forward: &ir.Forward{
			Backends: []ir.Backend{{Cluster: "never defined", Weight: 1}},
		}}},
		forward("/", to, prefix("", "/top")),
	}
	port := ir.PortView{
		Port:  &ir.Port{Name: "n/g/http", Gateway: "n/g", Addresses: []string{"127.0.0.1"}, Port: freePort(t), Chains: []ir.Chain{{RouteConfig: "r"}}},
		Hosts: []ir.HostView{{Domain: "*", Rules: slices.Values(rules), Len: len(rules)}},
	}
	view := &ir.View{Gateways: []ir.GatewayView{{Name: "n/g", Ports: []ir.PortView{port}}}}
	c := startEnvoy(t, port, &ir.Cluster{Name: "echo", Endpoints: []ir.Endpoint{{Host: "127.0.0.1", Port: uint32(echo.Port())}}})
	for _, path := range []string{
		"/full?q=1", "/full/x/../y?q", "/own", "/plain//x/%2e%2e?a=/..", "/root", "/root/", "/root/b", "/root//b?q=1",
		"/a", "/a/", "/a/b", "/ab", "/", "/b/c?q=1",
	} {
		headers := http.Header{"X-Gone": {"1"}, "X-Add": {"1"}, "X-Secret": {"s"}, "X_under": {"1"}}
		want := explain.Request(view, explain.Query{Host: "h.test", Port: port.Port.Port, Path: path, Headers: headers})
		got := receive(t, c.address, path, headers)
		if got.Host != want.Outcome.Host || got.target() != want.Outcome.Path {
			t.Errorf("%s: received %s%s, explained %s%s", path, got.Host, got.target(), want.Outcome.Host, want.Outcome.Path)
		}
		for _, name := range []string{"X-Gone", "X-Add", "X-Who", "X_under"} {
			if explained := want.Outcome.Backends[0].Headers[name]; !slices.Equal(explained, got.Headers[name]) {
				t.Errorf("%s: %s received %q, explained %q", path, name, got.Headers[name], explained)
			}
		}
	}
	if got := c.send(explain.Query{Host: "h.test", Method: "GET", Path: "/gone"}); got.status != http.StatusInternalServerError {
		t.Errorf("a cluster that is not defined answers %d, not 500", got.status)
	}
}

type received struct{ handler.Answer }

func (r received) target() string {
	if r.Query != "" {
		return r.Path + "?" + r.Query
	}
	return r.Path
}

func receive(t *testing.T, address, path string, headers http.Header) (answer received) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://%s%s", address, path), nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host, request.Header = "h.test", headers
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&answer.Answer); err != nil {
		t.Fatalf("%s: %s: %v", path, response.Status, err)
	}
	return answer
}
