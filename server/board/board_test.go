package board

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/status"
)

// A transition is stamped when the status of a condition changes, and only then.
func TestTransitionsAreStamped(t *testing.T) {
	parents := func(section string, status metav1.ConditionStatus) *gwv1.RouteStatus {
		name := gwv1.SectionName(section)
		return &gwv1.RouteStatus{Parents: []gwv1.RouteParentStatus{{
			ParentRef:  gwv1.ParentReference{Name: "a", SectionName: &name},
			Conditions: []metav1.Condition{{Type: "Accepted", Status: status, Reason: "R"}},
		}}}
	}
	old, now := time.Unix(1000, 0), time.Unix(2000, 0)
	for _, c := range []struct {
		fresh *gwv1.RouteStatus
		want  time.Time
	}{
		{parents("http", "True"), old},
		{parents("http", "False"), now},
		{parents("other", "True"), now}, // another parent
	} {
		b, key := New(func() {}), manifest.Key{Group: gwv1.GroupName, Kind: "HTTPRoute", Namespace: "shop", Name: "cart"}
		b.set(status.Update{Key: key, Status: parents("http", "True")}, old)
		before, _ := b.sees(key)
		b.set(status.Update{Key: key, Status: c.fresh}, now)
		after, _ := b.sees(key)
		for seen, want := range map[*sight]time.Time{&before: old, &after: c.want} { // what was seen stays
			if got := seen.show().(*gwv1.RouteStatus).Parents[0].Conditions[0].LastTransitionTime; !got.Time.Equal(want) {
				t.Errorf("stamped %s, want %s", got, want)
			}
		}
		if !c.fresh.Parents[0].Conditions[0].LastTransitionTime.IsZero() {
			t.Error("what translate gave is changed")
		}
	}
}

// A board keeps nothing of objects that are gone: no status, verdict or stale object.
func TestABoardForgetsWhatIsGone(t *testing.T) {
	b := New(func() {})
	gateway, set := ir.GatewayKey("shop/a"), manifest.Key{Group: gwv1.GroupName, Kind: "ListenerSet", Namespace: "shop", Name: "more"}
	b.Judge("shop/a", Verdict{Status: "True"})
	b.Judge("shop/b", Verdict{Status: "True"}) // of a Gateway without a status
	b.Publish([]status.Update{
		{Key: gateway, Gateway: "shop/a", Status: &gwv1.GatewayStatus{}},
		{Key: set, Gateway: "shop/a", Status: &gwv1.ListenerSetStatus{}},
	}, []store.Stale{{Key: set, Targets: []manifest.Key{gateway}}})
	if !b.Knows("shop/a") || len(b.objects) != 2 || len(b.judged["shop/a"]) != 2 || len(b.stale.policies) != 1 {
		t.Fatalf("kept are %d objects, %d judged, %d with stale policies", len(b.objects), len(b.judged["shop/a"]), len(b.stale.policies))
	}
	b.Publish([]status.Update{{Key: gateway}, {Key: set}}, nil)
	b.Forget("shop/b")
	if left := len(b.objects) + len(b.judged) + len(b.verdicts) + len(b.stale.objects) + len(b.stale.policies); left != 0 || b.Knows("shop/a") {
		t.Errorf("left are %d objects, %d judged, %d verdicts, %d stale", len(b.objects), len(b.judged), len(b.verdicts), len(b.stale.objects))
	}
}

// A reader has the messages of verdicts refreshed before it reads, without the board's lock.
func TestReadersHaveVerdictsRefreshed(t *testing.T) {
	var b *Board
	b = New(func() { b.Judge("shop/a", Verdict{Status: "False", Reason: "Pending", Message: "refreshed"}) })
	open := metav1.Condition{Type: "Programmed", Status: "Unknown", Reason: "Pending"}
	feed := b.Follow()
	b.Publish([]status.Update{{Key: ir.GatewayKey("shop/a"), Gateway: "shop/a", Status: &gwv1.GatewayStatus{Conditions: []metav1.Condition{open}}}}, nil)
	<-feed.Changed()
	for from, shown := range map[string]any{
		"the feed": feed.Take(false)[0].Now.Status,
		"the list": b.List(func(manifest.Key) bool { return true }).Items[0].Status,
	} {
		if c := shown.(*gwv1.GatewayStatus).Conditions[0]; c.Message != "refreshed" {
			t.Errorf("%s has %+v", from, c)
		}
	}
}

// TestBindRemedy wants, for each reason why an Envoy cannot bind an address, a help that solves it.
func TestBindRemedy(t *testing.T) {
	const field = "spec.listeners[0].port"
	for reason, want := range map[string]string{
		"Cannot assign requested address": "correct spec.addresses of the Gateway", "Address already in use": "change " + field,
		"Permission denied": "CAP_NET_BIND_SERVICE", "No route to host": "change the address or " + field,
	} {
		words := BindWords("edge", "cannot bind '10.99.99.99:8080': "+reason)
		if got := BindRemedy(words, field); !strings.Contains(got, want) || strings.Contains(reason, "assign") && strings.Contains(got, "port") {
			t.Errorf("%s: %s", reason, got)
		}
	}
}
