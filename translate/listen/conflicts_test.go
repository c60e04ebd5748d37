package listen

import (
	"fmt"
	"math/rand/v2"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
)

// TestConflictsBetweenObjects compares, on random objects, with the rule by itself: a
// listener loses to each of its own object that cannot be told apart from it, and else to
// every one of an earlier object that holds its place.
func TestConflictsBetweenObjects(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	marked := 0
	for range 2000 {
		all := randomListeners(r)
		resolveConflicts(all, plainOrder())
		for i, l := range all {
			want := within(all, l)
			for _, before := range all[:i] {
				if l.Accepted.Good() && before.Owner != l.Owner && before.Accepted.Good() && before.Conflicted.Good() && want.Good() {
					want = conflict(l, before)
				}
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

// within says what of its own object a listener conflicts with.
func within(all []*Listener, l *Listener) (want manifest.Verdict[gwv1.ListenerConditionReason]) {
	for _, other := range all {
		if other != l && other.Owner == l.Owner {
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

// plainOrder is the Order of listeners of which nothing is known but the order of the list.
func plainOrder() Order {
	return Order{Granted: func(string) bool { return false }, Had: func(*Listener) bool { return false }}
}

// TestOrderOfListeners lets two objects want one hostname: each criterion decides if the ones before it do not.
func TestOrderOfListeners(t *testing.T) {
	gateway := manifest.Key{Kind: "Gateway", Namespace: "g", Name: "g"}
	set := func(namespace string) *Listener {
		return &Listener{Owner: manifest.Key{Kind: "ListenerSet", Namespace: namespace, Name: "s"}, Outside: true, Port: 80, Protocol: "HTTP", Hostname: "a"}
	}
	own := set("g")
	own.Owner = gateway
	platform := set("z")
	platform.Outside = false
	order := Order{
		Gateway: gateway,
		Granted: func(namespace string) bool { return namespace == "granted" },
		Had:     func(l *Listener) bool { return l.Owner.Namespace == "had" },
	}
	ranked := []*Listener{platform, own, set("granted"), set("had"), set("a"), set("b")}
	for i, first := range ranked {
		for _, later := range ranked[i+1:] {
			lists := [][]*Listener{{first, later}, {later, first}}
			if first.Owner.Namespace == "a" {
				lists = lists[:1] // nothing decides but the order of the list
			}
			for _, list := range lists {
				resolveConflicts(list, order)
				if !first.Conflicted.Good() || later.Conflicted.Reason != gwv1.ListenerReasonHostnameConflict {
					t.Errorf("%s does not go before %s: %+v, %+v", first.Owner, later.Owner, first.Conflicted, later.Conflicted)
				}
			}
		}
	}
}

// randomListeners are the listeners of a few objects.
func randomListeners(r *rand.Rand) (all []*Listener) {
	for o := range 1 + r.IntN(4) {
		for i := range 1 + r.IntN(4) {
			l := &Listener{
				Owner: manifest.Key{Kind: "ListenerSet", Namespace: fmt.Sprint(o), Name: fmt.Sprint(o)}, Index: i, Name: fmt.Sprint("l", r.IntN(6)), Port: 80 + r.Int32N(2),
				Protocol: [...]gwv1.ProtocolType{"HTTP", "HTTP", "HTTPS", "TLS", "UDP"}[r.IntN(5)], Hostname: [...]string{"", "a", "b"}[r.IntN(3)],
			}
			if r.IntN(5) == 0 {
				l.Accepted.Reason = gwv1.ListenerReasonUnsupportedValue
			}
			all = append(all, l)
		}
	}
	return all
}

// TestIncumbentsStay resolves conflicts twice, the second time with the incumbents of the first: nothing changes.
func TestIncumbentsStay(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 7))
	for range 5000 {
		all, granted, had := randomListeners(r), map[string]bool{"1": r.IntN(2) == 0, "2": r.IntN(2) == 0}, map[*Listener]bool{}
		for _, l := range all {
			had[l], l.Outside = r.IntN(2) == 0, l.Owner.Name != "3"
		}
		order := Order{
			Gateway: all[0].Owner, Granted: func(namespace string) bool { return granted[namespace] }, Had: func(l *Listener) bool { return had[l] },
		}
		resolveConflicts(all, order)
		first := describe(all)
		for _, l := range all {
			had[l] = l.Accepted.Good() && l.Conflicted.Good()
		}
		if resolveConflicts(all, order); describe(all) != first {
			t.Fatalf("with the incumbents\n%safter\n%s", describe(all), first)
		}
	}
}
