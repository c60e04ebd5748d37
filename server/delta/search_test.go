package delta

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/server/delta/deltatest"
	"github.com/gatefold/gatefold/translate/xds"
)

// probeMark is in what an Envoy says of a probe whose parts it takes.
const probeMark = xds.ProbeMark

// tableOfText makes a table as deltatest does.
func tableOfText(text string) *Entry { return NewEntry(deltatest.Table(text)) }

// reads says what an Envoy says that reads a table from its beginning: the first
// word in it that begins with "bad", or nothing.
func reads(e *Entry) string {
	config := &routev3.RouteConfiguration{}
	if err := proto.Unmarshal(e.Body, config); err != nil {
		return "bad message"
	}
	for _, h := range config.VirtualHosts {
		if strings.Contains(h.Domains[0], "bad") {
			return h.Domains[0]
		}
		for _, r := range slices.Concat(slices.Collect(maps.Values(listsOf(h)))...) {
			for _, says := range []string{r.GetMatch().GetPath(), r.StatPrefix, r.GetMatch().GetSafeRegex().GetRegex()} {
				if strings.Contains(says, "bad") || strings.Contains(says, probeMark) {
					return "missing ): " + says
				}
			}
		}
	}
	return ""
}

// searched is a plan whose Envoy answers as reads does.
type searched struct {
	*planned
	hints  map[xds.Part]xds.Fault
	says   func(*Entry) string // what its Envoy says of a table
	held   string              // what it holds
	nacks  int
	probes int
}

func newSearched(t *testing.T) *searched {
	p := newPlanned(t)
	p.ledgers = map[string]*ledger{}
	p.ask(rds)
	return &searched{planned: p, says: reads}
}

// sent returns what is sent next, nil for nothing.
func (s *searched) sent() *Response {
	for {
		r, _ := s.Next(s.now)
		if r != nil || !s.Waiting() {
			return r
		}
		for step := range s.Prepare(func(string) map[xds.Part]xds.Fault { return s.hints }) {
			step.Book()
		}
	}
}

// serve makes a table the target and answers until nothing is sent any more.
func (s *searched) serve(e *Entry) {
	s.t.Helper()
	s.put(Update{"shop/a", rds, e.Name, e})
	for range 1000 {
		r := s.sent()
		if r == nil {
			return
		}
		words := s.says(r.Set[0])
		s.book(s.ledgers[rds], r.nonce, words, words != "")
		switch {
		case words == "" && r.Probe:
			s.t.Fatal("a probe was accepted")
		case words == "":
			s.held = tableText(r.Set[0])
		case r.Probe:
			s.probes++
		default:
			s.nacks++
		}
	}
	s.t.Fatal("it does not end")
}

// tableText writes a table down as "h: r1 r2=500", the latter for a closed route.
func tableText(e *Entry) string {
	config := &routev3.RouteConfiguration{}
	if err := proto.Unmarshal(e.Body, config); err != nil {
		return err.Error()
	}
	var lines []string
	for _, h := range config.VirtualHosts {
		line := h.Name + ":"
		for _, r := range slices.Concat(slices.Collect(maps.Values(listsOf(h)))...) {
			line += " " + strings.TrimPrefix(r.GetMatch().GetPath()+r.GetMatch().GetPrefix(), "/")
			if r.StatPrefix != "" {
				line += "~" + r.StatPrefix
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestABadRouteIsFoundAndTheTableGoesOn(t *testing.T) {
	for name, c := range map[string]struct{ first, then, held string }{
		"an edit, in its answer":         {"h: a=1 b=1", "h: a=2 b=~bad c=1", "h: 2 b 1"},
		"an edit, in its match":          {"h: a=1 b=1", "h: a=2 b=bad c=1", "h: 2 1"},
		"the only news":                  {"h: a=1 b=1", "h: a=1 b=bad", "h: 1"},
		"several, in several hosts":      {"h: a=1\ng: a=1", "h: a=bad1 b=1 c=~bad2\ng: a=2 b=bad3\nf: a=~bad a1=1", "h: 1 c\ng: 2\nf: a 1"},
		"nothing before":                 {"", "h: a=1 b=bad c=1", "h: 1 1"},
		"a host":                         {"h: a=1", "h: a=2\ng=bad: a=1\nf: b=1", "h: 2\nf: 1"},
		"a host that was there":          {"h: a=1\ng: a=1", "h: a=2\ng=bad: a=1", "h: 2"},
		"the first of a host that stays": {"h: a=1 b=1", "h: a=bad b=1", "h: 1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSearched(t)
			if c.first != "" {
				s.serve(tableOfText(c.first))
			}
			s.serve(tableOfText(c.then))
			if s.held != c.held {
				t.Errorf("it holds\n%s\nwant\n%s", s.held, c.held)
			}
			if rejected := s.State().Rejections; rejected == 0 || len(s.ledgers[rds].rejected.of) > 0 {
				t.Errorf("%d rejections, %v", rejected, s.ledgers[rds].rejected)
			}
			mended := strings.NewReplacer("=bad:", "=fine:", "~bad", "~2", "bad", "2").Replace(c.then)
			s.serve(tableOfText(mended))
			if want := tableText(tableOfText(mended)); s.held != want || s.State().Rejections != 0 {
				t.Errorf("mended, it holds\n%s\nwant\n%s", s.held, want)
			}
		})
	}
}

// An Envoy without a table that rejects its first one is sent it, once, without what other Envoys
// rejected: so it serves while its own bad parts are searched. What others rejected and it takes
// is served in the end; a bad part that nobody rejected before is found all the same.
func TestAnEnvoyServesWhileItsBadPartsAreSearched(t *testing.T) {
	for name, c := range map[string]struct {
		table, hinted   string
		interim, served string // what it holds from the second answer on, and in the end
	}{
		"the hints are its own bad parts":  {"h: a=1 x=~bad1 c=1 y=~bad2", "x y", "h: 1 x 1 y", "h: 1 x 1 y"},
		"a hint is no bad part of its own": {"h: a=1 x=~bad1 c=~fine", "x c", "h: 1 x c", "h: 1 x c~fine"},
		"a bad part that is no hint":       {"h: a=1 x=~bad1 z=~bad2", "x", "", "h: 1 x z"},
		"no hints":                         {"h: a=1 x=~bad1", "", "", "h: 1 x"},
	} {
		t.Run(name, func(t *testing.T) {
			s, e := newSearched(t), tableOfText(c.table)
			s.hints = map[xds.Part]xds.Fault{}
			for _, p := range xds.Pieces(e.Body) {
				if slices.Contains(strings.Fields(c.hinted), p.Route) {
					s.hints[p.Part] = xds.Fault{Sum: p.Sum()}
				}
			}
			var held, sent []string
			s.says = func(e *Entry) string {
				held, sent = append(held, s.held), append(sent, tableText(e))
				return reads(e)
			}
			s.serve(e)
			if s.held != c.served {
				t.Errorf("it holds %q, want %q", s.held, c.served)
			}
			if c.interim == "" {
				return
			}
			if sent[1] != c.interim || len(held) < 4 {
				t.Fatalf("sent are %q", sent)
			}
			if other := slices.IndexFunc(held[2:], func(held string) bool { return held != c.interim }); other >= 0 {
				t.Errorf("during the search it holds %q, want %q", held, c.interim)
			}
		})
	}
}

// A table that is rejected for what no part of it can help is left as it is, and
// no part is quarantined.
func TestNoPartIsBlamedForATableThatIsRefusedAsAWhole(t *testing.T) {
	s := newSearched(t)
	s.serve(tableOfText("h: a=1"))
	e := tableOfText("h: a=2 b=1\nbad-name: c=1")
	s.put(Update{"shop/a", rds, e.Name, e})
	for range 100 {
		r := s.sent()
		if r == nil {
			break
		}
		s.book(s.ledgers[rds], r.nonce, "Proto constraint validation failed", true)
	}
	if s.sent() != nil {
		t.Fatal("it does not end")
	}
	l := s.ledgers[rds]
	if len(s.states["r"].rejected) > 0 || l.rejected.of["r"].version != e.Version || !l.stale() {
		t.Errorf("quarantined: %v, rejected: %v", s.states["r"].rejected, l.rejected)
	}
	s.serve(tableOfText("h: a=3"))
	if s.held != "h: 3" {
		t.Errorf("it holds %q", s.held)
	}
}

// Random tables with random faults end at what is sound in them, with a number
// of probes that grows as the logarithm of what changed.
func TestRandomTablesEndSound(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := newSearched(t)
		for range 4 {
			text, want, faults, size := randomTable(r)
			nacks, probes := s.nacks, s.probes
			s.serve(tableOfText(text))
			if s.held != want {
				t.Fatalf("seed %d: of\n%s\nit holds\n%s\nwant\n%s", seed, text, s.held, want)
			}
			steps := 4
			for n := 1; n < size; n *= 2 {
				steps++
			}
			if s.nacks-nacks > 2*faults || s.probes-probes > 4*faults*steps {
				t.Fatalf("seed %d: %d rejections and %d probes for %d faults among %d parts", seed, s.nacks-nacks, s.probes-probes, faults, size)
			}
		}
	}
}

func randomTable(r *rand.Rand) (text, want string, faults, size int) {
	var lines, sound []string
	for h := range 1 + r.IntN(4) {
		line, good := fmt.Sprintf("h%d:", h), fmt.Sprintf("h%d:", h)
		for i := range r.IntN(30) {
			size++
			switch says := r.IntN(3); r.IntN(12) {
			case 0:
				faults++
				line += fmt.Sprintf(" r%d=bad%d", i, says)
			case 1:
				faults++
				line, good = line+fmt.Sprintf(" r%d=~bad%d", i, says), good+fmt.Sprintf(" r%d", i)
			default:
				line, good = line+fmt.Sprintf(" r%d=%d", i, says), good+fmt.Sprintf(" %d", says)
			}
		}
		lines, sound = append(lines, line), append(sound, good)
	}
	return strings.Join(lines, "\n"), strings.Join(sound, "\n"), faults, size
}

// until answers until the condition is true.
func (s *searched) until(what string, holds func() bool) {
	s.t.Helper()
	for range 100_000 {
		if holds() {
			return
		}
		r := s.sent()
		if r == nil {
			break
		}
		words := s.says(r.Set[0])
		if r.Probe {
			s.probes++
		}
		if s.book(s.ledgers[rds], r.nonce, words, words != ""); words == "" {
			s.held = tableText(r.Set[0])
		}
	}
	if !holds() {
		s.t.Fatalf("%s: it holds %.200s", what, s.held)
	}
}

// aims makes a table the target.
func (s *searched) aims(e *Entry) {
	s.put(Update{"shop/a", rds, e.Name, e})
}

// badHost is a host with so many routes that Envoy rejects, and a good one, which has them at 500.
func badHost(routes int) (table, held string) {
	table, held = "bad-to-be: ok=1", "bad-to-be: 1"
	for i := range routes {
		table += fmt.Sprintf(" r%d=~bad", i)
		held += fmt.Sprintf(" r%d", i)
	}
	return strings.ReplaceAll(table, "bad-to-be", "h"), strings.ReplaceAll(held, "bad-to-be", "h")
}

// Other hosts of the edit that has thousands of bad routes, and of later edits, do not wait for the end of
// the search; the host with them is as before until then.
func TestOtherHostsDoNotWaitForASearch(t *testing.T) {
	bad, found := badHost(2000)
	s := newSearched(t)
	s.serve(tableOfText("g: a=1\nh: ok=0"))
	s.aims(tableOfText("g: a=2\n" + bad))
	for edit := 2; edit < 5; edit++ {
		before := s.probes
		s.until("an edit", func() bool { return s.held == fmt.Sprintf("g: %d\nh: 0", edit) })
		if most := pauseAfter + 2; s.probes-before > most {
			t.Errorf("edit %d: after %d probes, want %d", edit, s.probes-before, most)
		}
		s.aims(tableOfText(fmt.Sprintf("g: a=%d\n", edit+1) + bad))
	}
	s.until("the end", func() bool { return s.held == "g: 5\n"+found })
	s.until("nothing to be due", func() bool { return s.ledgers[rds].idle() })
}

// An edit that takes the bad routes away, or mends them, does not wait for the end of the search.
func TestAnEditThatMendsDoesNotWaitForASearch(t *testing.T) {
	bad, _ := badHost(2000)
	for _, mended := range []string{"h: ok=2", strings.ReplaceAll(bad, "~bad", "3")} {
		s := newSearched(t)
		s.serve(tableOfText("h: ok=0"))
		s.aims(tableOfText(bad))
		s.until("some probes", func() bool { return s.probes == 10 })
		e := tableOfText(mended)
		s.aims(e)
		s.until("the edit", func() bool { return s.held == tableText(e) })
		if s.probes > pauseAfter+2 {
			t.Errorf("after %d probes", s.probes)
		}
		s.until("nothing to be due", func() bool { return s.ledgers[rds].idle() })
	}
}

// A pause whose table is rejected, as another host has a bad edit, changes nothing of the search.
func TestAPauseMayBeRejected(t *testing.T) {
	bad, found := badHost(600)
	s := newSearched(t)
	s.serve(tableOfText("g: a=1\nh: ok=0"))
	s.aims(tableOfText("g: a=1\n" + bad))
	s.until("some probes", func() bool { return s.probes == 10 })
	s.aims(tableOfText("g: a=1 b=~bad c=1\n" + bad))
	s.until("the end", func() bool { return s.held == "g: 1 b 1\n"+found })
}

// An Envoy without a table serves the other hosts, too, and no host in the place of one that it lacks.
func TestAPauseOfAnEnvoyWithoutATable(t *testing.T) {
	bad, found := badHost(2000)
	bad, found = strings.Replace(bad, "h:", "h.x:", 1), strings.Replace(found, "h:", "h.x:", 1)
	s := newSearched(t)
	s.aims(tableOfText("*.x: a=1\ng: a=1\n" + bad))
	s.until("the other host", func() bool { return s.held == "g: 1" })
	s.until("the end", func() bool { return s.held == "*.x: 1\ng: 1\n"+found })
}
