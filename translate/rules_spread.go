package translate

import (
	"cmp"
	"fmt"
	"maps"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

// A match of a route stands once in the table of every host of every port that its
// route serves on: a few routes of 16 hostnames, attached to 64 listeners each,
// come to a million. What stands in tables beyond freeTables for each match of the
// folder is therefore bounded for all of them together; where it is more, the
// routes that are in the most tables serve nowhere, so that those of other people,
// who write as usual, stay. Nobody looks at this while the tables are few.

const (
	// freeTables are the tables that a route may always stand in: 16 hostnames,
	// as many as a route has, on two ports.
	freeTables = 32
	// maxCopies is the default of Options.MaxCopies.
	maxCopies = 50_000
)

// spreadOut is a route's share.
type spreadOut struct {
	Tables, Ports int32
	Matches       int32 // of the route
	Below         int32 // of the routes below it, on all its ports together
}

// weight is what stands in each of its tables.
func (s spreadOut) weight() int { return int(s.Matches + s.Below/max(1, s.Ports)) }

func (s spreadOut) copies() int { return int(s.Tables) * s.weight() }

// wide is a route in more than freeTables tables.
type wide struct {
	Route manifest.Key
	spreadOut
}

// compareWide puts those that are in few tables first.
func compareWide(a, b wide) int {
	return cmp.Or(cmp.Compare(a.Tables, b.Tables), manifest.CompareKeys(a.Route, b.Route))
}

// spreadTotal is what all routes come to. Wide are those that may be cut.
type spreadTotal struct {
	Copies, Weight int
	Wide           memo.Ordered[wide]
}

func sameTotal(a, b spreadTotal) bool {
	return a.Copies == b.Copies && a.Weight == b.Weight && a.Wide.Same(b.Wide)
}

// limit is what they may come to.
func (t spreadTotal) limit(most int) int { return most + freeTables*t.Weight }

type spreadIn struct {
	admitted *memo.Rule[manifest.Key, *attachOut]
	flat     *memo.Rule[flatKey, *flatOut]
	routes   *objects
	Options
}

// spreadRules bound how often matches stand in tables.
type spreadRules struct {
	in       spreadIn
	overload *memo.Rule[struct{}, map[manifest.Key]overload]
}

func newSpreadRules(e *memo.Engine, in spreadIn) *spreadRules {
	r := &spreadRules{in: in}
	type place = memo.Place[manifest.Key, flatKey]
	const ofRoute, ofPlaces = -1, -2 // in place of a node's port
	spread := memo.NewFold[manifest.Key, flatKey](e, "spread", addSpread, identical[spreadOut])
	memo.From(spread, in.routes, func(key manifest.Key, o *manifest.Object, yield func(place, spreadOut)) {
		yield(place{Key: key, ID: flatKey{Route: key, Port: ofRoute}}, spreadOut{Matches: int32(route.Matches(o))})
	}, identical)
	memo.From(spread, in.admitted, func(key manifest.Key, a *attachOut, yield func(place, spreadOut)) {
		if tables := a.tables(); tables > 0 {
			yield(place{Key: key, ID: flatKey{Route: key, Port: ofPlaces}}, spreadOut{Tables: int32(tables), Ports: int32(len(a.Ports))})
		}
	}, identical)
	memo.From(spread, in.flat, func(key flatKey, f *flatOut, yield func(place, spreadOut)) {
		if key.Via != "" {
			yield(place{Key: key.root(), ID: key}, spreadOut{Below: int32(len(f.Entries) + len(f.Points))})
		}
	}, identical)
	total := memo.NewFold[struct{}, manifest.Key](e, "total", addTotal, sameTotal)
	memo.From(total, spread, func(key manifest.Key, s spreadOut, yield func(memo.Place[struct{}, manifest.Key], spreadOut)) {
		if s.Tables > 0 {
			yield(memo.Place[struct{}, manifest.Key]{ID: key}, s)
		}
	}, identical)
	// Most folders never come near the bound: then no rule is told of their totals.
	loud := memo.NewFold[struct{}, struct{}](e, "loud", func(_ spreadTotal, members []memo.Member[struct{}, spreadTotal]) spreadTotal {
		return members[len(members)-1].New
	}, sameTotal)
	memo.From(loud, total, func(_ struct{}, all spreadTotal, yield func(memo.Place[struct{}, struct{}], spreadTotal)) {
		if all.Copies > in.MaxCopies {
			yield(memo.Place[struct{}, struct{}]{}, all)
		}
	}, sameTotal)
	r.overload = memo.NewRule(e, "overload", func(c *memo.Ctx, _ struct{}) map[manifest.Key]overload {
		all, _ := loud.Get(c, struct{}{})
		return all.cut(in.MaxCopies)
	}, maps.Equal[map[manifest.Key]overload])
	return r
}

func (r *spreadRules) report(all *problemFold) {
	problemsFrom(all, "overload", r.overload, overloadProblems)
}

// tables counts the tables that a route's places are in.
func (a *attachOut) tables() int {
	if a == nil {
		return 0
	}
	seen := map[tableKey]struct{}{}
	for _, parent := range a.Parents {
		for _, place := range parent.Places {
			seen[tableOf(parent.Gateway, place)] = struct{}{}
		}
	}
	return len(seen)
}

// addSpread is the step of one route's fold.
func addSpread(s spreadOut, members []memo.Member[flatKey, spreadOut]) spreadOut {
	for _, m := range members {
		s.Tables += m.New.Tables - m.Old.Tables
		s.Ports += m.New.Ports - m.Old.Ports
		s.Below += m.New.Below - m.Old.Below
		s.Matches += m.New.Matches - m.Old.Matches
	}
	return s
}

// addTotal is the step of the fold of all.
func addTotal(t spreadTotal, members []memo.Member[manifest.Key, spreadOut]) spreadTotal {
	if t.Wide.Len() == 0 {
		t.Wide = memo.NewOrdered(compareWide)
	}
	for _, m := range members {
		t.Copies += m.New.copies() - m.Old.copies()
		t.Weight += m.New.weight() - m.Old.weight()
		if m.Old.Tables > freeTables {
			t.Wide = t.Wide.Delete(wide{m.ID, m.Old})
		}
		if m.New.Tables > freeTables {
			t.Wide = t.Wide.Insert(wide{m.ID, m.New})
		}
	}
	return t
}

// overload is why a route serves nowhere.
type overload struct{ Tables, Copies, Limit int }

// cut gives the routes that do not fit. Those in at most freeTables always do, as
// the limit holds all of them.
func (t spreadTotal) cut(most int) map[manifest.Key]overload {
	limit := t.limit(most)
	if t.Copies <= limit {
		return nil
	}
	out, sum := map[manifest.Key]overload{}, t.Copies
	for s := range t.Wide.All() {
		sum -= s.copies()
	}
	for s := range t.Wide.All() { // sum is at first what the others come to
		if sum+s.copies() > limit {
			out[s.Route] = overload{int(s.Tables), s.copies(), limit}
			continue
		}
		sum += s.copies()
	}
	return out
}

func (o overload) String() string {
	return fmt.Sprintf("its matches and those of the routes below it would stand %d times in the tables of %d hosts and ports; all routes together may %d times", o.Copies, o.Tables, o.Limit)
}

// overloadProblems tells of the routes that serve nowhere.
func overloadProblems(cut map[manifest.Key]overload) []manifest.Problem {
	var problems []manifest.Problem
	for key, o := range cut {
		problems = append(problems, manifest.Problem{
			Code: "TooManyCopies", Severity: manifest.Error, Object: key, Field: "spec.parentRefs",
			Message: "the route serves nowhere: " + o.String(),
			Hint:    "name the listeners that it is for by sectionName, name fewer hostnames, or raise --max-copies",
		})
	}
	return problems
}

// where says where a route attaches, without its places when they are too many.
func (r *spreadRules) where(c *memo.Ctx, key manifest.Key) *attachOut {
	attach := r.in.admitted.Get(c, key)
	over, cut := r.overload.Get(c, struct{}{})[key]
	if !cut {
		return attach
	}
	out := *attach
	out.Parents = make([]parentOut, len(attach.Parents))
	for i, parent := range attach.Parents {
		if parent.Refused.Good() {
			parent.Attachment = listen.Attachment{
				Refused: manifest.Verdict[gwv1.RouteConditionReason]{Reason: gwv1.RouteReasonUnsupportedValue, Message: "TooManyCopies: " + over.String()},
			}
		}
		out.Parents[i] = parent
	}
	return &out
}
