package server

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/server/delta/deltatest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/xds"
)

// refuser is a client that is sent what refuserOf makes, and the most that it may be
// sent of it at once.
type refuser struct {
	*line
	t     *testing.T
	parts int // of its large table
	edit  int
}

const eachKind = 7 // resources of every type

// newRefuser connects a client that asks for everything, in either protocol; agent is
// what it calls itself.
func newRefuser(t *testing.T, ofWorld bool, agent string) *refuser {
	t.Helper()
	s := New(Options{BarrierWait: time.Nanosecond, BindRetry: time.Hour}, zerolog.Nop())
	r := &refuser{t: t}
	r.publish(s, true)
	r.line = s.liftIn(t, &corev3.Node{Id: "test", Cluster: "shop/a", UserAgentName: agent}, ofWorld)
	names := []string{"r"}
	for i := range eachKind {
		names = append(names, fmt.Sprint("n", i))
	}
	for _, typ := range []string{sds, eds, lds, rds} {
		request := &delta.Request{TypeUrl: typ}
		if typ != lds {
			request.ResourceNamesSubscribe = names
		}
		r.answer = append(r.answer, request)
	}
	return r
}

// publish makes every resource another one, or takes all away.
func (r *refuser) publish(s *Server, present bool) {
	r.edit++
	var updates []xds.Update
	for _, typ := range delta.Types() {
		for i := range eachKind {
			change := fmt.Sprintf("%s n%d@%d", xds.ShortType(typ), i, r.edit)
			if !present {
				change = "-" + change
			}
			updates = append(updates, deltatest.Update(change))
		}
	}
	var text strings.Builder
	r.parts = 0
	for h := range 3 {
		fmt.Fprintf(&text, "h%d:", h)
		for i := range 8 {
			fmt.Fprintf(&text, " r%d=%d", i, r.edit)
			r.parts++
		}
		text.WriteString("\n")
		r.parts++
	}
	u := xds.Update{Gateway: "shop/a", Type: rds, Name: "r"}
	if present {
		u.Resource = deltatest.Compiled(deltatest.Table(strings.TrimSpace(text.String())), fmt.Sprintf("/%d", r.edit))
	}
	s.Publish(translate.Result{Delta: append(updates, u)})
}

// objects is how many there are, and as many more answers as a table can bring about in
// its two forms: one for itself, and one for each step of a search.
func (r *refuser) objects(searches int) int {
	return len(delta.Types())*eachKind + 2*(1+searches*(2+bits.Len(uint(r.parts))))
}

// rests lets it answer until nothing is sent, which must be at most these messages.
func (r *refuser) rests(did string, most int) {
	r.t.Helper()
	before := r.sent
	r.turn(r.t)
	time.Sleep(time.Microsecond) // the wait for clusters is over
	r.turn(r.t)
	if sent := r.sent - before; sent == 0 || sent > most {
		r.t.Errorf("%s: %d messages, want 1 to %d", did, sent, most)
	}
	before = r.sent
	r.poke()
	r.turn(r.t)
	if r.sent != before {
		r.t.Errorf("%s: it does not rest", did)
	}
}

// A client that rejects all that it is sent is sent each type once in one response, each
// object once by itself, and what the search for bad routes takes; then nothing, until
// something changes. So it is with what is new to it, with what changes and with what is
// taken away, in both protocols.
func TestAClientThatRejectsEverythingIsLeftInPeace(t *testing.T) {
	for _, ofWorld := range []bool{false, true} {
		for _, agent := range []string{"", "envoy"} {
			for _, words := range []string{"no", "Error adding/updating cluster(s) n0: no, n3: no", "cannot bind", "missing ): (" + xds.ProbeMark} {
				t.Run(fmt.Sprintf("of the world %t, agent %q, %s", ofWorld, agent, words), func(t *testing.T) {
					// What is suspected is searched, and then all of the table.
					const searches = 2
					r := newRefuser(t, ofWorld, agent)
					most := len(delta.Types()) + r.objects(searches)
					r.nack = words
					r.rests("new", most)
					r.publish(r.s, true)
					r.rests("an edit", most)
					r.nack = ""
					r.publish(r.s, true)
					r.rests("accepted", most)
					r.nack = words
					r.publish(r.s, true)
					r.rests("an edit of what it holds", most)
					r.publish(r.s, false)
					r.turn(t) // what it rejected is forgotten, and what uses it goes first
					r.nack = ""
					r.publish(r.s, true)
					r.rests("accepted again", most)
					r.nack = words
					r.publish(r.s, false)
					r.rests("all is taken away", most)
				})
			}
		}
	}
}

// Whatever a client answers to what, it comes to an end. Each part of a table is found
// twice at most: it answers 500, and then it is left out.
func TestWhateverAClientAnswersComesToAnEnd(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 3))
		r := newRefuser(t, seed%2 == 0, []string{"envoy", ""}[random.IntN(2)])
		most := len(delta.Types()) + r.objects(4*r.parts)
		kindness := random.IntN(8)
		r.says = func(probe bool) string {
			words := []string{"no", "missing ): (" + xds.ProbeMark, "Error adding/updating listener(s) n1: no", "cannot bind"}
			if !probe { // which no Envoy takes
				words = append(words, make([]string, kindness)...)
			}
			return words[random.IntN(len(words))]
		}
		for range 6 {
			r.publish(r.s, random.IntN(3) > 0)
			before := r.sent
			r.turn(t)
			time.Sleep(time.Microsecond)
			r.turn(t)
			if sent := r.sent - before; sent > most {
				t.Fatalf("seed %d: %d messages, want at most %d", seed, sent, most)
			}
			if !slices.ContainsFunc(delta.Types(), func(typ string) bool { return r.Progress()[typ].Pending > 0 }) {
				continue
			}
			t.Fatalf("seed %d: it waits for an answer", seed)
		}
	}
}
