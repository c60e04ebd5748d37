package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/server/delta/deltatest"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/status"
	"github.com/gatefold/gatefold/translate/xds"
)

// What so many Envoys answer to an edit makes no verdict look at the others: an edit of a
// table looks at none; one of a listener, or one that all of them reject, at each of them as
// often as the verdict changes, be they Envoys of one Gateway or of all.
func TestAnAnswerLooksAtNoOtherEnvoy(t *testing.T) {
	for _, cluster := range []string{"shop/a", "all"} {
		for _, streams := range []int{10, 40} {
			t.Run(fmt.Sprintf("%s, %d", cluster, streams), func(t *testing.T) {
				s := New(Options{}, zerolog.Nop())
				s.Publish(translate.Result{Delta: deltatest.Updates("Cluster web@1", "Listener http@1", "RouteConfiguration r@1"), Status: []status.Update{deltatest.PendingGateway("shop/a", 1)}})
				lines := make([]*line, streams)
				for i := range lines {
					lines[i] = s.dial(t, cluster, "r")
				}
				looks := func(edit, nack string, want metav1.ConditionStatus) int {
					t.Helper()
					before := s.verdicts.looks
					s.Publish(translate.Result{Delta: deltatest.Updates(edit)})
					for _, l := range lines {
						l.nack = nack
						l.turn(t)
					}
					if got := s.verdicts.given["shop/a"].Status; got != want {
						t.Errorf("after %s: Programmed is %s, want %s", edit, got, want)
					}
					return s.verdicts.looks - before
				}
				if got := looks("RouteConfiguration r@2", "", "True"); got != 0 {
					t.Errorf("an edit of a table looks at %d streams", got)
				}
				if got := looks("Listener http@2", "", "True"); got != 2*streams { // pending, programmed
					t.Errorf("an edit of a listener looks at %d streams", got)
				}
				if got := looks("Cluster web@bad", "no", "False"); got != streams {
					t.Errorf("an edit that all reject looks at %d streams", got)
				}
				said, _ := json.Marshal(s.board.List(func(manifest.Key) bool { return true }))
				if !strings.Contains(string(said), fmt.Sprintf("and %d more", streams-maxRefusals)) {
					t.Errorf("who reads the status sees %s", said)
				}
				if got := looks("Cluster web@3", "", "True"); got != 2*streams {
					t.Errorf("an edit that mends it looks at %d streams", got)
				}
			})
		}
	}
}

// counted checks every tally against what all streams say by themselves.
func (s *Server) counted(t *testing.T, did string) {
	t.Helper()
	for _, c := range append(slices.Collect(maps.Values(s.scopes)), s.union) {
		want := tally{unbound: map[string]int{}}
		for st := range c.streams {
			if !st.state.Idle {
				want.busy++
			}
		}
		for _, st := range s.audience(c.name) {
			if c != s.union {
				want.add(st, c)
			}
		}
		got := c.tally
		if got.busy != want.busy || got.lacking != want.lacking || got.refusing != want.refusing || !maps.Equal(got.unbound, want.unbound) {
			t.Fatalf("after %s, of %q counted are %+v, there are %+v", did, c.name, got, want)
		}
	}
	for gateway := range s.scopes {
		shown, now := s.verdicts.given[gateway], s.verdicts.standing(s.scopes[gateway])
		if kept := now.waits && shown.Status == metav1.ConditionTrue; !now.of(shown) && !kept {
			t.Fatalf("after %s, of %q it is said %+v, and stands %+v", did, gateway, shown, now)
		}
	}
}

// add looks at all that a stream was asked and answered.
func (t *tally) add(st *stream, c *scope) {
	lacks := false
	for table := range c.Names(rds) {
		free := false
		for r := range st.Rejections() {
			free = free || r.Type == lds && delta.BindFailed(r.Words) && belongs(table, r.Name)
		}
		lacks = lacks || !free && !st.Asks(rds, table)
	}
	t.lacking += number(lacks)
	unbound := unbound{}
	t.refusing += number(len(st.refusals(c.name, unbound)) > 0)
	for name, said := range unbound {
		t.unbound[name] += len(said)
	}
}

// Whatever comes and goes, is asked for, accepted and rejected: the counts are those of a
// look at everything, and so are the verdicts that are shown.
func TestCountsAreThoseOfALookAtEverything(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 0))
		s := New(Options{}, zerolog.Nop())
		gateways, kinds := []string{"shop/a", "shop/b"}, []string{"Cluster c", "Listener l", "RouteConfiguration l"}
		names := []string{"l0", "l0/x", "l1", "l1/y"}
		pick := func(from ...string) string { return from[r.IntN(len(from))] }
		var lines []*line
		for step := range 80 {
			var did string
			switch n := r.IntN(10); {
			case n == 0 || len(lines) == 0:
				cluster := pick("all", "shop/a", "shop/b", "shop/none")
				did = cluster + " comes"
				lines = append(lines, s.dial(t, cluster, names[:1+r.IntN(len(names))]...))
			case n == 1:
				did = "one leaves"
				at := r.IntN(len(lines))
				s.at(lines[at].stream).leave()
				lines = slices.Delete(lines, at, at+1)
			case n < 5:
				did = pick(gateways...) + ": " + pick("", "-") + pick(kinds...) + pick("0", "1", "0/x", "1/y")
				if !strings.Contains(did, "-") {
					did += fmt.Sprintf("@%d", step)
				}
				s.Publish(translate.Result{Delta: deltatest.Updates(did)})
			case n == 5:
				did = "a request"
				at := lines[r.IntN(len(lines))]
				request := &delta.Request{TypeUrl: xds.RouteType}
				if r.IntN(2) == 0 {
					request.ResourceNamesSubscribe = []string{pick(append(names, delta.Wildcard)...), pick(names...)}
				} else {
					request.ResourceNamesUnsubscribe = []string{pick(append(names, delta.Wildcard)...), pick(names...)}
				}
				if err := s.at(at.stream).handle(request); err != nil {
					t.Fatal(err)
				}
			default:
				at := lines[r.IntN(len(lines))]
				at.nack = pick("", "", "no", "cannot bind", "Error adding/updating listener(s) l0: cannot bind")
				did = fmt.Sprintf("a turn with %q", at.nack)
				at.turn(t)
			}
			for _, l := range lines { // what is rejected of what is gone is forgotten when a stream looks
				if _, err := s.at(l.stream).flush(l); err != nil {
					t.Fatal(err)
				}
			}
			s.counted(t, did)
			if r.IntN(8) == 0 {
				s.verdicts.refresh()
				s.counted(t, did+" and a look")
			}
		}
		for _, l := range lines {
			s.at(l.stream).leave()
			s.counted(t, "leaving")
		}
		if s.strangers != 0 {
			t.Fatalf("%d names are counted of streams that left", s.strangers)
		}
	}
}
