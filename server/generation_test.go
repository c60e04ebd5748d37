package server_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/delta/deltatest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// upgraded is a gatefold, and an earlier one, whose listeners have no acl, with the same folder.
type upgraded struct {
	*folded
	earlier *running
	backend int // port
}

// onlyOffice denies /shop to this machine.
const onlyOffice = `apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: office}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: shop}]
  acl: {defaultAction: deny, rules: [{cidrs: [192.0.2.0/24], action: allow}]}
`

// newUpgraded serves /shop and /cart. Then the new one alone has the policy for /shop, and serves /basket
// in place of /cart.
func newUpgraded(t *testing.T) *upgraded {
	t.Helper()
	u := &upgraded{folded: startFolded(t, server.Options{}), earlier: start(t, server.Options{}), backend: envoytest.FreePort(t)}
	files := shopFiles("shop", u.backend)
	maps.Copy(files, shopFiles("cart", u.backend))
	u.apply(files)
	var sent []xds.Update
	for _, r := range u.resources {
		old := earlierOf(t, r)
		sent = append(sent, xds.Update{Gateway: "default/eg", Type: old.Type, Name: old.Name, Resource: &old})
	}
	u.earlier.Publish(translate.Result{Delta: sent})
	u.apply(map[string]string{"office.yaml": onlyOffice})
	u.basket("/basket")
	return u
}

// basket serves the cart by a path.
func (u *upgraded) basket(path string) {
	u.apply(map[string]string{"cart.yaml": strings.ReplaceAll(shopFiles("cart", u.backend)["cart.yaml"], "/cart", path)})
}

// earlierOf returns what the first gatefold sent of a resource, whose listeners had no acl and named their tables
// without a generation.
func earlierOf(t *testing.T, r *xds.Resource) xds.Resource {
	t.Helper()
	switch r.Type {
	case rds:
		return xds.TableForGeneration(r, 0)
	case lds:
		return withManager(t, r, func(manager *hcmv3.HttpConnectionManager) {
			manager.HttpFilters = slices.DeleteFunc(manager.HttpFilters, func(f *hcmv3.HttpFilter) bool { return strings.HasPrefix(f.Name, "gatefold/acl") })
			manager.UpgradeConfigs = nil
			base, _ := ir.SplitTableName(manager.GetRds().RouteConfigName)
			manager.GetRds().RouteConfigName = base
		})
	}
	return *r
}

// withManager returns a listener with another connection manager.
func withManager(t *testing.T, r *xds.Resource, change func(*hcmv3.HttpConnectionManager)) xds.Resource {
	t.Helper()
	listener, manager := &listenerv3.Listener{}, &hcmv3.HttpConnectionManager{}
	envoytest.Decode(t, r.Body, listener)
	config := listener.FilterChains[0].Filters[0].GetTypedConfig()
	if err := config.UnmarshalTo(manager); err != nil {
		t.Fatal(err)
	}
	change(manager)
	if err := config.MarshalFrom(manager); err != nil {
		t.Fatal(err)
	}
	body, err := proto.Marshal(listener)
	if err != nil {
		t.Fatal(err)
	}
	return xds.Resource{Type: lds, Name: r.Name, Version: deltatest.Version("changed", body), Body: body}
}

// breakListener has the new gatefold send a listener with a filter that no Envoy knows. It returns the right one.
func (u *upgraded) breakListener(t *testing.T) (right xds.Update) {
	t.Helper()
	for _, r := range u.resources {
		if r.Type == lds {
			right = xds.Update{Gateway: "default/eg", Type: lds, Name: r.Name, Resource: r}
		}
	}
	broken := withManager(t, right.Resource, func(manager *hcmv3.HttpConnectionManager) {
		unknown := &hcmv3.HttpFilter{Name: "later", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: &anypb.Any{TypeUrl: "type.googleapis.com/later.Filter"}}}
		manager.HttpFilters = append([]*hcmv3.HttpFilter{unknown}, manager.HttpFilters...)
	})
	u.Publish(translate.Result{Delta: []xds.Update{{Gateway: "default/eg", Type: lds, Name: broken.Name, Resource: &broken}}})
	return right
}

// The filter of a policy joins the chain by an upgrade of gatefold, while an Envoy goes on. It passes no request
// without the policy: not on connections of the listener that drains, and not where it rejects the new listener. What
// needs no filter is edited for these, too.
func TestAFilterThatJoinsTheChainOpensNothing(t *testing.T) {
	for name, rejects := range map[string]bool{"accepted": false, "rejected": true} {
		t.Run(name, func(t *testing.T) {
			u := newUpgraded(t)
			envoytest.Echo(t, "echo", fmt.Sprintf("127.0.0.1:%d", u.backend))
			var right xds.Update
			if rejects {
				right = u.breakListener(t)
			}
			cable := newCable(t, u.earlier.xds.String())
			envoytest.Start(t, envoytest.Options{XDSAddress: cable.Addr().String(), NodeCluster: "default/eg", Args: []string{"--drain-time-s", "1000000"}})
			u.waitFor(200, "/shop")
			before := u.keep(t)
			before.wants(t, 200, "/shop")
			before.wants(t, 200, "/cart")

			cable.move(u.folded.xds.String())
			if !rejects {
				u.waitFor(403, "/shop")
			}
			before.wants(t, 500, "/shop")
			before.wants(t, 200, "/basket")
			u.basket("/trolley")
			before.wants(t, 200, "/trolley")
			before.wants(t, 500, "/shop")
			u.waitFor(200, "/trolley")
			if !rejects {
				return
			}
			u.waitFor(500, "/shop")
			u.Publish(translate.Result{Delta: []xds.Update{right}})
			u.waitFor(403, "/shop")
			before.wants(t, 500, "/shop")
		})
	}
}

// waitFor waits until a new connection gets a status.
func (u *upgraded) waitFor(status int, path string) {
	u.t.Helper()
	envoytest.Wait(u.t, fmt.Sprintf("%d for %s", status, path), func() error {
		response, err := envoytest.Try(envoytest.Request{Address: u.address, Path: path})
		if err == nil && response.Status != status {
			err = fmt.Errorf("status %d", response.Status)
		}
		return err
	})
}

// keep opens a connection that stays.
func (u *upgraded) keep(t *testing.T) *kept {
	t.Helper()
	c, err := net.Dial("tcp", u.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &kept{c, bufio.NewReader(c)}
}

// wants waits until the connection gets a status.
func (c *kept) wants(t *testing.T, status int, path string) {
	t.Helper()
	envoytest.Wait(t, fmt.Sprintf("%d for %s on the connection of before", status, path), func() error {
		if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(c.reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if response.StatusCode != status {
			return fmt.Errorf("status %d", response.StatusCode)
		}
		return nil
	})
}

// An Envoy that comes back with a listener of before, and rejects the new one, is sent the tables that its listener
// asks for, closed where they need a filter that it lacks. Neither an edit nor a restart of gatefold changes that. An Envoy with
// the same chain, and one that has nothing, is sent the whole tables.
func TestTablesForAListenerOfBefore(t *testing.T) {
	u := newUpgraded(t)
	held := func(r *running, typ string) (versions map[string]string) {
		var page admin.XDS
		r.read(t, "/api/v1/xds", &page)
		versions = map[string]string{}
		for _, resource := range page.Gateways[0].Resources[xds.ShortType(typ)] {
			versions[resource.Name] = resource.Version
		}
		return versions
	}
	open := func(r *running) *client {
		c := u.connect("")
		node := oldNode("e", 40)
		node.Cluster = "default/eg"
		c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: cds, Node: node, InitialResourceVersions: held(r, cds)})
		c.resume(lds, held(r, lds))
		return c
	}
	earlier := slices.Collect(maps.Keys(held(u.earlier, rds)))
	today := slices.Collect(maps.Keys(held(u.running, rds)))
	for range 2 { // the Envoy connects once more
		c := open(u.earlier)
		c.resume(rds, held(u.earlier, rds), earlier...)
		c.takeEarlier(earlier[0], "/basket", "/trolley")
		u.basket("/trolley")
		c.takeEarlier(earlier[0], "/trolley", "/basket")
		c.ask(rds, today...) // of the listener that gets warm
		c.takeWhole(today[0], "/trolley")
		u.basket("/basket")
		both := c.tables(earlier[0], today[0])
		wantEarlier(t, both[earlier[0]], "/basket", "/trolley")
		wantWhole(t, both[today[0]], "/basket")
		c.close()
	}
	c := open(u.running)
	c.ask(rds, today...)
	c.takeWhole(today[0], "/basket")
}

// tables rejects listeners, and accepts the rest, until tables of these names came, in any order.
func (c *client) tables(names ...string) map[string]*routev3.RouteConfiguration {
	c.t.Helper()
	tables := map[string]*routev3.RouteConfiguration{}
	for len(tables) < len(names) {
		response := c.next()
		if response.TypeUrl == lds {
			c.nack(response, "Error adding/updating listener(s) default/eg/http: no")
			continue
		}
		c.ack(response)
		for _, r := range response.Resources {
			if slices.Contains(names, r.Name) {
				table := &routev3.RouteConfiguration{}
				envoytest.Decode(c.t, r.Resource.Value, table)
				if table.Name != r.Name {
					c.t.Fatalf("%s is called %s", r.Name, table.Name)
				}
				tables[r.Name] = table
			}
		}
	}
	return tables
}

func (c *client) takeEarlier(name, has, lacks string) {
	c.t.Helper()
	wantEarlier(c.t, c.tables(name)[name], has, lacks)
}

func (c *client) takeWhole(name, has string) {
	c.t.Helper()
	wantWhole(c.t, c.tables(name)[name], has)
}

// wantEarlier checks that a table is for a listener without acl: the shop is closed, and nothing else.
func wantEarlier(t testing.TB, table *routev3.RouteConfiguration, has, lacks string) {
	t.Helper()
	text := table.String()
	if strings.Contains(text, "gatefold/acl") || !strings.Contains(text, has) || strings.Contains(text, lacks) {
		t.Errorf("%s", text)
	}
	for _, route := range table.VirtualHosts[0].Routes {
		if closed := route.GetDirectResponse().GetStatus() == 500; closed != strings.Contains(route.Name, "shop") {
			t.Errorf("%s is closed: %v", route.Name, closed)
		}
	}
}

func wantWhole(t testing.TB, table *routev3.RouteConfiguration, has string) {
	t.Helper()
	if text := table.String(); !strings.Contains(text, "gatefold/acl") || !strings.Contains(text, has) {
		t.Errorf("%s", text)
	}
}

// The same in the state-of-the-world protocol, whose clients tell a version for the whole type.
func TestTablesForAListenerOfBeforeInTheStateOfTheWorld(t *testing.T) {
	u := newUpgraded(t)
	c := u.world()
	c.node = &corev3.Node{Id: "world", Cluster: "default/eg"}
	accept := func(r *discoveryv3.DiscoveryResponse) {
		c.send(&discoveryv3.DiscoveryRequest{TypeUrl: r.TypeUrl, VersionInfo: r.VersionInfo, ResponseNonce: r.Nonce})
	}
	c.ask(cds, "before")
	accept(<-c.got)
	c.ask(lds, "before")
	accept(<-c.got)
	c.ask(rds, "before", "default/eg/"+u.listener(t))
	table := &routev3.RouteConfiguration{}
	got := <-c.got
	envoytest.Decode(t, got.Resources[0].Value, table)
	if text := table.String(); len(got.Resources) != 1 || strings.Contains(text, "gatefold/acl") || !strings.Contains(text, "/basket") {
		t.Errorf("%s", text)
	}
}

// listener is the name of the one listener, without its Gateway.
func (u *upgraded) listener(t *testing.T) string {
	t.Helper()
	return "http-" + u.address[strings.LastIndexByte(u.address, ':')+1:]
}
