package server_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/delta/deltatest"
	"github.com/gatefold/gatefold/server/health"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/xds"
)

// page asks for an admin page.
func (r *running) page(t testing.TB, method, path, host string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+r.admin.String()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	status, body := answerTo(t, request)
	drawn := path == "/metrics" || (path == "/" || strings.HasPrefix(path, admin.PagePath)) && status != http.StatusForbidden
	if !drawn && method != http.MethodHead && !json.Valid([]byte(body)) {
		t.Errorf("%s is not JSON: %s", path, body)
	}
	return status, body
}

// answerTo sends a request.
func answerTo(t testing.TB, request *http.Request) (int, string) {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// get asks for a page that has to be there.
func (r *running) get(t testing.TB, path string) string {
	t.Helper()
	code, body := r.page(t, http.MethodGet, path, "")
	if code != http.StatusOK {
		t.Fatalf("%s: status %d: %s", path, code, body)
	}
	return body
}

// read decodes a page into value.
func (r *running) read(t testing.TB, path string, value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.get(t, path)), value); err != nil {
		t.Fatal(err)
	}
}

func TestPagesAndTheirStatusCodes(t *testing.T) {
	r := start(t, server.Options{})
	if code, _ := r.page(t, "GET", "/readyz", ""); code != http.StatusServiceUnavailable {
		t.Errorf("/readyz before the first load: %d", code)
	}
	r.publish()
	for _, c := range []struct {
		method, path, host string
		want               int
	}{
		{"GET", "/healthz", "", 200},
		{"GET", "/readyz", "", 200},
		{"HEAD", "/readyz", "", 200},
		{"GET", "/metrics", "", 200},
		{"GET", "/api/v1/status", "localhost:19000", 200},
		{"GET", "/api/v1/problems", "[::1]:19000", 200},
		{"GET", "/api/v1/xds", "127.0.0.1", 200},
		{"GET", "/api/v1/envoys", "", 200},
		{"GET", "/api/v1/status/HTTPRoute", "", 200},
		{"GET", "/api/v1/status/HTTPRoute/shop/none", "", 404},
		{"GET", "/api/v1/none", "", 404},
		{"GET", "/debug/pprof/", "", 404},
		{"GET", "/", "", 200},
		{"GET", "/page/none", "", 404},
		{"GET", "/none", "", 404},
		{"GET", "/api/v1/revisions", "", 200},
		{"POST", "/", "", 405},
		{"POST", "/page/routes", "", 405},
		{"GET", "/", "rebound.example", 403},
		{"POST", "/api/v1/xds", "", 405},
		{"DELETE", "/nowhere", "", 405},
		{"GET", "/api/v1/xds", "rebound.example", 403},
	} {
		if code, body := r.page(t, c.method, c.path, c.host); code != c.want {
			t.Errorf("%s %s, Host %q: got %d, want %d: %s", c.method, c.path, c.host, code, c.want, body)
		}
	}
}

func TestProblemsAreShownAndCounted(t *testing.T) {
	r := start(t, server.Options{})
	r.Publish(translate.Result{Problems: []manifest.Problem{
		{Code: "UnknownField", Severity: manifest.Warning, File: "a.yaml", Line: 3, Message: "no field hostname"},
		{Code: "Syntax", Severity: manifest.Error, File: "b.yaml", Line: 1, Message: "not YAML"},
	}})
	r.Reloaded(server.Reload{Result: "frozen", Hold: "the folder is empty", Stages: map[string]time.Duration{"store": time.Millisecond}})
	var page admin.ProblemList
	r.read(t, "/api/v1/problems", &page)
	if len(page.Problems) != 2 || page.Problems[1].File != "b.yaml" || page.Frozen != "the folder is empty" {
		t.Errorf("got %+v", page)
	}
	r.figures(t,
		`gatefold_problems{code="Syntax",namespace="",severity="error"} 1`, `gatefold_problems{code="UnknownField",namespace="",severity="warning"} 1`,
		`gatefold_problems{code="",namespace="",severity="error"} 0`,
		`gatefold_reloads_total{result="frozen"} 1`, `gatefold_last_reload_successful 0`, `gatefold_frozen 1`,
		`gatefold_last_reload_success_timestamp_seconds 0`, `gatefold_stage_duration_seconds_count{stage="store"} 1`)
	r.Reloaded(server.Reload{Result: "ok", OK: true})
	r.figures(t, `gatefold_last_reload_successful 1`, `gatefold_frozen 0`)
}

func (r *running) figures(t *testing.T, want ...string) {
	t.Helper()
	figures := r.get(t, "/metrics")
	for _, line := range want {
		if !strings.Contains(figures, line+"\n") {
			t.Errorf("no figure %s", line)
		}
	}
}

func TestXDSPageShowsWhatIsServedAndWhatEnvoySaid(t *testing.T) {
	r := start(t, server.Options{})
	secret := deltatest.Update("Secret cert@topsecret")
	secret.Resource.Version = strings.Repeat("5ec", 20)
	r.Publish(translate.Result{Delta: append(deltatest.Updates("Cluster web@1", "RouteConfiguration r1@1"), secret)})
	c := r.connect("shop/a")
	c.ask(cds)
	c.take("Cluster web@1")
	c.ask(rds, "r1")
	c.take("RouteConfiguration r1@1")
	r.publish("RouteConfiguration r1@2")
	c.nack(c.want("RouteConfiguration r1@2"), "missing ): ((")
	r.until("the rejection is known", func() bool { return len(r.audience("shop/a")[0].rejected()) > 0 })

	body := r.get(t, "/api/v1/xds")
	if strings.Contains(body, "topsecret") || strings.Contains(body, secret.Resource.Version) {
		t.Error("the page shows a secret's content")
	}
	var page admin.XDS
	r.read(t, "/api/v1/xds", &page)
	resources := page.Gateways[0].Resources
	if got := string(resources["Secret"][0].Config); !strings.Contains(got, "[redacted]") || !strings.Contains(got, "sha256") {
		t.Errorf("the secret is shown as %s", got)
	}
	if got := string(resources["Cluster"][0].Config); !strings.Contains(got, `"altStatName": "1"`) {
		t.Errorf("the cluster is shown as %s", got)
	}
	stream := page.Streams[0]
	if stream.Node != "test" || stream.Cluster != "shop/a" || !stream.Known || stream.Types["Cluster"].Acked != 1 {
		t.Errorf("the stream is shown as %+v", stream)
	}
	rejected := stream.Types["RouteConfiguration"].Rejected
	if len(rejected) != 1 || rejected[0].Words != "missing ): ((" || !strings.HasPrefix(rejected[0].Version, "2-") ||
		!strings.HasPrefix(rejected[0].Held, "1-") {
		t.Errorf("the rejection is shown as %+v", rejected)
	}
	r.figures(t, `gatefold_xds_streams 1`, `gatefold_xds_resources{type="Secret"} 1`,
		`gatefold_xds_pushes_total{type="RouteConfiguration"} 2`, `gatefold_xds_acks_total{type="Cluster"} 1`,
		`gatefold_xds_nacks_total{type="RouteConfiguration"} 1`)
}

func TestAnEnvoyOfAnUnknownGatewayIsShown(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("shop/other: Cluster web@1")
	c := r.connect("shop/none")
	c.ask(cds)
	r.until("connected", func() bool { return len(r.audience("shop/none")) == 1 })
	var page admin.XDS
	r.read(t, "/api/v1/xds", &page)
	if len(page.Streams) != 1 || page.Streams[0].Known || page.Streams[0].Cluster != "shop/none" {
		t.Errorf("got %+v", page.Streams)
	}
	c.close()
	r.until("forgotten", func() bool { return len(r.streams()) == 0 })
}

func TestAddressesThatCannotBeUsed(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	socket := filepath.Join(t.TempDir(), "xds.sock")
	live, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	free := "127.0.0.1:0"
	for _, c := range []struct {
		options server.Options
		want    string
	}{
		{server.Options{XDSAddress: taken.Addr().String(), AdminAddress: free}, "listen on " + taken.Addr().String()},
		{server.Options{XDSAddress: free, AdminAddress: taken.Addr().String()}, "address already in use"},
		{server.Options{XDSAddress: "unix:" + socket, AdminAddress: free}, "address already in use"},
		{server.Options{XDSAddress: "0.0.0.0:0", AdminAddress: free}, "--xds-insecure"},
		{server.Options{XDSAddress: ":0", AdminAddress: free}, "--xds-insecure"},
		{server.Options{XDSAddress: "nonsense", AdminAddress: free}, "listen on nonsense"},
	} {
		err := server.New(c.options, zerolog.Nop()).Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s and %s: got %v, want %q", c.options.XDSAddress, c.options.AdminAddress, err, c.want)
		}
	}
}

// A socket left by a server that was killed is taken over, and serves an Envoy
// of all Gateways.
func TestALeftSocketIsTakenOver(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "xds.sock")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	_ = left.Close()
	r := start(t, server.Options{XDSAddress: "unix:" + socket})
	r.publish("Cluster web@1")
	c := r.connect("all")
	c.ask(cds)
	c.take("Cluster web@1")
}

func TestAllGatewaysAreServedOnThisHostOnly(t *testing.T) {
	for address, want := range map[net.Addr]bool{
		&net.UnixAddr{Name: "@"}:                 true,
		&net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}: true,
		&net.TCPAddr{IP: net.IPv6loopback}:       true,
		&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}:  false,
		&net.IPAddr{IP: net.IPv4(127, 0, 0, 1)}:  false,
	} {
		if got := health.IsLocal(address); got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
	}
}

// The page of what is served shows trees, with the routes in their leaves.
func TestThePageShowsTrees(t *testing.T) {
	r := start(t, server.Options{})
	r.Publish(translate.Result{Delta: []xds.Update{updateOf(*deltatest.Compiled(deltatest.Table("h: a=1 b=2"), "/1"))}})
	page := r.get(t, "/api/v1/xds")
	for _, word := range []string{"prefixMatchMap", "envoy.config.route.v3.RouteList", `"path": "/2"`} {
		if !strings.Contains(page, word) {
			t.Errorf("%s is not in %s", word, page)
		}
	}
}
