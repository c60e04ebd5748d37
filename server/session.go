package server

import (
	"slices"
	"time"

	"github.com/gatefold/gatefold/server/connect"
	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/translate/xds"
)

// session is one stream together with the core of the server: its methods are what the stream's goroutine does
// with the server's state.
type session struct {
	*core
	stream *stream
}

// tellOld logs a warning if an Envoy is older than the version that gatefold is tested with. Such an Envoy is
// served. A route that it rejects answers 500 on this Envoy alone (see delta/search.go).
func (s session) tellOld() {
	st := s.stream
	if !st.old() {
		return
	}
	s.log.Warn().Str("node", st.node).Str("cluster", st.cluster).Str("envoy", st.version).
		Msgf("an Envoy is older than %s, which gatefold is tested with: it is served, and routes that it rejects answer 500 there", testedEnvoy())
}

// leave is called after the stream ended, and removes the stream from the server's state. If the Gateway has no
// status and no other stream, and never had a resource, leave also removes what the server stores for the Gateway.
func (s session) leave() {
	st := s.stream
	s.metrics.Disconnected(st.old())
	s.log.Info().Str("node", st.node).Str("cluster", st.cluster).Msg("Envoy disconnected")
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(st.scope.streams, st)
	s.holes.add(st, -1)
	st.scope.leaveStage(st, time.Now())
	s.staging.poke()
	st.ForgetTables()
	s.quarantine.take(st)
	if len(s.quarantine.parts) > 0 {
		s.quarantine.poke() // a part may have waited for the answer of this stream
	}
	s.verdicts.withdraw(st)
	s.release(st.client(), st.usage)
	if st.old() {
		s.verdicts.restate(st.scope)
	}
	s.verdicts.judgeTouched()
	if !s.board.Knows(st.scope.name) && !st.scope.Known() && len(st.scope.streams) == 0 && st.scope != s.union {
		delete(s.scopes, st.scope.name)
		s.verdicts.forget(st.scope.name)
	}
}

// handle applies one request to the stream: an answer, a change of the subscription, or both. If the requested
// resource type is not served, handle logs that, once for each stream. If the Gateway has nothing to serve
// yet, a request of the state-of-the-world protocol is stored for later (see timely). The error means that the
// client exceeds a limit.
func (s session) handle(request *delta.Request) error {
	st := s.stream
	if !slices.Contains(delta.Types(), request.GetTypeUrl()) {
		s.tellUnserved(request.GetTypeUrl())
		return s.overLimit(st, st.usage.spend(request, false, 0, time.Now()))
	}
	var answered *delta.Response
	early, over := false, error(nil)
	s.locked(func() {
		if early = st.ofWorld && !st.Known(); early {
			return
		}
		if answered = st.Answer(request); answered != nil {
			s.quarantine.heed(st, answered)
		}
		over = st.usage.spend(request, answered != nil, st.scope.Size(), time.Now())
	})
	if early {
		return s.overLimit(st, st.keep(request))
	}
	if over == nil {
		over = s.subscribe(request)
	}
	s.locked(func() { s.verdicts.update(st) })
	s.share()
	if answered != nil {
		s.tellAnswer(answered, request)
	}
	return s.overLimit(st, over)
}

// tellAnswer counts an Envoy's answer in the metrics. The parameter answered is the response, and request has the
// answer to it. If the answer is a rejection, tellAnswer also logs it.
func (s session) tellAnswer(answered *delta.Response, request *delta.Request) {
	nack := request.GetErrorDetail() != nil
	s.metrics.Answered(answered, nack)
	if nack {
		s.rejectLog().rejection(answered, request, s.keeps(answered))
	}
}

// rejectLog returns the log for what the Envoy of this stream rejects.
func (s session) rejectLog() rejectLog {
	return rejectLog{s.log.With().Str("node", s.stream.node).Str("cluster", s.stream.cluster).Logger(), s.stream.version}
}

// keeps reports whether an Envoy that rejected the response r still serves something of it: an earlier version of
// one of the resources in r, or a resource that r would remove.
func (s session) keeps(r *delta.Response) (keeps bool) {
	s.locked(func() {
		held := func(e *delta.Entry) bool {
			_, ok := s.stream.Held(r.Type, e.Name)
			return ok
		}
		keeps = len(r.Removed) > 0 || slices.ContainsFunc(r.Set, held)
	})
	return keeps
}

// tellUnserved adds the client to the list of refused clients, once for each stream, because it requests a resource
// type that is not served. The stream goes on.
func (s session) tellUnserved(typ string) {
	st := s.stream
	if st.unserved {
		return
	}
	st.unserved = true
	s.refuse("type", st, "it asks for the type "+cut(xds.ShortType(typ))+", which is not served")
}

// flush sends all responses that may be sent now. The result is how long the caller waits until the next call, if
// nothing happens meanwhile. The server's lock is never locked while flush sends. The error means that the stream
// failed or that the client exceeds a limit.
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
		case r == nil && st.Waiting():
			s.prepare()
			continue
		case r == nil && st.Tired():
			continue
		case r == nil:
			s.share()
			return wait, nil
		}
		f := connect.Frame{BufferSlice: st.Frame(r)}
		if err := wire.SendMsg(f); err != nil {
			return 0, err
		}
		s.metrics.Sent(r.Type, f.Len())
	}
}

// nextOf returns the next response to send on the stream (delta.Plan.Next). If there is no response to send now, r
// is nil, and wait is how long the caller waits until it calls nextOf again. There are two exceptions, in which the
// caller ignores wait and calls nextOf again at once. If delta.Plan.Waiting returns true, it calls prepare before.
// If delta.Plan.Tired returns true, it only calls nextOf.
func (s session) nextOf() (r *delta.Response, wait time.Duration) {
	st := s.stream
	s.locked(func() {
		now := time.Now()
		next, until := st.Next(now)
		s.quarantine.take(st)
		if next == nil && !st.Tired() {
			s.verdicts.update(st)
		}
		r, wait = next, waitFor(until, now)
	})
	return r, wait
}

// forgiveOne makes the stream send the resources again that its Envoy rejected, if a user requested this
// (quarantine.forgive). Otherwise it does nothing.
func (s session) forgiveOne() {
	st := s.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	if !st.forgiven {
		return
	}
	st.forgiven = false
	if st.Forgive() {
		st.setIdle(false)
		st.poke()
	}
	s.quarantine.take(st)
}

// prepare makes the waiting route tables ready to be sent (delta.Plan.Prepare): it decides which parts of each table
// are left out for this Envoy, for example the routes that this Envoy rejects. Most of the work is done without the
// lock. If prepare finds parts that the Envoy rejects or is too old for, it logs them.
func (s session) prepare() {
	var refused []*delta.RejectedPart
	for step := range s.stream.Prepare(s.quarantine.hints) {
		s.locked(func() {
			step.Book()
			refused = append(refused, s.quarantine.take(s.stream)...)
		})
	}
	if len(refused) > 0 {
		s.quarantine.poke()
		s.rejectLog().refused(refused)
	}
}

// share reduces the memory that a stream uses for resource names (delta.Plan.Share).
func (s session) share() {
	for step := range s.stream.Share() {
		s.locked(step.Book)
	}
}

// waitFor returns how long to wait from the time now to the time until: at least a millisecond. If until is zero,
// it returns an hour.
func waitFor(until, now time.Time) time.Duration {
	if until.IsZero() {
		return time.Hour
	}
	return max(until.Sub(now), time.Millisecond)
}
