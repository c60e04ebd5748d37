package page_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/server/health"
	"github.com/gatefold/gatefold/server/host"
	"github.com/gatefold/gatefold/server/page"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/status"
)

// known is what gatefold knows in a state that a folder alone does not bring about.
type known struct {
	admin.Loaded
	admin.Envoys
	connected    []admin.Connected
	supervised   []host.State
	fleets       []admin.Fleet
	certificates []ir.Certificate
	folder       admin.Folder
	problems     []manifest.Problem
	board        *board.Board // nil for an empty one
}

func (k known) Connected() []admin.Connected { return k.connected }
func (k known) Supervised() []host.State     { return k.supervised }
func (k known) Fleets() []admin.Fleet        { return k.fleets }
func (known) Streams() []admin.Stream        { return nil }
func (known) Generation() uint64             { return 1 }
func (known) Transport() admin.Transport     { return admin.Transport{} }
func (k known) Problems() admin.ProblemList  { return admin.ProblemList{Problems: k.problems} }
func (known) Revisions() admin.RevisionList  { return admin.RevisionList{Revision: 7} }
func (k known) View() func() *ir.View {
	return func() *ir.View { return &ir.View{Certificates: k.certificates} }
}

// site serves the JSON pages and the pages for people from what is known. No Envoy is asked.
func (k known) site(t *testing.T) *site {
	t.Helper()
	if k.board == nil {
		k.board = board.New(func() {})
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.Handler = admin.NewHandler(admin.Options{
		Board: k.board, Loaded: k, Envoys: k, Folder: k.folder, Page: page.New, Survives: func(string, func()) bool { return true },
	}, server.Listener.Addr())
	server.Start()
	t.Cleanup(server.Close)
	return &site{t: t, admin: server.Listener.Addr().(*net.TCPAddr).String()}
}

// busy is a folder of which a change takes long.
type busy struct{ admin.Folder }

func (busy) Between(func([]*manifest.Object, translate.Surroundings)) bool { return false }
func (busy) Places(fields []manifest.Field) []store.Place                  { return make([]store.Place, len(fields)) }

// While a change of the folder takes long, nobody is told that an object does not exist: the page asks again.
func TestTheObjectsOfABusyFolderMayExist(t *testing.T) {
	const page = "/page/object?kind=Service&namespace=shop&name=cart"
	for folder, want := range map[admin.Folder]int{nil: http.StatusNotFound, busy{}: http.StatusServiceUnavailable} {
		code, text := known{folder: folder}.site(t).try(page)
		if asks := strings.Contains(text, "data-live"); code != want || asks != (want == http.StatusServiceUnavailable) {
			t.Errorf("%d, want %d; it asks again: %v\n%s", code, want, asks, text)
		}
	}
}

// rowOf returns the words of the row of a table, or of the card, that begins with a text.
func rowOf(t *testing.T, page, begin string) string {
	t.Helper()
	for _, row := range strings.FieldsFunc(strings.NewReplacer("<tr", "\x00<tr", "<section", "\x00<section", "</table", "\x00</table").Replace(page), func(r rune) bool { return r == 0 }) {
		if text := words(row); strings.HasPrefix(text, begin) {
			return text
		}
	}
	t.Errorf("no row begins with %q: %s", begin, words(page))
	return ""
}

const moment = "2006-01-02 15:04:05 UTC"

// Each certificate of the JSON page has its row, with all that the JSON page says of it.
func TestCertificatesHaveTheFactsOfTheJSONPage(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	day := 24 * time.Hour
	certificate := func(name string, begin, end time.Duration) ir.Certificate {
		return ir.Certificate{Secret: manifest.Key{Kind: "Secret", Namespace: "edge", Name: name}, Sum: "ab12" + name, Names: []string{name + ".example.com", "*." + name + ".example.com"},
			NotBefore: now.Add(begin), NotAfter: now.Add(end)}
	}
	s := known{certificates: []ir.Certificate{certificate("old", -90*day, -day), certificate("later", day, 90*day), certificate("ends", -80*day, 10*day), certificate("fine", -day, 89*day)}}.site(t)
	var list admin.CertificateList
	s.read("/api/v1/certificates", &list)
	if len(list.Certificates) != 4 {
		t.Fatalf("%d certificates", len(list.Certificates))
	}
	shows(t, words(s.get("/")), "Certificates expired: 1, not valid yet: 1, ends soon: 1")
	drawn := s.get("/page/certificates")
	states := map[string]string{"old": "expired", "later": "not valid yet", "ends": "ends soon", "fine": "valid"}
	for _, c := range list.Certificates {
		if c.State.Words() != states[c.Object.Name] || strings.Contains(string(c.State), " ") {
			t.Errorf("%s is %q", c.Object, c.State)
		}
		want := strings.Join([]string{c.Object.String(), states[c.Object.Name], c.NotBefore.Format("2006-01-02 15:04 UTC"), c.NotAfter.Format("2006-01-02 15:04 UTC"), strings.Join(c.Names, ", "), c.SHA256}, " ")
		if got := rowOf(t, drawn, c.Object.String()+" "); got != want {
			t.Errorf("the row is %q, want %q", got, want)
		}
	}
}

// Each Envoy, backend and endpoint of the JSON page has its row, with all that the JSON page says of it.
func TestEndpointsHaveTheFactsOfTheJSONPage(t *testing.T) {
	service := manifest.Key{Kind: "Service", Namespace: "shop", Name: "cart"}
	policy := manifest.Key{Group: "gateway.kgateway.dev", Kind: "BackendConfigPolicy", Namespace: "shop", Name: "checks"}
	s := known{connected: []admin.Connected{
		{Envoy: health.Envoy{Node: "edge-1", NodeCluster: "edge/public", Version: "1.40.0", Peer: "127.0.0.1:4001", Healthy: 4, NotChecked: 1, Endpoints: 7, Backends: []health.Backend{
			{Object: service, Port: 80, Cluster: "Service/shop/cart/80", Policies: []manifest.Key{policy}, Healthy: 1, Endpoints: 3, Unhealthy: []health.Endpoint{
				{Address: "10.0.0.1:80", Hostname: "cart.internal", Reasons: []health.Reason{health.CheckFailed}, Message: "its health check fails"},
				{Address: "10.0.0.2:80", Reasons: []health.Reason{health.Ejected}, Message: "outlier detection ejected it"},
			}},
			{Object: manifest.Key{Kind: "Service", Namespace: "shop", Name: "empty"}, Port: 81, Cluster: "Service/shop/empty/81", Policies: []manifest.Key{policy}},
		}}},
		{Envoy: health.Envoy{Node: "edge-2", NodeCluster: "all", Version: "1.39.0", Peer: "10.1.1.1:4002", Unknown: &health.Unknown{Message: "it is on another host", Hint: "ask its admin address there"}}},
	}}.site(t)
	var list admin.EnvoyList
	s.read("/api/v1/envoys", &list)
	drawn := s.get("/page/endpoints")
	for _, e := range list.Envoys {
		head := fmt.Sprintf("%s %s For %s, from %s", e.Node, e.Version, strings.Replace(e.NodeCluster, "all", "all Gateways", 1), e.Peer)
		if e.Unknown != nil {
			shows(t, rowOf(t, drawn, e.Node), head+" unknown "+e.Unknown.Message+" "+e.Unknown.Hint)
			continue
		}
		shows(t, rowOf(t, drawn, e.Node), fmt.Sprintf("%s Healthy endpoints: %d of %d, %d not checked", head, e.Healthy, e.Endpoints, e.NotChecked))
		for _, b := range e.Backends {
			name := fmt.Sprintf("%s :%d %s ", b.Object, b.Port, b.Cluster)
			for _, endpoint := range b.Unhealthy {
				at := endpoint.Address
				if endpoint.Hostname != "" {
					at += " (" + endpoint.Hostname + ")"
				}
				want := fmt.Sprintf("%s%d of %d %s unhealthy %s (by %s )", name, b.Healthy, b.Endpoints, at, endpoint.Message, policy)
				if got := rowOf(t, drawn, fmt.Sprintf("%s%d of %d %s", name, b.Healthy, b.Endpoints, endpoint.Address)); got != want {
					t.Errorf("the row is %q, want %q", got, want)
				}
			}
			if b.Endpoints == 0 {
				shows(t, rowOf(t, drawn, name), "no endpoint", "(by "+policy.String())
			}
		}
	}
}

// An Envoy for whose endpoints there is no room is not said to use all of them.
func TestEndpointsThatAreNotShownAreCounted(t *testing.T) {
	empty := make([]health.Backend, 302) // the page shows 300
	for i := range empty {
		empty[i] = health.Backend{Object: manifest.Key{Kind: "Service", Namespace: "shop", Name: fmt.Sprint("empty-", i)}, Port: 80}
	}
	s := known{connected: []admin.Connected{
		{Envoy: health.Envoy{Node: "edge-1", NodeCluster: "all", Backends: empty}},
		{Envoy: health.Envoy{Node: "edge-2", NodeCluster: "all", Endpoints: 1, Backends: []health.Backend{
			{Object: empty[0].Object, Port: 80, Endpoints: 1, Unhealthy: []health.Endpoint{{Address: "10.0.0.1:80"}}},
		}}},
	}}.site(t)
	drawn := words(s.get("/page/endpoints"))
	shows(t, drawn, "There is no room to show what it does not use, or has no endpoint for (1)", "Not shown: 3 more endpoints that are unhealthy, or backends without one")
	if strings.Contains(drawn, "It uses every endpoint") {
		t.Error("the page says that an Envoy uses every endpoint")
	}
}

// The overview names what is frozen or outdated, with what to do, and is not well then.
func TestTheOverviewShowsWhatIsFrozenOrOutdated(t *testing.T) {
	begun := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	well := known{
		supervised: []host.State{{Gateway: "edge/fine", Phase: host.Running, Pid: 41, Started: begun}},
		fleets:     []admin.Fleet{{State: "delivered", Revision: 7, Newest: 7, Canaries: []string{"canary-1", "canary-2"}, Envoys: 5}},
	}
	overview := well.site(t).get("/")
	shows(t, words(overview), "What serves well", "all Gateways delivered 7 7 canary-1, canary-2 5")
	if strings.Contains(overview, "edge/fine") {
		t.Error("the overview has an Envoy that runs as it should")
	}

	wrong := well
	wrong.supervised = append(wrong.supervised,
		host.State{Gateway: "edge/late", Phase: host.Running, Pid: 42, Started: begun, Adopted: true, Restarts: 3, Epoch: 2, Former: 40, Outdated: true, Message: "Envoy is not replaced. Fix what is wrong and restart gatefold."},
		host.State{Gateway: "edge/limit", Phase: host.OverLimit, Message: "no more than 2 run"})
	wrong.fleets = append(wrong.fleets, admin.Fleet{Gateway: "edge/public", State: "frozen", Newest: 7, Since: begun, Envoys: 3, Problem: "a canary rejected it", Hint: "revert the edit"})
	s := wrong.site(t)
	var list admin.EnvoyList
	s.read("/api/v1/envoys", &list)
	overview = s.get("/")
	shows(t, words(overview), "What serves needs a look", "frozen since "+list.Fleets[1].Since.Format(moment)+" as before the start 7 none connected 3",
		list.Fleets[1].Problem+". "+list.Fleets[1].Hint)
	for _, drawn := range []string{overview, s.get("/page/endpoints")} {
		late, limit := list.Supervised[1], list.Supervised[2]
		want := fmt.Sprintf("%s running outdated %d %s %d %s An earlier gatefold started it. Epoch %d. The former epoch, process %d, answers requests that are under way.",
			late.Gateway, late.Pid, late.Started.Format(moment), late.Restarts, late.Message, late.Epoch, late.Former)
		if got := rowOf(t, drawn, late.Gateway); got != want {
			t.Errorf("the row is %q, want %q", got, want)
		}
		shows(t, rowOf(t, drawn, limit.Gateway), "over-limit – – 0 "+limit.Message)
	}
	shows(t, words(s.get("/page/endpoints")), "edge/fine running 41 "+begun.Format(moment)+" 0")
}

// The overview begins with what does not serve: first Gateways, then routes, then what serves an older version. It
// shows three conditions of an object and says how many more there are. Problems follow, each in one line.
func TestTheOverviewBeginsWithWhatDoesNotServe(t *testing.T) {
	wrong := func(types ...string) (conditions []metav1.Condition) {
		for _, name := range types {
			conditions = append(conditions, metav1.Condition{Type: name, Status: metav1.ConditionFalse, Reason: "R" + name, Message: "message of " + name})
		}
		return conditions
	}
	key := func(kind, name string) manifest.Key {
		return manifest.Key{Group: gwv1.GroupName, Kind: kind, Namespace: "shop", Name: name}
	}
	shown := board.New(func() {})
	shown.Publish([]status.Update{
		{Key: key("GRPCRoute", "calls"), Status: &gwv1.RouteStatus{Parents: []gwv1.RouteParentStatus{{Conditions: wrong("Accepted")}}}},
		{Key: key("Gateway", "edge"), Status: &gwv1.GatewayStatus{Conditions: wrong("A", "B", "C", "D", "E")}},
		{Key: key("HTTPRoute", "fine"), Status: &gwv1.RouteStatus{}},
		{Key: key("GRPCRoute", "again"), Status: &gwv1.RouteStatus{}},
	}, []store.Stale{{Key: key("GRPCRoute", "again"), Since: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), Message: "unknown field", Stage: store.StageCheck}})
	overview := words(known{board: shown, problems: []manifest.Problem{
		{Severity: manifest.Warning, Code: "LastGoodKept", Object: key("GRPCRoute", "again"), File: "a.yaml", Message: "the last version", Hint: "fix it"},
		{Severity: manifest.Error, Code: "UnknownField", Object: key("GRPCRoute", "again"), File: "a.yaml", Line: 3, Column: 5, Message: "unknown field"},
	}}.site(t).get("/"))
	at := 0
	for _, next := range []string{
		"What does not serve as written", "Gateway shop/edge – A=False RA message of A", "C=False RC message of C And 2 more conditions of Gateway shop/edge",
		"GRPCRoute shop/calls", "GRPCRoute shop/again – stale (check) The last valid version is served since 2030-01-02 03:04:05 UTC; unknown field",
		"Problems", "error GRPCRoute shop/again unknown field a.yaml:3:5 UnknownField", "warning GRPCRoute shop/again the last version a.yaml LastGoodKept fix it", "Envoys",
	} {
		found := strings.Index(overview[at:], next)
		if found < 0 {
			t.Fatalf("%q is not there, or too early: %s", next, overview)
		}
		at += found + len(next)
	}
}
