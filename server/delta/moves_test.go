package delta

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

const duplicated = "Error adding/updating listener(s) %[1]s: error adding listener: '%[1]s' has duplicate address '127.0.0.1:80' as existing listener"

// binds puts a listener on addresses into the target.
func (p *planned) binds(name string, exclusive bool, addresses ...string) {
	r := xds.Listener(&ir.Port{Name: name, Addresses: addresses, Port: 80, Exclusive: exclusive})
	p.put(Update{"shop/a", lds, name, NewEntry(&r)})
}

// says checks the next response, such as "-a b": a is removed, b is sent.
func (p *planned) says(want string) *Response {
	p.t.Helper()
	r, _ := p.Next(p.now)
	var words []string
	if r != nil {
		for _, name := range r.Removed {
			words = append(words, "-"+name)
		}
		for _, e := range r.Set {
			words = append(words, e.Name)
		}
	}
	if got := strings.Join(words, " "); got != want {
		p.t.Fatalf("got %q, want %q", got, want)
	}
	return r
}

func (p *planned) takes(want string) {
	p.t.Helper()
	p.book(p.ledgers[lds], p.says(want).nonce, "", false)
}

func (p *planned) rejects(want, words string) {
	p.t.Helper()
	p.book(p.ledgers[lds], p.says(want).nonce, words, true)
}

// bound returns the address of a listener in a response.
func bound(r *Response, name string) string {
	i := slices.IndexFunc(r.Set, func(e *Entry) bool { return e.Name == name })
	return r.Set[i].binding().Sockets[0].String()
}

// Of listeners that wait for each other, one is removed, and no more: the others move in the order in
// which their addresses become free.
func TestOneOfACircleMakesWay(t *testing.T) {
	p := newPlanned(t)
	for i, name := range []string{"a", "b", "c", "d"} {
		p.binds(name, false, fmt.Sprintf("127.0.0.%d", i+1))
	}
	p.takes("a b c d")
	p.binds("a", false, "127.0.0.2")
	p.binds("b", false, "127.0.0.3")
	p.binds("c", false, "127.0.0.1")
	p.binds("d", false, "127.0.0.5") // it is in nobody's way
	p.takes("-a c d")
	p.takes("b")
	p.takes("a")
	p.says("")
	if !p.State().Idle {
		t.Error("something is due")
	}
}

// A new listener waits for the one that leaves its address, and one that takes the address of a removed
// listener goes with the removal.
func TestAListenerWaitsForAnAddress(t *testing.T) {
	p := newPlanned(t)
	p.binds("b", false, "127.0.0.1")
	p.binds("gone", false, "127.0.0.2")
	p.takes("b gone")
	p.binds("a", false, "127.0.0.1")
	p.binds("b", false, "127.0.0.2")
	p.put(Update{"shop/a", lds, "gone", nil})
	p.takes("-gone b")
	p.takes("a")
}

// A listener that waits for one whose new form is rejected is sent, so that its rejection is told.
func TestAListenerWaitsForNoneThatStays(t *testing.T) {
	p := newPlanned(t)
	p.binds("a", false, "127.0.0.1")
	p.takes("a")
	p.binds("a", false, "127.0.0.2")
	p.binds("b", false, "127.0.0.1")
	p.rejects("a", "Error adding/updating listener(s) a: no")
	p.says("b")
}

// Nor does it wait for one that an edit keeps where it is.
func TestAListenerWaitsForNoneThatAnEditKeeps(t *testing.T) {
	p := newPlanned(t)
	for i, name := range []string{"a", "b", "c"} {
		p.binds(name, false, fmt.Sprintf("127.0.0.%d", i+1))
	}
	p.takes("a b c")
	p.binds("c", false, "127.0.0.4")
	p.binds("b", false, "127.0.0.3")
	p.binds("a", false, "127.0.0.2")
	sent := p.says("c") // which is not answered yet
	p.binds("b", false, "127.0.0.2")
	p.binds("a", false, "127.0.0.5")
	p.takes("a")
	p.book(p.ledgers[lds], sent.nonce, "", false)
	p.says("")
}

// A listener whose address another of the Envoy still has is tried soon and often, and is no rejection
// until then.
func TestAnAddressThatWillBeFreeSoonIsNoRejection(t *testing.T) {
	p := newPlanned(t)
	p.binds("a", false, "127.0.0.1")
	for range quickBinds {
		p.rejects("a", fmt.Sprintf(duplicated, "a"))
		if s := p.State(); s.Rejections > 0 || s.Idle {
			t.Fatalf("%+v", s)
		}
		r, until := p.Next(p.now)
		if r != nil || until.Sub(p.now) > 2*time.Second {
			t.Fatalf("%v, again after %s", r, until.Sub(p.now))
		}
		p.now = until
	}
	p.rejects("a", fmt.Sprintf(duplicated, "a"))
	if s := p.State(); s.Rejections != 1 || !s.Idle {
		t.Fatalf("%+v", s)
	}
	if _, until := p.Next(p.now); until.Sub(p.now) != p.options.BindRetry {
		t.Errorf("tried again after %s", until.Sub(p.now))
	}
}

// A listener that is in its own way makes way, comes back in the form that it had if Envoy cannot bind the
// new one, and is rejected. Then it stays, until it changes or is forgiven.
func TestAListenerInItsOwnWay(t *testing.T) {
	p := newPlanned(t)
	p.binds("a", true, "127.0.0.1")
	p.takes("a")
	p.binds("a", true, "0.0.0.0")
	const foreign = "Error adding/updating listener(s) a: cannot bind '0.0.0.0:80': Address already in use"
	inVain := func() {
		t.Helper()
		p.takes("-a")
		for range quickBinds {
			p.rejects("a", foreign)
			_, p.now = p.Next(p.now)
		}
		p.rejects("a", foreign)
		r := p.says("a")
		if got := bound(r, "a"); got != "127.0.0.1:80" {
			t.Fatalf("%s came back", got)
		}
		p.book(p.ledgers[lds], r.nonce, "", false)
		if r, until := p.Next(p.now); r != nil || !until.IsZero() {
			t.Fatalf("%v, again at %s", r, until)
		}
		for r := range p.Rejections() {
			if want := foreign + OlderServed; r.Words != want {
				t.Errorf("%q, want %q", r.Words, want)
			}
		}
		if s := p.State(); s.Rejections != 1 || !s.Idle {
			t.Fatalf("%+v", s)
		}
	}
	inVain()
	if !p.Forgive() {
		t.Fatal("nothing to forgive")
	}
	inVain()
	p.binds("a", true, "127.0.0.1")
	p.says("") // it is what serves
	if s := p.State(); s.Rejections != 0 {
		t.Errorf("%+v", s)
	}
}

// One that is not exclusive is in nobody's way by 0.0.0.0, and no listener by another port or protocol.
func TestWhatIsInNobodysWay(t *testing.T) {
	p := newPlanned(t)
	p.binds("a", false, "127.0.0.1")
	p.binds("b", true, "127.0.0.2")
	p.takes("a b")
	p.binds("a", false, "0.0.0.0")
	p.binds("b", true, "127.0.0.2", "::") // this is
	p.takes("-b a")
	p.takes("b")
	udp := xds.Listener(&ir.Port{Name: "u", Addresses: []string{"127.0.0.9"}, Port: 80, UDP: true, Streams: []ir.Stream{{}}})
	p.put(Update{"shop/a", lds, "u", NewEntry(&udp)})
	p.takes("u")
	p.binds("b", true, "127.0.0.9") // which is free of TCP
	p.takes("b")
}

// What an Envoy that comes back binds is known where the target has it in that form; else a listener makes
// way when its bind failed some times.
func TestWhatIsBoundOfABeforeIsNotKnown(t *testing.T) {
	p := newPlanned(t)
	p.binds("a", false, "127.0.0.1")
	p.binds("b", false, "127.0.0.2")
	p.ledgers[lds].wildcard = false
	delete(p.ledgers, lds)
	p.subscribe(&Request{TypeUrl: lds, ResourceNamesSubscribe: []string{Wildcard}, InitialResourceVersions: map[string]string{
		"a": p.target.Entry(lds, "a").Version, "b": "another",
	}})
	for range quickBinds {
		p.rejects("b", fmt.Sprintf(duplicated, "b"))
		_, p.now = p.Next(p.now)
	}
	p.rejects("b", fmt.Sprintf(duplicated, "b"))
	p.takes("-b")
	p.takes("b")
	p.binds("a", false, "127.0.0.2")
	p.binds("b", false, "127.0.0.1")
	p.takes("-a b")
	p.takes("a")
}
