package delta

import (
	"iter"
	"maps"
	"slices"

	"github.com/gatefold/gatefold/translate/xds"
)

// Step is a part of work that may take long. Between two steps, the work reads only data that the
// stream's own goroutine changes. So a caller that protects its state with a lock takes the lock
// for each Book, and others can have it between two steps.
type Step struct {
	// Book does the step. It is called once, before the next step is asked for.
	Book func()
	// Tables are the names of the route tables that Book may begin or end to ask for.
	Tables []string
}

// stepNames is how many names are booked in one step, so that a request of 200,000 names delays
// nobody by more than a step.
const stepNames = 1000

// asking is the content of one request.
type asking struct {
	*ledger
	plan  *Plan
	first bool // of its type
	// subscribe and unsubscribe have no wildcard: wildcard and none tell of that.
	subscribe, unsubscribe []string
	wildcard, none         bool
	told                   map[string]string // the versions that the client holds
}

// Subscribe changes what the stream asks for, in steps. The first request of a type contains what
// the Envoy has from an earlier stream. An empty first request asks for all clusters or listeners
// (xDS protocol, "How the client specifies what resources to return"). If not all steps are booked,
// the plan is unusable and the stream must end.
func (p *Plan) Subscribe(request *Request) iter.Seq[Step] {
	return func(yield func(Step) bool) {
		a := p.reads(request)
		had := a.ledger.wildcard
		begun := yield(Step{Book: func() {
			p.ledgers[a.typ] = a.ledger
			a.ledger.wildcard = had || a.wildcard
		}})
		if !begun || !a.recall(yield) || !a.add(yield) || !a.remove(yield) || !a.resume(yield) {
			return
		}
		yield(Step{Book: func() {
			a.waits = a.waits || a.first && a.ledger.wildcard && len(a.told) == 0
			if a.ledger.wildcard && !had {
				a.markWanted(p.target)
			}
		}})
	}
}

// reads splits a request into its parts.
func (p *Plan) reads(request *Request) *asking {
	a := &asking{
		ledger: p.ledgers[request.GetTypeUrl()], plan: p, told: request.GetInitialResourceVersions(),
		subscribe: request.GetResourceNamesSubscribe(), unsubscribe: request.GetResourceNamesUnsubscribe(),
	}
	if a.ledger == nil {
		a.first, a.ledger = true, newLedger(request.GetTypeUrl())
	}
	a.wildcard = a.first && len(a.subscribe) == 0 && listed(a.typ) || slices.Contains(a.subscribe, Wildcard)
	a.none = slices.Contains(a.unsubscribe, Wildcard)
	isWildcard := func(name string) bool { return name == Wildcard }
	a.subscribe = slices.DeleteFunc(a.subscribe, isWildcard)
	a.unsubscribe = slices.DeleteFunc(a.unsubscribe, isWildcard)
	return a
}

// recall replaces the version of a whole type, which a client of the state-of-the-world protocol
// sends, by the versions of the names that it asks for.
func (a *asking) recall(yield func(Step) bool) bool {
	if a.plan.world == nil {
		return true
	}
	version := a.told[wholeType]
	a.told = nil
	if version == "" {
		return true
	}
	named := a.inSteps(yield, a.subscribe, func(names []string) {
		for _, name := range names {
			a.names.set(name, "") // Plan.recall reads them
		}
	})
	return named && yield(Step{Book: func() { a.told = a.plan.recall(a.ledger, version) }})
}

// inSteps yields steps that call book for parts of names. It returns false if the caller stopped.
func (a *asking) inSteps(yield func(Step) bool, names []string, book func([]string)) bool {
	for part := range slices.Chunk(names, stepNames) {
		step := Step{Book: func() { book(part) }}
		if a.typ == xds.RouteType {
			step.Tables = part
		}
		if !yield(step) {
			return false
		}
	}
	return true
}

// add subscribes to names.
func (a *asking) add(yield func(Step) bool) bool {
	return a.inSteps(yield, a.subscribe, func(names []string) {
		names = a.plan.target.intern(a.typ, names)
		a.ledger.subscribe(names, a.told, a.first)
		a.know(names, a.plan.target)
	})
}

// remove removes the names that the client unsubscribes from.
func (a *asking) remove(yield func(Step) bool) bool {
	removed := a.inSteps(yield, a.unsubscribe, func(names []string) {
		a.ledger.unsubscribe(names)
		if a.typ != xds.RouteType {
			return
		}
		for _, name := range names {
			a.plan.forgetTable(name)
		}
	})
	return removed && (!a.none || a.endWildcard(yield))
}

// endWildcard ends the subscription to all names.
func (a *asking) endWildcard(yield func(Step) bool) bool {
	var touched []string
	ended := yield(Step{Book: func() {
		a.ledger.wildcard = false
		touched = slices.Collect(maps.Keys(a.rejected.of))
	}})
	if !ended {
		return false
	}
	return a.inSteps(yield, slices.AppendSeq(touched, a.touched), func(names []string) {
		for _, name := range names {
			a.forgetUnwanted(name)
		}
	})
}

// resume notes what the Envoy has from an earlier stream.
func (a *asking) resume(yield func(Step) bool) bool {
	if !a.first {
		return true
	}
	return a.inSteps(yield, slices.Sorted(maps.Keys(a.told)), func(names []string) {
		a.ledger.resume(names, a.told, a.plan.target)
	})
}

// laying is an overlay that should be rebased on another roll. A nil roll only merges its lists.
type laying struct {
	overlay *overlay
	on      *roll
}

// Compact reduces the memory for names, in steps. It reads everything that the stream has, once for
// each doubling, between two steps.
func (p *Plan) Compact() iter.Seq[Step] {
	return func(yield func(Step) bool) {
		var todo []laying
		found := yield(Step{Book: func() {
			for _, l := range p.ledgers {
				todo = append(todo, l.layings(p.target)...)
			}
		}})
		if !found || len(todo) == 0 {
			return
		}
		made := make([]overlay, len(todo))
		for i, t := range todo {
			if t.on == nil {
				made[i] = t.overlay.folded()
			} else {
				made[i] = t.overlay.onto(t.on)
			}
		}
		yield(Step{Book: func() {
			for i, t := range todo {
				*t.overlay = made[i]
			}
		}})
	}
}

// layings returns the overlays of a ledger that should be reduced now.
func (l *ledger) layings(t *Target) (todo []laying) {
	long := len(l.held.runs) > maxRuns
	if !long && !l.idle() {
		return nil
	}
	for _, o := range []*overlay{&l.names, &l.held} {
		if on := o.due(t, l.typ); on != nil || len(o.runs) > maxRuns {
			todo = append(todo, laying{o, on})
		}
	}
	return todo
}
