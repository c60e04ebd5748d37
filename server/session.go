package server

import (
	"slices"
	"time"

	"github.com/gatefold/gatefold/translate/xds"
)

// leave ends what the server knows of a stream.
func (s session) leave() {
	st := s.stream
	s.metrics.streams.Dec()
	if testedEnvoy().after(st.version) {
		s.metrics.old.Dec()
	}
	s.log.Info().Str("node", st.node).Str("cluster", st.cluster).Msg("Envoy disconnected")
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(st.scope.streams, st)
	for name := range st.tables {
		st.forgetTable(name)
	}
	s.quarantine.acquit(st)
	if len(s.quarantine.parts) > 0 {
		s.quarantine.poke() // nobody waits for its answer
	}
	s.verdicts.withdraw(st)
	s.release(st)
	if testedEnvoy().after(st.version) {
		s.verdicts.restate(st.scope)
	}
	s.verdicts.judgeTouched()
	if !s.board.Knows(st.scope.name) && !st.scope.known && len(st.scope.streams) == 0 && st.scope != s.union {
		delete(s.scopes, st.scope.name)
		s.verdicts.forget(st.scope.name)
	}
}

// handle books one request: an answer, a change of what is asked for, or both. The error
// says that the client is over a limit.
func (s session) handle(request *deltaRequest) error {
	st := s.stream
	if !slices.Contains(servedTypes(), request.GetTypeUrl()) {
		s.warnUnserved(request.GetTypeUrl())
		return s.refused.overLimit(st, st.usage.spend(request, false, 0, time.Now()))
	}
	var answered *response
	early, over := false, error(nil)
	s.locked(func() {
		if early = st.world != nil && !st.scope.known; early {
			return
		}
		if answered = st.answer(request); answered != nil {
			s.quarantine.heed(st, answered)
		}
		over = st.usage.spend(request, answered != nil, st.scope.size(), time.Now())
	})
	if early {
		return s.refused.overLimit(st, st.keep(request))
	}
	nack := request.GetErrorDetail() != nil
	st.took(answered, nack)
	if over == nil {
		over = s.subscribe(request)
	}
	s.locked(func() { s.verdicts.settle(st) })
	s.compact()
	if answered != nil {
		s.tellAnswer(answered, nack, request)
	}
	return s.refused.overLimit(st, over)
}

// tellAnswer counts and logs an answer.
func (s session) tellAnswer(answered *response, nack bool, request *deltaRequest) {
	s.metrics.answered(answered, nack)
	if nack {
		s.logRejection(answered, request)
	}
}

// warnUnserved tells once of a stream that it asks in vain.
func (s session) warnUnserved(typ string) {
	st := s.stream
	if st.unserved {
		return
	}
	st.unserved = true
	s.log.Warn().Str("node", st.node).Str("type", xds.ShortType(typ)).Msg("an Envoy asks for a type that is not served")
}

// flush sends all that may be sent now and gives the time until there may be
// more. The lock is never held while sending.
func (s session) flush(wire interface{ SendMsg(any) error }) (time.Duration, error) {
	st := s.stream
	for _, request := range s.timely() {
		if err := s.handle(request); err != nil {
			return 0, err
		}
	}
	s.forgiveOne()
	for {
		r, wait := s.nextOf()
		switch {
		case r == nil && len(st.waiting) > 0:
			s.prepare()
			continue
		case r == nil && st.tired:
			continue
		case r == nil:
			s.compact()
			return wait, nil
		}
		f := r.frame()
		if st.world != nil {
			st.world.states(r)
			f = r.worldFrame()
		}
		if err := wire.SendMsg(f); err != nil {
			return 0, err
		}
		s.metrics.sent(r.typ, f.buffers.Len())
	}
}

// nextOf returns the next response of a stream, or nil and the time until there may be one.
func (s session) nextOf() (r *response, wait time.Duration) {
	st := s.stream
	s.locked(func() {
		now := time.Now()
		next, until := st.next(now)
		s.quarantine.acquit(st)
		if next == nil && !st.tired {
			s.verdicts.settle(st)
		}
		r, wait = next, waitFor(until, now)
	})
	return r, wait
}

// forgiveOne forgets what a stream rejected, if it was forgiven.
func (s session) forgiveOne() {
	st := s.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	if !st.forgiven {
		return
	}
	st.forgiven = false
	for name, t := range st.tables {
		if t.hopeless == "" && len(t.refused) == 0 {
			continue
		}
		st.forgetTable(name)
		st.tables[name] = &tableState{accepted: t.accepted, refused: map[xds.Part]*refusedPart{}}
		if l := st.ledgers[xds.RouteType]; l != nil {
			l.rejected.remove(name)
			st.mark(xds.RouteType, name)
		}
	}
	s.quarantine.acquit(st)
}
