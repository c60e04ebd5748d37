package delta

import (
	"testing"
	"time"
)

// inUse is what an Envoy says of a listener whose port is another's.
const inUse = "Error adding/updating listener(s) http: cannot bind '127.0.0.1:80': Address already in use"

// The waits are 1 s, 2 s, 4 s and so on to 30 s, from each answer; another
// version begins anew.
func TestTheWaitBetweenBindsDoubles(t *testing.T) {
	p := newPlanned(t)
	p.edit("Listener http@1")
	fail := func() {
		t.Helper()
		p.book(p.ledgers[lds], p.sends("http").nonce, inUse, true)
	}
	fail()
	for _, seconds := range []int{1, 2, 4, 8, 16, 30, 30} {
		r, until := p.Next(p.now)
		if want := p.now.Add(time.Duration(seconds) * time.Second); r != nil || !until.Equal(want) {
			t.Fatalf("got %v, ask again in %s, want %d s", r, until.Sub(p.now), seconds)
		}
		p.now = until.Add(-time.Millisecond)
		p.sends("")
		p.now = until
		fail()
	}
	p.edit("Listener http@2")
	fail()
	if _, until := p.Next(p.now); until.Sub(p.now) != time.Second {
		t.Errorf("another version waits for %s", until.Sub(p.now))
	}
}
