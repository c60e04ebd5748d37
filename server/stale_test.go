package server_test

import (
	"testing"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/status"
)

// The pages and the feed show what is stale, objects of kinds without a status too, and
// the stale policies of an object; and no more when it is not.
func TestStaleObjectsAreShown(t *testing.T) {
	r := start(t, server.Options{})
	feed := r.FollowStatus()
	route := manifest.Key{Group: gwv1.GroupName, Kind: "HTTPRoute", Namespace: "shop", Name: "cart"}
	service := manifest.Key{Kind: "Service", Namespace: "shop", Name: "cart"}
	policy := manifest.Key{Group: gwv1.GroupName, Kind: "BackendTLSPolicy", Namespace: "shop", Name: "tls"}
	stale := []store.Stale{
		{Key: service, Since: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Place: store.Place{File: "a.yaml", Line: 3, Column: 1}, Message: "no", Stage: store.StageCheck, Protects: true, Unsaved: true},
		{Key: policy, Targets: []manifest.Key{route, service}},
	}
	set := []status.Update{{Key: route, Status: &gwv1.RouteStatus{}}, {Key: policy, Status: &gwv1.PolicyStatus{}}}
	r.Publish(translate.Result{Status: set, Stale: stale})
	wantChanges(t, feed, "HTTPRoute ok, policies 1", "BackendTLSPolicy stale, policies 0", "Service stale, policies 1")
	var page struct {
		Items []struct {
			APIVersion string
			Stale      *struct {
				Since, File, Message, Stage string
				Protects, Unsaved           bool
			}
		}
	}
	r.read(t, "/api/v1/status/Service/shop/cart", &page)
	if s := page.Items[0].Stale; page.Items[0].APIVersion != "v1" || s == nil || s.Since != "2026-01-02T03:04:05Z" || s.File != "a.yaml" || s.Stage != "check" || !s.Protects || !s.Unsaved {
		t.Errorf("the page has %+v", page)
	}
	r.Publish(translate.Result{Stale: stale})
	if again := feed.Take(false); len(again) != 0 {
		t.Errorf("told again: %+v", again)
	}
	r.Publish(translate.Result{Stale: stale[:1]})
	wantChanges(t, feed, "HTTPRoute ok, policies 0", "BackendTLSPolicy ok, policies 0", "Service stale, policies 0")
	r.Publish(translate.Result{})
	wantChanges(t, feed, "Service gone")
}

// wantChanges compares what a feed has with words, in any order.
func wantChanges(t *testing.T, feed *board.Feed, want ...string) {
	t.Helper()
	<-feed.Changed()
	got := map[string]bool{}
	for _, c := range feed.Take(false) {
		switch {
		case c.Now == nil:
			got[c.Key.Kind+" gone"] = true
		case c.Now.Stale != nil:
			got[c.Key.Kind+" stale, policies "+string(rune('0'+len(c.Now.StalePolicies)))] = true
		default:
			got[c.Key.Kind+" ok, policies "+string(rune('0'+len(c.Now.StalePolicies)))] = true
		}
	}
	for _, words := range want {
		if !got[words] {
			t.Errorf("not told: %s; got %v", words, got)
		}
	}
	if len(got) != len(want) {
		t.Errorf("told %v, want %v", got, want)
	}
}
