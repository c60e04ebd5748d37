package server_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/server/delta/deltatest"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/status"
)

// shown is Gateway shop/a's Programmed: its own, and its listener http's.
func (r *running) shown(t *testing.T) (gateway, listener metav1.Condition) {
	t.Helper()
	var page struct {
		Items []struct{ Status gwv1.GatewayStatus }
	}
	r.read(t, "/api/v1/status/Gateway/shop/a", &page)
	s := page.Items[0].Status
	if bad := s.Listeners[1].Conditions[0]; bad.Reason != "Invalid" || bad.Message != "" {
		t.Errorf("a listener's decided condition became %+v", bad)
	}
	if early := s.Listeners[2].Conditions[0]; early.Message != "no address" {
		t.Errorf("a listener's decided condition became %+v", early)
	}
	return s.Conditions[1], s.Listeners[0].Conditions[0]
}

// programmed checks Programmed of the Gateway and of its listener.
func (r *running) programmed(t *testing.T, want, message string) metav1.Condition {
	t.Helper()
	gateway, listener := r.shown(t)
	for _, c := range []metav1.Condition{gateway, listener} {
		if got := string(c.Status) + "/" + c.Reason; got != want || !strings.Contains(c.Message, message) {
			t.Errorf("Programmed is %s, %q; want %s, %q", got, c.Message, want, message)
		}
	}
	return gateway
}

func TestProgrammedIsWhatEnvoysAnswered(t *testing.T) {
	r := start(t, server.Options{})
	first := deltatest.Update("Listener http@1")
	r.Publish(translate.Result{Delta: append(deltatest.Updates("Cluster web@1", "RouteConfiguration r1@1"), first),
		Status: []status.Update{deltatest.PendingGateway("shop/a", 1)}})
	r.programmed(t, "False/Pending", "No Envoy is connected")

	c := r.connect("shop/a")
	c.ask(cds)
	c.take("Cluster web@1")
	c.ask(lds)
	listener := c.want("Listener http@1")
	r.programmed(t, "False/Pending", "1 of 1 connected Envoys")
	c.ack(listener)
	c.ask(rds, "r1")
	table := c.want("RouteConfiguration r1@1")
	r.programmed(t, "False/Pending", "")
	c.ack(table)
	r.judged("True")
	since := r.programmed(t, "True/Programmed", "").LastTransitionTime

	// An edit of routes on its way changes nothing; a rejected one does.
	r.Publish(translate.Result{Delta: deltatest.Updates("RouteConfiguration r1@bad"), Status: []status.Update{deltatest.PendingGateway("shop/a", 2)}})
	bad := c.want("RouteConfiguration r1@bad")
	if got := r.programmed(t, "True/Programmed", "").LastTransitionTime; !got.Equal(&since) {
		t.Errorf("the transition time moved from %s to %s", since, got)
	}
	c.nack(bad, "missing ): ((")
	r.judged("False")
	r.programmed(t, "False/Invalid", `Envoy "test" rejected RouteConfiguration "r1": missing ): ((`)

	r.publish("RouteConfiguration r1@2")
	c.take("RouteConfiguration r1@2")
	r.judged("True")
	r.publish("Listener http@2")
	changed := c.want("Listener http@2")
	r.programmed(t, "False/Pending", "")
	c.ack(changed)
	r.judged("True")
	c.close()
	r.judged("False")
	r.programmed(t, "False/Pending", "No Envoy is connected")
}

// judged waits until Programmed of Gateway shop/a, which has a status, has this value.
func (r *running) judged(want metav1.ConditionStatus) {
	r.t.Helper()
	r.until("Programmed "+string(want), func() bool { return r.programmedOf("shop/a", "").Status == want })
}

// An Envoy of all Gateways blames only the Gateway whose resource it rejected.
func TestARejectionIsOnlyTheOwnersInAUnion(t *testing.T) {
	r := start(t, server.Options{})
	r.Publish(translate.Result{
		Delta:  deltatest.Updates("shop/a: RouteConfiguration ra@1", "shop/b: RouteConfiguration rb@1", "shop/a: Listener a@1", "shop/b: Listener b@1"),
		Status: []status.Update{deltatest.PendingGateway("shop/a", 1), deltatest.PendingGateway("shop/b", 1)},
	})
	c := r.connect("all")
	c.ask(cds)
	c.take("Cluster")
	c.ask(lds)
	c.take("Listener a@1 b@1")
	c.ask(rds, "ra", "rb")
	c.take("RouteConfiguration ra@1 rb@1")
	r.until("all accepted", func() bool { return r.audience("shop/a")[0].settled() })
	r.publish("shop/b: RouteConfiguration rb@bad")
	c.nack(c.want("RouteConfiguration rb@bad"), "no")
	r.until("the verdicts", func() bool {
		return r.programmedOf("shop/a", "").Status == "True" && r.programmedOf("shop/b", "").Status == "False"
	})
}

// Nor does one Gateway's rejected listener, whose table is then never asked for,
// keep another Gateway from being programmed.
func TestARejectedListenerIsOnlyItsGatewaysMatter(t *testing.T) {
	r := start(t, server.Options{})
	r.Publish(translate.Result{
		Delta:  deltatest.Updates("shop/a: RouteConfiguration ra@1", "shop/b: RouteConfiguration rb@1", "shop/a: Listener a@1", "shop/b: Listener b@1"),
		Status: []status.Update{deltatest.PendingGateway("shop/a", 1), deltatest.PendingGateway("shop/b", 1)},
	})
	c := r.connect("all")
	c.ask(cds)
	c.take("Cluster")
	c.ask(lds)
	c.nack(c.want("Listener a@1 b@1"), "Error adding/updating listener(s) b: cannot bind")
	c.take("Listener a@1")
	c.ask(rds, "ra")
	c.take("RouteConfiguration ra@1")
	r.until("the verdicts", func() bool {
		return r.programmedOf("shop/a", "").Status == "True" && r.programmedOf("shop/b", "").Status == "False"
	})
}

// A Gateway with nothing to serve has its verdict too, before and after Envoys.
func TestAGatewayWithoutResourcesIsJudged(t *testing.T) {
	r := start(t, server.Options{})
	r.Publish(translate.Result{Status: []status.Update{deltatest.PendingGateway("shop/a", 0)}})
	for _, cluster := range []string{"all", "shop/a"} {
		r.programmed(t, "False/Pending", "No Envoy is connected")
		c := r.connect(cluster)
		c.ask(cds)
		r.until("connected", func() bool { return len(r.audience("shop/a")) == 1 })
		r.programmed(t, "False/Pending", "1 of 1 connected Envoys")
		c.close()
		r.until("disconnected", func() bool { return len(r.audience("shop/a")) == 0 })
	}
	r.Publish(translate.Result{Status: []status.Update{deltatest.PendingGateway("shop/a", 0)}})
	r.programmed(t, "False/Pending", "No Envoy is connected")
}

func TestStatusIsAListOfObjects(t *testing.T) {
	r := start(t, server.Options{})
	class := manifest.Key{Group: gwv1.GroupName, Kind: "GatewayClass", Name: "gatefold"}
	route := manifest.Key{Group: gwv1.GroupName, Kind: "HTTPRoute", Namespace: "shop", Name: "cart"}
	r.Publish(translate.Result{Status: []status.Update{
		{Key: route, Generation: 7, Status: &gwv1.RouteStatus{}},
		{Key: class, Status: &gwv1.GatewayClassStatus{}},
	}})
	var list board.List[board.Object[any]]
	r.read(t, "/api/v1/status", &list)
	if list.APIVersion != "v1" || list.Kind != "List" || len(list.Items) != 2 || list.Items[0].Kind != "GatewayClass" {
		t.Errorf("got %+v", list)
	}
	r.read(t, "/api/v1/status/httproute/shop/cart", &list)
	if len(list.Items) != 1 || list.Items[0].APIVersion != "gateway.networking.k8s.io/v1" || list.Items[0].Metadata.Generation != 7 {
		t.Errorf("got %+v", list.Items)
	}
	r.get(t, "/api/v1/status/GatewayClass/gatefold")
	r.Publish(translate.Result{Status: []status.Update{{Key: route}}})
	if code, _ := r.page(t, "GET", "/api/v1/status/HTTPRoute/shop/cart", ""); code != 404 {
		t.Errorf("an object that is gone: status %d", code)
	}
}
