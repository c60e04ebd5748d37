package listen

import (
	"fmt"
	"math/rand/v2"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
)

// TestConflictsBetweenObjects compares, on random objects, with the rule by itself: a
// listener loses to every one of an earlier object that holds its place, and else to
// each of its own object that cannot be told apart from it.
func TestConflictsBetweenObjects(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	marked := 0
	for range 2000 {
		var all []*Listener
		for o := range 1 + r.IntN(4) {
			for i := range 1 + r.IntN(4) {
				l := &Listener{
					Owner: manifest.Key{Kind: "ListenerSet", Name: fmt.Sprint(o)}, Index: i, Name: fmt.Sprint("l", r.IntN(6)), Port: 80 + r.Int32N(2),
					Protocol: [...]gwv1.ProtocolType{"HTTP", "HTTP", "HTTPS", "TLS", "UDP"}[r.IntN(5)], Hostname: [...]string{"", "a", "b"}[r.IntN(3)],
				}
				if r.IntN(5) == 0 {
					l.Accepted.Reason = gwv1.ListenerReasonUnsupportedValue
				}
				all = append(all, l)
			}
		}
		resolveConflicts(all)
		for i, l := range all {
			want := manifest.Verdict[gwv1.ListenerConditionReason]{}
			for _, before := range all[:i] {
				if before.Owner != l.Owner && before.Accepted.Good() && before.Conflicted.Good() && want.Good() {
					want = conflict(l, before)
				}
			}
			if lost := !want.Good(); !lost {
				want = within(all, l)
			}
			if l.Conflicted.Reason != want.Reason {
				t.Fatalf("listener %d is %+v, want %+v\n%s", i, l.Conflicted, want, describe(all))
			}
			if !want.Good() {
				marked++
			}
		}
	}
	if marked < 1000 {
		t.Errorf("only %d conflicts", marked)
	}
}

// within says what of its own object a listener conflicts with, of what did not lose
// to an earlier object.
func within(all []*Listener, l *Listener) (want manifest.Verdict[gwv1.ListenerConditionReason]) {
	for _, other := range all {
		lost := false
		for _, before := range all {
			if before.Owner == other.Owner {
				break
			}
			lost = lost || before.Accepted.Good() && before.Conflicted.Good() && !conflict(other, before).Good()
		}
		if other != l && other.Owner == l.Owner && !lost {
			want = worse(want, conflict(l, other))
		}
	}
	return want
}

func describe(all []*Listener) (text string) {
	for _, l := range all {
		text += fmt.Sprintf("%s %d %s %q accepted %v: %s\n", l.ID(), l.Port, l.Protocol, l.Hostname, l.Accepted.Good(), l.Conflicted.Reason)
	}
	return text
}
