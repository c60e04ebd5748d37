package server

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// planned is a plan without a stream: it asked for all clusters and listeners,
// and its time goes by at will.
type planned struct {
	*plan
	t   *testing.T
	now time.Time
}

func newPlanned(t *testing.T) *planned {
	start := time.Unix(1000, 0)
	p := &plan{
		scope: newScope("shop/a"), opened: start, wait: 5 * time.Second, ordered: true,
		ledgers: map[string]*ledger{cds: newLedger(cds), lds: newLedger(lds), rds: newLedger(rds)},
		barrier: map[string]time.Time{}, bindRetry: time.Second, tables: map[string]*tableState{}, blamed: map[string]struct{}{}, searches: true,
	}
	for _, l := range p.ledgers {
		l.wildcard = true
	}
	return &planned{p, t, start}
}

// edit puts a change, as running.publish takes it, into the target.
func (p *planned) edit(change string) {
	u := parseUpdate(change)
	p.scope.put(update{u.Gateway, u.Type, u.Name, newEntry(u.Resource)})
	p.ledgers[u.Type].mark(u.Name)
}

// sends checks what is sent now: the first name of a response, "" for none.
func (p *planned) sends(want string) *response {
	p.t.Helper()
	r, _ := p.next(p.now)
	got := ""
	if r != nil {
		got = r.set[0].Name
	}
	if got != want {
		p.t.Fatalf("at %s %q is sent, want %q", p.now.UTC().Format("05"), got, want)
	}
	return r
}

// Clusters that change all the time, and are never answered because one of them
// does not get warm, keep routes back for one wait and not for ever.
func TestRoutesWaitOnceHoweverOftenClustersChange(t *testing.T) {
	p := newPlanned(t)
	p.edit("Cluster c0@1")
	p.sends("c0")
	p.now = p.now.Add(4 * time.Second)
	p.edit("RouteConfiguration r@1")
	for i := range 5 { // for 4 s since the route waits
		p.edit(fmt.Sprintf("Cluster c%d@1", i+1))
		p.sends(fmt.Sprintf("c%d", i+1))
		p.sends("")
		p.now = p.now.Add(time.Second)
	}
	p.sends("r")
}

// What was sent long ago is not waited for by an edit of now.
func TestAnOldUnansweredClusterIsNotWaitedFor(t *testing.T) {
	p := newPlanned(t)
	p.edit("Cluster c@1")
	p.sends("c")
	p.now = p.now.Add(time.Hour)
	p.edit("RouteConfiguration r@1")
	p.sends("r")
}

// The time to ask again is when the wait ends, not earlier and not later.
func TestThePlanTellsWhenToAskAgain(t *testing.T) {
	p := newPlanned(t)
	p.edit("Cluster c@1")
	p.sends("c")
	p.now = p.now.Add(2 * time.Second)
	p.edit("RouteConfiguration r@1")
	r, until := p.next(p.now)
	if r != nil || !until.Equal(p.opened.Add(5*time.Second)) {
		t.Fatalf("got %v, ask again at %s", r, until)
	}
	p.now = until
	p.sends("r")
}

func TestAnUnknownGatewayIsWarnedOfOnce(t *testing.T) {
	s := New(Options{}, zerolog.Nop())
	s.published = true
	for i, want := range []bool{true, false} {
		st := &stream{cluster: "shop/none", address: &net.UnixAddr{}, plan: plan{ledgers: map[string]*ledger{}}}
		if got, err := s.join(st); got != want || err != nil {
			t.Errorf("stream %d: warned %v, want %v; %v", i, got, want, err)
		}
	}
}

// Many names that change twice before the stream gets to them, in one piece and one by
// one, stand once in the response: Envoy refuses a response that names one twice.
func TestAResponseNamesEachOnce(t *testing.T) {
	p := newPlanned(t)
	var names []string
	for i := range 3 * bulk {
		p.scope.putVersion(i, 1)
		names = append(names, fmt.Sprintf("c%04d", i))
	}
	l := p.ledgers[cds]
	l.markAll(names)
	l.markAll(names[bulk:])
	l.mark(names[bulk])
	r, _ := p.next(p.now)
	if r.names() != len(names) || l.awaited != len(names) {
		t.Errorf("%d of %d names are sent, %d awaited", r.names(), len(names), l.awaited)
	}
}
