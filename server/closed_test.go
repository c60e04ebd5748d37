package server_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	headerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gatefold/gatefold/envoy"
	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// wildTable is the table of the listener *.a.test of Gateway shop/a, and httpTable that of its HTTP listener.
const (
	wildTable = "shop/a/https-443/*.a.test/filters-2"
	httpTable = "shop/a/http-80/filters-2"
)

// listening is a listener of a Gateway on port 443, with these hostnames.
func listening(gateway, address string, names ...string) xds.Update {
	port := &ir.Port{Name: gateway + "/https-443", Gateway: gateway, Addresses: []string{address}, Port: 443}
	for _, name := range names {
		port.Chains = append(port.Chains, ir.Chain{Name: name, RouteConfig: port.Name + "/" + name + "/filters-2", TLS: &ir.TLS{Certificates: []string{"c"}}})
	}
	r := xds.Listener(port)
	return xds.Update{Gateway: gateway, Type: lds, Name: r.Name, Resource: &r}
}

// answersOf returns what a closed table answers: "421 a.test b.test" and "404 *"; "" if it is not one.
func answersOf(t testing.TB, body []byte) (answers []string) {
	t.Helper()
	table := &routev3.RouteConfiguration{}
	envoytest.Decode(t, body, table)
	for _, host := range table.VirtualHosts {
		for _, route := range host.Routes {
			mutation := &headerv3.HeaderMutationPerRoute{}
			if config := route.TypedPerFilterConfig["envoy.filters.http.header_mutation"]; config != nil {
				envoytest.Decode(t, config.Value, mutation)
			}
			status := strconv.Itoa(int(route.GetDirectResponse().GetStatus()))
			for _, m := range mutation.GetMutations().GetRequestMutations() {
				status = m.GetAppend().GetHeader().GetValue()
			}
			answers = append(answers, status+" "+strings.Join(host.Domains, " "))
		}
	}
	return answers
}

// closes takes responses until a table of that name comes, which must be closed with these answers. It returns the version.
func (c *client) closes(name string, answers ...string) (version string) {
	c.t.Helper()
	for {
		response := c.next()
		if slices.Contains(response.RemovedResources, name) {
			c.t.Fatalf("%s is removed", name)
		}
		c.ack(response)
		for _, r := range response.Resources {
			if r.Name != name {
				continue
			}
			if got := answersOf(c.t, r.Resource.Value); !slices.Equal(got, answers) {
				c.t.Fatalf("%s answers %q, want %q", name, got, answers)
			}
			return r.Version
		}
	}
}

// A table that an Envoy requests and the folder does not give is closed, and never removed: when the table goes, on a new stream,
// for names that the client tells to hold, and on a server that never had the table. It is sent again when other hosts are served, and is the table of the folder again when that has one.
// Clusters are removed after it.
func TestATableThatIsGoneIsClosed(t *testing.T) {
	publish := func(r *running, updates ...xds.Update) { r.Publish(translate.Result{Delta: updates}) }
	begin := func(r *running) {
		r.publish("Cluster web@1", "RouteConfiguration "+wildTable+"@1")
		publish(r, listening("shop/a", "192.0.2.1", "*.a.test"))
	}
	end := func(r *running) {
		r.publish("-Cluster web", "-RouteConfiguration "+wildTable, "Cluster other@1")
		publish(r, listening("shop/a", "192.0.2.1", "b.test", "x.a.test"))
	}
	r, standby := start(t, server.Options{}), start(t, server.Options{})
	begin(r)
	end(standby)
	c := r.connect("shop/a")
	c.ask(cds)
	c.take("Cluster web@1")
	c.ask(lds)
	c.ack(c.next())
	c.ask(rds, wildTable)
	c.take("RouteConfiguration " + wildTable + "@1")
	end(r)
	version := c.closes(wildTable, "421 b.test x.a.test", "404 *")
	c.take("Cluster -web")
	publish(r, listening("shop/a", "192.0.2.1", "c.test"))
	c.closes(wildTable, "421 c.test", "404 *")
	publish(r, listening("shop/a", "192.0.2.1", "b.test", "x.a.test"))
	if again := c.closes(wildTable, "421 b.test x.a.test", "404 *"); again != version {
		t.Errorf("another version of the same answers: %s and %s", again, version)
	}
	r.publish("RouteConfiguration " + wildTable + "@2")
	c.take("RouteConfiguration " + wildTable + "@2")
	r.publish("-RouteConfiguration " + wildTable)
	c.closes(wildTable, "421 b.test x.a.test", "404 *")
	c.close()

	for name, server := range map[string]*running{"again": r, "standby": standby} {
		for told, versions := range map[string]map[string]string{"told": {wildTable: "frozen"}, "not told": nil, "closed": {wildTable: version}} {
			c := server.connect("shop/a")
			c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: cds, InitialResourceVersions: held("Cluster other@1")})
			c.ask(lds)
			c.ack(c.next())
			c.resume(rds, versions, wildTable)
			if told != "closed" {
				if now := c.closes(wildTable, "421 b.test x.a.test", "404 *"); now != version {
					t.Errorf("%s %s: another version of the same answers: %s and %s", name, told, now, version)
				}
			}
			server.until(name+" "+told+" to be closed", func() bool {
				return server.one("shop/a", func(st seen) bool {
					return st.of(rds).Acked == 1 && st.answered(rds) && st.of(rds).Removing == 0
				})
			})
			if len(c.got) > 0 {
				t.Errorf("%s %s: it is also sent %s", name, told, show(<-c.got))
			}
			c.close()
			server.until("it is gone", func() bool { return len(server.audience("shop/a")) == 0 })
		}
	}
}

// Nothing else of the folder, and no client that does not answer, keeps a table open: here an answer to a cluster is
// awaited for an hour.
func TestATableIsClosedThoughTheEnvoyDoesNotAnswer(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("Cluster web@1", "RouteConfiguration "+httpTable+"@1")
	c := r.connect("shop/a")
	c.ask(cds)
	c.take("Cluster web@1")
	c.ask(rds, httpTable)
	c.take("RouteConfiguration " + httpTable + "@1")
	r.publish("Cluster more@1", "-RouteConfiguration "+httpTable)
	c.want("Cluster more@1")
	c.closes(httpTable, "404 *")
}

// The same holds for the table of a listener that an earlier gatefold sent.
func TestAnEarlierTableIsClosedThoughTheEnvoyDoesNotAnswer(t *testing.T) {
	const earlier = "shop/a/http-80/filters-1"
	table := xds.RouteConfiguration(httpTable, nil)
	r := start(t, server.Options{})
	r.publish("Cluster web@1")
	r.Publish(translate.Result{Delta: []xds.Update{{Gateway: "shop/a", Type: rds, Name: httpTable, Resource: &table}}})
	c := r.connect("shop/a")
	c.ask(cds)
	c.take("Cluster web@1")
	c.ask(rds, earlier)
	c.closes(earlier) // no answers: it is not closed yet
	r.publish("Cluster more@1", "-RouteConfiguration "+httpTable)
	c.want("Cluster more@1")
	c.closes(earlier, "404 *")
}

// What an Envoy does not request any more is not sent, and names that are not those of a table of its Gateway are
// answered as before. No answer says what another Gateway serves.
func TestNamesThatAreNotClosed(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("RouteConfiguration "+httpTable+"@1", "shop/b: Listener web@1")
	r.Publish(translate.Result{Delta: []xds.Update{listening("shop/b", "192.0.2.1", "b.test")}})
	c := r.connect("shop/a")
	c.ask(cds)
	c.ack(c.next())
	others := []string{"shop/b/https-443/x.test/filters-2", "shop/a", "shop/a/tcp-80", "shop/a/http-x", "shop/a/http-99999", "shop/ab/http-80", ""}
	for _, name := range others[:len(others)-1] {
		c.ask(rds, name)
		c.take("RouteConfiguration -" + name)
	}
	c.ask(rds, httpTable)
	c.take("RouteConfiguration " + httpTable + "@1")
	c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: rds, ResourceNamesUnsubscribe: []string{httpTable}})
	r.publish("-RouteConfiguration " + httpTable)
	c.ask(rds, "shop/a/https-443/x.test/filters-2")
	c.closes("shop/a/https-443/x.test/filters-2", "404 *")

	all := r.connect("all") // an Envoy of all Gateways
	all.ask(cds)
	all.ack(all.next())
	all.ask(rds, "shop/c/https-443/x.test/filters-2", "shop/a/http-80")
	all.closes("shop/c/https-443/x.test/filters-2", "421 b.test", "404 *")
}

// Listeners of earlier generations get answers that they can give, and a port with many hostnames small tables.
func TestFormsOfClosedTables(t *testing.T) {
	r := start(t, server.Options{})
	names := make([]string, ir.MaxMisdirected+1)
	for i := range names {
		names[i] = fmt.Sprintf("h%03d.test", i)
	}
	r.Publish(translate.Result{Delta: []xds.Update{listening("shop/a", "192.0.2.1", names...), listening("shop/c", "192.0.2.3", "c.test")}})
	c := r.connect("shop/a")
	c.ask(cds)
	c.ack(c.next())
	c.ask(rds, "shop/a/https-443/x.test/filters-1")
	response := c.next()
	c.ack(response)
	if got := answersOf(t, response.Resources[0].Resource.Value); !slices.Equal(got, []string{"421 *"}) || strings.Contains(response.String(), "x-gatefold-closed") {
		t.Errorf("an earlier generation: %s", response)
	}
	c.ask(rds, "shop/a/https-443/x.test/filters-2", "shop/a/https-443/x.test/filters-3")
	c.closes("shop/a/https-443/x.test/filters-2", "421 *")

	all := r.connect("all")
	all.ask(cds)
	all.ack(all.next())
	all.ask(rds, "shop/c/https-443/x.test/filters-2") // of the address of shop/c alone
	all.closes("shop/c/https-443/x.test/filters-2", "421 c.test", "404 *")
}

// Canaries and the other Envoys get closed tables by what each of them has.
func TestATableIsClosedForCanariesFirst(t *testing.T) {
	r := start(t, server.Options{Staging: server.Staging{Wait: time.Hour}})
	r.publish("Cluster web@1", "RouteConfiguration "+httpTable+"@1")
	open := func(canary bool) *client {
		c := r.connect("")
		node := &corev3.Node{Id: fmt.Sprint(canary), Cluster: "shop/a"}
		if canary {
			node.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{envoy.StageKey: structpb.NewStringValue(envoy.Canary)}}
		}
		c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: cds, Node: node})
		c.take("Cluster web@1")
		c.ask(rds, httpTable)
		c.take("RouteConfiguration " + httpTable + "@1")
		return c
	}
	canary, other := open(true), open(false)
	r.publish("-RouteConfiguration "+httpTable, "Cluster web@2")
	canary.closes(httpTable, "404 *")
	r.publish("Cluster web@3")
	canary.take("Cluster web@3")
	if len(other.got) > 0 {
		t.Errorf("the other Envoy is sent %s", show(<-other.got))
	}
	late := r.connect("shop/a") // requests what is gone for canaries alone
	late.ask(cds)
	late.take("Cluster web@1")
	late.ask(rds, httpTable)
	late.take("RouteConfiguration " + httpTable + "@1")
}

// The same in the state of the world: when the table goes, and for a client that comes back with a table of before, or
// with the closed one.
func TestATableThatIsGoneIsClosedInTheStateOfTheWorld(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("Cluster web@1", "RouteConfiguration "+httpTable+"@1")
	take := func(c *worldClient) *discoveryv3.DiscoveryResponse {
		t.Helper()
		select {
		case response := <-c.got:
			c.send(&discoveryv3.DiscoveryRequest{TypeUrl: response.TypeUrl, VersionInfo: response.VersionInfo, ResponseNonce: response.Nonce})
			return response
		case <-time.After(patience):
			t.Fatal("no response")
		}
		return nil
	}
	wantClosed := func(response *discoveryv3.DiscoveryResponse) {
		t.Helper()
		if got := answersOf(t, response.Resources[0].Value); response.TypeUrl != rds || len(response.Resources) != 1 || !slices.Equal(got, []string{"404 *"}) {
			t.Fatalf("%s", response)
		}
	}
	open := func(version string) *worldClient {
		c := r.world()
		c.ask(cds, "")
		take(c)
		c.ask(rds, version, httpTable)
		return c
	}
	c := open("")
	before := take(c)
	r.publish("-RouteConfiguration " + httpTable)
	closed := take(c)
	wantClosed(closed)
	c.close()
	r.until("it is gone", func() bool { return len(r.audience("shop/a")) == 0 })
	c = open(before.VersionInfo)
	wantClosed(take(c))
	c.close()
	r.until("it is gone", func() bool { return len(r.audience("shop/a")) == 0 })
	c = open(closed.VersionInfo)
	r.until("it is known to have the closed table", func() bool {
		return r.one("shop/a", func(st seen) bool {
			return st.of(rds).Acked == 1 && st.answered(rds) && st.of(rds).Removing == 0
		})
	})
	r.publish("RouteConfiguration " + httpTable + "@2")
	if got := take(c); answersOf(t, got.Resources[0].Value) != nil {
		t.Fatalf("%s", got)
	}
}
