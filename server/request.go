package server

import (
	"maps"
	"slices"

	"github.com/gatefold/gatefold/translate/xds"
)

// asking is what one request asks for.
type asking struct {
	*ledger
	first bool // of its type
	// subscribe and unsubscribe have no wildcard: wildcard and none tell of that.
	subscribe, unsubscribe []string
	wildcard, none         bool
	told                   map[string]string // the versions that the client holds
}

// subscribe changes what the stream asks for, and counts the tables among it. The first
// request of a type tells what the Envoy holds from a stream before, and an empty one asks
// for all clusters or listeners (xDS protocol, "How the client specifies what
// resources to return"). The error says that the client is over a limit.
func (s session) subscribe(request *deltaRequest) error {
	st := s.stream
	a := st.reads(request)
	had := a.ledger.wildcard
	s.locked(func() {
		st.ledgers[a.typ] = a.ledger
		a.ledger.wildcard = had || a.wildcard
	})
	s.recallAll(a)
	err := s.inSteps(a.subscribe, func(names []string) error {
		names = st.scope.intern(a.typ, names)
		s.countTables(a, names, func() { a.ledger.subscribe(names, a.told, a.first) })
		a.know(names, st.scope)
		return s.countStrangers(st)
	})
	if err != nil {
		return err
	}
	s.unsubscribe(a)
	if err := s.resume(a); err != nil {
		return err
	}
	s.locked(func() {
		a.waits = a.waits || a.first && a.ledger.wildcard && len(a.told) == 0
		if a.ledger.wildcard && !had {
			a.markWanted(st.scope)
		}
		if a.typ == xds.RouteType && a.ledger.wildcard != had {
			s.verdicts.recount(st)
		}
	})
	return nil
}

// reads takes a request apart.
func (st *stream) reads(request *deltaRequest) *asking {
	a := &asking{
		ledger: st.ledgers[request.GetTypeUrl()], told: request.GetInitialResourceVersions(),
		subscribe: request.GetResourceNamesSubscribe(), unsubscribe: request.GetResourceNamesUnsubscribe(),
	}
	if a.ledger == nil {
		a.first, a.ledger = true, newLedger(request.GetTypeUrl())
	}
	a.wildcard = a.first && len(a.subscribe) == 0 && listed(a.typ) || slices.Contains(a.subscribe, wildcard)
	a.none = slices.Contains(a.unsubscribe, wildcard)
	isWildcard := func(name string) bool { return name == wildcard }
	a.subscribe = slices.DeleteFunc(a.subscribe, isWildcard)
	a.unsubscribe = slices.DeleteFunc(a.unsubscribe, isWildcard)
	return a
}

// recallAll replaces what a client of the state-of-the-world protocol told, a version for
// the whole type, by the versions of what it asks for.
func (s session) recallAll(a *asking) {
	if s.stream.world == nil {
		return
	}
	version := a.told[wholeType]
	a.told = nil
	if version == "" {
		return
	}
	_ = s.inSteps(a.subscribe, func(names []string) error {
		for _, name := range names {
			a.names.set(name, "") // recall reads them
		}
		return nil
	})
	s.locked(func() { a.told = s.stream.recall(a.ledger, version) })
}

// unsubscribe forgets what the client forgets.
func (s session) unsubscribe(a *asking) {
	st := s.stream
	_ = s.inSteps(a.unsubscribe, func(names []string) error {
		s.countTables(a, names, func() { a.ledger.unsubscribe(names) })
		if a.typ == xds.RouteType {
			for _, name := range names {
				st.forgetTable(name)
			}
			s.quarantine.acquit(st)
		}
		_ = s.countStrangers(st) // there are not more of them
		return nil
	})
	if !a.none {
		return
	}
	var touched []string
	s.locked(func() {
		a.ledger.wildcard = false
		touched = slices.Collect(maps.Keys(a.rejected.of))
	})
	_ = s.inSteps(slices.AppendSeq(touched, a.touched), func(names []string) error {
		for _, name := range names {
			a.forgetUnwanted(name)
		}
		_ = s.countStrangers(st)
		return nil
	})
}

// resume takes over what the Envoy holds from a stream before.
func (s session) resume(a *asking) error {
	if !a.first {
		return nil
	}
	return s.inSteps(slices.Sorted(maps.Keys(a.told)), func(names []string) error {
		a.ledger.resume(names, a.told, s.stream.scope)
		return s.countStrangers(s.stream)
	})
}

// countTables runs change, which is about these names, and counts the tables that the
// stream asks for since, or no longer.
func (s session) countTables(a *asking, names []string, change func()) {
	st := s.stream
	if a.typ != xds.RouteType {
		change()
		return
	}
	before := make(map[string]bool, len(names))
	for _, name := range names {
		before[name] = st.asks(name)
	}
	change()
	for name, asked := range before {
		for _, owner := range st.scope.target[a.typ][name] {
			s.verdicts.lack(st, s.scopes[owner.gateway], int(number(asked)-number(st.asks(name))))
		}
	}
}

// laying is an overlay that is to be laid on another roll; nil folds its lists.
type laying struct {
	overlay *overlay
	on      *roll
}

// compact makes smaller what a stream keeps of names. It costs what the stream holds, once
// for each doubling, and reads that without the lock: only the stream's own goroutine, which
// calls it, changes it.
func (s session) compact() {
	var todo []laying
	s.locked(func() {
		for _, l := range s.stream.ledgers {
			todo = append(todo, l.layings(s.stream.scope)...)
		}
	})
	if len(todo) == 0 {
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
	s.locked(func() {
		for i, t := range todo {
			*t.overlay = made[i]
		}
	})
}

// layings returns what of a ledger is to be made smaller now.
func (l *ledger) layings(c *scope) (todo []laying) {
	long := len(l.held.runs) > maxRuns
	if !long && !l.idle() {
		return nil
	}
	for _, o := range []*overlay{&l.names, &l.held} {
		if on := o.due(c, l.typ); on != nil || len(o.runs) > maxRuns {
			todo = append(todo, laying{o, on})
		}
	}
	return todo
}
