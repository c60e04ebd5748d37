package delta

import (
	"iter"
	"maps"
	"slices"

	"github.com/gatefold/gatefold/translate/xds"
)

// Step is a part of work that may take long. A caller that guards the plan with a lock must hold the lock only
// while it calls Book, and can release the lock between two steps. Outside of Book, the work reads only data
// that no other goroutine changes.
type Step struct {
	// Book does the step. It is called once, before the next step is requested.
	Book func()
	// Tables are the names of the route tables whose subscription Book may change.
	Tables []string
}

// stepNames is how many names one step handles, so that a request with 200,000 names delays other streams by no
// more than one step.
const stepNames = 1000

// asking is one request for a resource type, in the form in which Subscribe applies it to the state of that type
// (ledger).
type asking struct {
	*ledger
	plan  *Plan
	first bool // the request is the first of its type
	// subscribe and unsubscribe do not contain Wildcard.
	subscribe, unsubscribe []string
	wildcard               bool              // the request subscribes to all names
	none                   bool              // the request ends the subscription to all names
	known                  map[string]string // the versions that the client has, by name
}

// Subscribe changes what the stream subscribes to, in steps. The first request of a type contains what the
// Envoy has from an earlier stream. An empty first request subscribes to all clusters or listeners (xDS
// protocol, "How the client specifies what resources to return"). The caller must do all steps; otherwise the
// plan is invalid, and the stream must end.
func (p *Plan) Subscribe(request *Request) iter.Seq[Step] {
	return func(yield func(Step) bool) {
		a := p.reads(request)
		had := a.ledger.wildcard
		begun := yield(Step{Book: func() {
			p.ledgers[a.typ] = a.ledger
			a.ledger.wildcard = had || a.wildcard
			if a.first && !a.wildcard {
				a.ledger.told = a.ledger.all() // nothing is requested yet
			}
		}})
		if !begun || !a.recall(yield) || !a.add(yield) || !a.remove(yield) || !a.resume(yield) {
			return
		}
		yield(Step{Book: func() {
			a.waits = a.waits || a.first && a.ledger.wildcard && len(a.known) == 0
			if a.ledger.wildcard && !had && !a.first {
				a.askRest()
			}
		}})
	}
}

// reads converts a request to an asking. If the request is the first one of its type, reads makes the ledger (the
// state of the type). It removes Wildcard from the request's lists of names, and records it in fields of the
// asking instead.
func (p *Plan) reads(request *Request) *asking {
	a := &asking{
		ledger: p.ledgers[request.GetTypeUrl()], plan: p, known: request.GetInitialResourceVersions(),
		subscribe: request.GetResourceNamesSubscribe(), unsubscribe: request.GetResourceNamesUnsubscribe(),
	}
	if a.ledger == nil {
		a.first, a.ledger = true, newLedger(p.stream, request.GetTypeUrl())
	}
	a.wildcard = a.first && len(a.subscribe) == 0 && listed(a.typ) || slices.Contains(a.subscribe, Wildcard)
	a.none = slices.Contains(a.unsubscribe, Wildcard)
	isWildcard := func(name string) bool { return name == Wildcard }
	a.subscribe = slices.Compact(slices.Sorted(slices.Values(slices.DeleteFunc(a.subscribe, isWildcard))))
	a.unsubscribe = slices.DeleteFunc(a.unsubscribe, isWildcard)
	return a
}

// recall sets a.known, which has the versions of the resources that the client already has. In the incremental
// protocol, the client reports these versions itself, and recall does nothing. In the state-of-the-world protocol,
// the client reports only one version for the whole type. If the target still has that version, recall sets a.known
// to the version of each requested name. Otherwise it makes a.known empty (see Plan.recall). recall returns false if
// yield returned false.
func (a *asking) recall(yield func(Step) bool) bool {
	if !a.plan.options.World {
		return true
	}
	version := a.known[wholeType]
	a.known = nil
	if version == "" {
		return true
	}
	named := a.inSteps(yield, a.subscribe, func(names []string) {
		a.want(names) // Plan.recall reads them
	})
	return named && yield(Step{Book: func() { a.known = a.plan.recall(a.ledger, version) }})
}

// inSteps splits names into groups of at most stepNames, and yields one Step for each group. When the caller does
// the Step, the function book gets the names of the group. If yield returns false, inSteps stops and returns false.
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

// add subscribes to the names in a.subscribe. It returns false if yield returned false.
func (a *asking) add(yield func(Step) bool) bool {
	return a.inSteps(yield, a.subscribe, func(names []string) {
		a.ledger.subscribe(names, a.known, a.first)
		a.plan.noteGone(a.ledger, names)
	})
}

// remove ends the subscription to the names in a.unsubscribe. If a.none is true, it also ends the subscription
// to all names. It returns false if yield returned false.
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

// endWildcard ends the subscription to all names. The stream forgets the state of each name to which the client
// does not subscribe by name. endWildcard returns false if yield returned false.
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

// resume records the resources that the Envoy has from an earlier stream. It does nothing unless the request is
// the first of its type. It returns false if yield returned false.
func (a *asking) resume(yield func(Step) bool) bool {
	if !a.first {
		return true
	}
	return a.inSteps(yield, slices.Sorted(maps.Keys(a.known)), func(names []string) {
		a.ledger.resume(names, a.known)
	})
}

// shared is a task of Share: the sets of a ledger, and those that take their place.
type shared struct {
	*ledger
	all, names, held, told entries
	before                 entries // told, when the task began
}

// Share reduces the memory that the plan uses for names, in steps: what the client subscribes to, what the Envoy has,
// and what it was told become sets that share with those of the target all but what differs (see entries.onto). That is
// done for each type of which nothing is due or unanswered. Until the last Step is done, nothing but its Book may change
// the first two of these sets.
func (p *Plan) Share() iter.Seq[Step] {
	return func(yield func(Step) bool) {
		var idle []*shared
		found := yield(Step{Book: func() {
			for _, l := range p.ledgers {
				all := l.all()
				if l.idle() && !(l.names.Same(all.Set) && l.held.Same(all.Set) && l.told.Same(all.Set)) {
					idle = append(idle, &shared{l, all, l.names, l.held, l.told, l.told})
				}
			}
		}})
		if !found || len(idle) == 0 {
			return
		}
		for _, s := range idle {
			s.names, s.held, s.told = s.names.onto(s.all, true), s.held.onto(s.all, false), s.told.sharing(s.all)
		}
		yield(Step{Book: func() {
			for _, s := range idle {
				s.ledger.names, s.ledger.held = s.names, s.held
				if s.ledger.told.Same(s.before.Set) { // else the target changed meanwhile
					s.ledger.told = s.told
				}
			}
		}})
	}
}
