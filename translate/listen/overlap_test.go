package listen

import (
	"fmt"
	"math/rand/v2"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/store/keypair"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/scope"
)

// TestOverlaps compares the overlaps of random listeners with those of all pairs.
func TestOverlaps(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	name := func() string {
		return pick("", "*.", "*.b.") + pick("a", "b", "a.b", "x.a.b") + pick(".example", ".test")
	}
	seen := map[gwv1.ListenerConditionReason]int{}
	for range testsize.Of(t, 300) {
		g, names := &Gateway{}, map[string][]string{}
		for i := range 1 + r.IntN(12) {
			l := &Listener{Name: fmt.Sprint(i), Port: int32(1 + r.IntN(2)), Protocol: gwv1.ProtocolType(pick("HTTPS", "HTTPS", "TLS", "HTTP")), Hostname: pick("", name(), name(), name())}
			if l.Passthrough = l.Protocol == gwv1.TLSProtocolType; !l.Passthrough {
				secret := fmt.Sprint(i)
				l.Certificates = append(l.Certificates, manifest.Key{Name: secret})
				for range r.IntN(5) {
					names[secret] = append(names[secret], pick(name(), "127.0.0.1"))
				}
			}
			g.Listeners = append(g.Listeners, l)
		}
		got := g.Overlaps(func(secret manifest.Key) []string { return names[secret.Name] })
		for _, l := range g.Listeners {
			reason := overlapOf(g, l, names)
			if seen[reason]++; got[l.ID()].Reason != reason {
				t.Fatalf("%+v: got %q, want %q, of %v", l, got[l.ID()], reason, names)
			}
		}
	}
	if len(seen) != 3 || seen[gwv1.ListenerReasonOverlappingHostnames] < 50 || seen[gwv1.ListenerReasonOverlappingCertificates] < 50 {
		t.Errorf("%v: that proves nothing", seen)
	}
}

// overlapOf compares one listener with all others.
func overlapOf(g *Gateway, l *Listener, names map[string][]string) (reason gwv1.ListenerConditionReason) {
	for _, other := range g.Listeners {
		if other == l || other.Port != l.Port || !other.SpeaksTLS() || !l.SpeaksTLS() {
			continue
		}
		for _, a := range names[l.Name] {
			for _, b := range names[other.Name] {
				if a != "127.0.0.1" && (keypair.Covers([]string{a}, b) || keypair.Covers([]string{b}, a)) {
					return gwv1.ListenerReasonOverlappingCertificates
				}
			}
		}
		if scope.CoversHost(l.Hostname, other.Hostname) || scope.CoversHost(other.Hostname, l.Hostname) {
			reason = gwv1.ListenerReasonOverlappingHostnames
		}
	}
	return reason
}

// TestOverlapsNameFewListeners bounds the messages of a port whose listeners all have one certificate.
func TestOverlapsNameFewListeners(t *testing.T) {
	g := &Gateway{}
	for i := range 10 {
		g.Listeners = append(g.Listeners, &Listener{Name: fmt.Sprint(i), Port: 443, Protocol: gwv1.HTTPSProtocolType, Hostname: fmt.Sprintf("h%d.example", i), Certificates: []manifest.Key{{Name: "s"}}})
	}
	got := g.Overlaps(func(manifest.Key) []string { return []string{"*.example"} })
	for i, want := range map[int]string{
		0: "listener 1 (h1.example), listener 2 (h2.example), listener 3 (h3.example), and others",
		2: "listener 0 (h0.example), listener 1 (h1.example), listener 3 (h3.example), and others",
		9: "listener 0 (h0.example), listener 1 (h1.example), listener 2 (h2.example), and others",
	} {
		if text := got[g.Listeners[i].ID()].Message; text != "a certificate of the listener is for a name in a certificate of "+want {
			t.Errorf("%d: %s", i, text)
		}
	}
}
