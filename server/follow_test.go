package server_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/delta/deltatest"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/status"
)

// A reader that is slow gets the newest of each object, once; what Envoys answer is
// followed, too.
func TestAFeedTellsTheNewestOfEachObject(t *testing.T) {
	r := start(t, server.Options{})
	feed := r.FollowStatus()
	class := func(generation int64) status.Update {
		return status.Update{Key: manifest.Key{Group: gwv1.GroupName, Kind: "GatewayClass", Name: "gatefold"}, Generation: generation, Status: &gwv1.GatewayClassStatus{}}
	}
	route := status.Update{Key: manifest.Key{Group: gwv1.GroupName, Kind: "HTTPRoute", Namespace: "shop", Name: "cart"}, Status: &gwv1.RouteStatus{}}
	r.Publish(translate.Result{Status: []status.Update{route, class(1)}})
	r.Publish(translate.Result{Status: []status.Update{class(2)}})
	r.Publish(translate.Result{Status: []status.Update{{Key: route.Key}}})
	<-feed.Changed()
	changes := feed.Take(false)
	if len(changes) != 2 || changes[0].Now == nil || changes[0].Now.Metadata.Generation != 2 || changes[1].Key != route.Key || changes[1].Now != nil {
		t.Fatalf("got %+v", changes)
	}
	if again := feed.Take(false); len(again) != 0 {
		t.Errorf("told again: %+v", again)
	}
	if all := feed.Take(true); len(all) != 1 || all[0].Key.Kind != "GatewayClass" {
		t.Errorf("all are %+v", all)
	}

	r.Publish(translate.Result{Delta: deltatest.Updates("Cluster web@1", "Listener http@1"), Status: []status.Update{deltatest.PendingGateway("shop/a", 1)}})
	<-feed.Changed()
	feed.Take(false)
	c := r.connect("shop/a")
	c.ask(cds)
	c.take("Cluster web@1")
	c.ask(lds)
	c.take("Listener http@1")
	r.judged("True")
	<-feed.Changed()
	judged := feed.Take(false)
	if len(judged) != 1 || judged[0].Now.Status.(*gwv1.GatewayStatus).Conditions[1].Status != metav1.ConditionTrue {
		t.Errorf("got %+v", judged)
	}
}

// The first Publish is told even when nothing has a status.
func TestAFeedTellsOfAFirstPublishOfNothing(t *testing.T) {
	r := start(t, server.Options{})
	feed := r.FollowStatus()
	r.Publish(translate.Result{})
	<-feed.Changed()
	if changes := feed.Take(true); len(changes) != 0 {
		t.Errorf("got %+v", changes)
	}
}
