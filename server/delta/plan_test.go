package delta

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/translate/xds"
)

const (
	cds = xds.ClusterType
	lds = xds.ListenerType
	rds = xds.RouteType
	sds = xds.SecretType
)

// planned is a plan without a stream: it asked for all clusters and listeners,
// and its time goes by at will.
type planned struct {
	*Plan
	t   *testing.T
	now time.Time
}

func newPlanned(t *testing.T) *planned {
	start := time.Unix(1000, 0)
	p := New(NewSnapshot(), Options{Opened: start, Wait: 5 * time.Second, BindRetry: time.Second, Envoy: true})
	for _, typ := range []string{cds, lds, rds} {
		p.ask(typ)
	}
	return &planned{p, t, start}
}

// ask subscribes to all names of a type, without an answer when there is none.
func (p *Plan) ask(typ string) {
	p.ledgers[typ] = newLedger(p.stream, typ)
	p.ledgers[typ].wildcard = true
}

// subscribe books all steps of a request.
func (p *Plan) subscribe(request *Request) {
	for step := range p.Subscribe(request) {
		step.Book()
	}
}

// put makes the target the snapshot after these updates.
func (p *Plan) put(updates ...Update) {
	next := p.target.With(updates...)
	p.Retarget(next, p.target.Changes(next))
}

// putVersion puts a version of a cluster with this number into the target.
func (p *Plan) putVersion(number, version int) {
	name := fmt.Sprintf("c%04d", number)
	p.put(Update{"shop/a", cds, name, NewEntry(&xds.Resource{Type: cds, Name: name, Version: fmt.Sprint(version)})})
}

// edit puts a change into the target, such as "Cluster web@1".
func (p *planned) edit(change string) {
	kind, name, _ := strings.Cut(change, " ")
	name, version, _ := strings.Cut(name, "@")
	for _, typ := range Types() {
		if xds.ShortType(typ) == kind {
			r := &xds.Resource{Type: typ, Name: name, Version: version, Body: []byte(version)}
			p.put(Update{"shop/a", typ, name, NewEntry(r)})
		}
	}
}

// sends checks what is sent now: the first name of a response, "" for none.
func (p *planned) sends(want string) *Response {
	p.t.Helper()
	r, _ := p.Next(p.now)
	got := ""
	if r != nil {
		got = r.Set[0].Name
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
	r, until := p.Next(p.now)
	if r != nil || !until.Equal(p.options.Opened.Add(5*time.Second)) {
		t.Fatalf("got %v, ask again at %s", r, until)
	}
	p.now = until
	p.sends("r")
}

// Many names that change twice before the stream gets to them stand once in the response: Envoy rejects a response that
// names one twice.
func TestAResponseNamesEachOnce(t *testing.T) {
	const count = 200
	p := newPlanned(t)
	for version := range 2 {
		for i := range count {
			p.putVersion(i, version)
		}
	}
	r, _ := p.Next(p.now)
	if l := p.ledgers[cds]; r.Names() != count || l.awaited != count {
		t.Errorf("%d of %d names are sent, %d awaited", r.Names(), count, l.awaited)
	}
}

// A client that asks for ever more names that do not exist, and never answers, is sent so
// many responses and no more.
func TestUnansweredResponsesAreBounded(t *testing.T) {
	p := newPlanned(t)
	p.edit("Cluster web@1")
	p.book(p.ledgers[cds], p.sends("web").nonce, "", false)
	names := make([]string, 1000*maxFlight)
	for i := range names {
		names[i] = fmt.Sprintf("none/%07d", i)
	}
	delete(p.ledgers, rds)
	p.subscribe(&Request{TypeUrl: rds, ResourceNamesSubscribe: names})
	sent := 0
	flush := func() {
		for r, _ := p.Next(p.now); r != nil; r, _ = p.Next(p.now) {
			sent++
		}
	}
	flush()
	if got := len(p.ledgers[rds].flight); got != maxFlight {
		t.Errorf("%d unanswered responses, want %d", got, maxFlight)
	}
	for p.ledgers[rds].awaited > 0 {
		for nonce := range p.ledgers[rds].flight {
			p.book(p.ledgers[rds], nonce, "", false)
		}
		flush()
	}
	if sent < 1000*maxFlight/batchNames {
		t.Errorf("answered, it was sent %d responses", sent)
	}
}
