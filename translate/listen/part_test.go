package listen

import (
	"math/rand/v2"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/scope"
)

// TestOwnerAtRandom compares the index of hosts with a look at every listener: the
// hostname that is the domain has it, or the longest that covers it.
func TestOwnerAtRandom(t *testing.T) {
	names := []string{"", "*.com", "*.a.com", "a.com", "b.a.com", "*.b.a.com", "c.b.a.com", "x.org", "*.org"}
	r := rand.New(rand.NewPCG(1, 7))
	for range 2000 {
		g := &Gateway{Name: "n/g"}
		for i, name := range names {
			if r.IntN(2) == 0 {
				g.Listeners = append(g.Listeners, &Listener{Index: i, Name: name, Hostname: name, Port: int32(1 + r.IntN(2)), Protocol: gwv1.HTTPProtocolType})
			}
		}
		g.indexHosts()
		at := Socket{Port: int32(1 + r.IntN(2))}
		name := names[r.IntN(len(names))]
		want := ""
		var best *Listener
		for _, l := range g.Listeners {
			if l.Socket() == at && scope.CoversHost(l.Hostname, name) && (best == nil || l.Hostname == name || best.Hostname != name && len(l.Hostname) > len(best.Hostname)) {
				best, want = l, l.ID()
			}
		}
		if got := g.OwnerName(at, domain(name)); got != want {
			t.Fatalf("%q of %+v: %q, want %q", name, g.Listeners, got, want)
		}
		for _, l := range g.Listeners {
			shared := false
			for _, other := range g.Listeners {
				shared = shared || other != l && other.Port == l.Port && scope.CoversHost(l.Hostname, other.Hostname)
			}
			if g.shared[l.claim()] != shared {
				t.Fatalf("%+v of %+v is shared: %v, want %v", l, g.Listeners, !shared, shared)
			}
		}
	}
}
