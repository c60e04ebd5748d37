package server

import "testing"

// asksForScopes has the client ask for scopes, as Envoy does with its first listener that
// has shards.
func (p *planned) asksForScopes() {
	l := newLedger(srds)
	l.wildcard = true
	p.ledgers[srds] = l
	for name := range p.scope.target[srds] {
		l.mark(name)
	}
}

func (p *planned) editLate(change string) {
	u := parseUpdate(change)
	p.scope.put(update{u.Gateway, u.Type, u.Name, newEntry(u.Resource)})
	if l := p.ledgers[u.Type]; l != nil {
		l.mark(u.Name)
	}
}

func (p *planned) takes(r *response) { p.book(p.ledgers[r.typ], r.nonce, false, "") }

// Envoy answers 404 for a second listener with shards until it has them, so they go
// first; the first listener goes ahead by itself, and one without shards waits for nothing.
func TestAListenerWaitsForItsShards(t *testing.T) {
	p := newPlanned(t)
	for _, name := range []string{"l1#0", "l1#1", "l2#0", "l2#1"} {
		p.editLate("ScopedRouteConfiguration " + name + "@1")
	}
	p.edit("Listener l1@1")
	p.edit("Listener l2@1")
	p.edit("Listener plain@1")
	r := p.sends("l1")
	if len(r.set) != 2 || r.set[1].Name != "plain" {
		t.Fatalf("sent with l1: %d", len(r.set))
	}
	p.takes(r)
	p.sends("")
	p.asksForScopes()
	r, _ = p.next(p.now)
	if r == nil || r.typ != srds || len(r.set) != 4 {
		t.Fatalf("want the scopes, got %+v", r)
	}
	p.takes(r)
	p.sends("")
	for _, name := range []string{"l1#0", "l1#1", "l2#0"} {
		p.edit("RouteConfiguration " + name + "@1")
	}
	p.takes(p.sends("l1#0"))
	p.sends("")
	p.edit("RouteConfiguration l2#1@1")
	r = p.sends("l2#1")
	p.sends("")
	p.book(p.ledgers[rds], r.nonce, true, "bad regex") // a refused table is no reason to wait
	p.sends("l2")
}

// Nothing waits for shards longer than once p.wait: an Envoy that refuses them, or never
// asks, has its listeners.
func TestShardsAreWaitedForOnce(t *testing.T) {
	p := newPlanned(t)
	p.editLate("ScopedRouteConfiguration l1#0@1")
	p.editLate("ScopedRouteConfiguration l2#0@1")
	p.edit("Listener l1@1")
	p.edit("Listener l2@1")
	p.takes(p.sends("l1"))
	_, until := p.next(p.now)
	if !until.Equal(p.now.Add(p.wait)) {
		t.Fatalf("asks again at %s", until)
	}
	p.now = until
	p.sends("l2")
}

// Connections that are drained go on by their old listener's scopes: they stay.
func TestScopesStay(t *testing.T) {
	p := newPlanned(t)
	p.editLate("ScopedRouteConfiguration l1#0@1")
	p.asksForScopes()
	p.takes(p.sends("l1#0"))
	p.scope.put(update{"shop/a", srds, "l1#0", nil})
	p.ledgers[srds].mark("l1#0")
	if r, _ := p.next(p.now); r != nil {
		t.Errorf("%v is removed", r.removed)
	}
}
