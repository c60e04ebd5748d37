package host

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// errGone is the cause with which the context of a supervisor is cancelled. Either its Gateway was removed, or the
// limit Options.MaxEnvoys leaves no Envoy for its Gateway.
var errGone = errors.New("the Gateway is gone")

// These constants set how long a supervisor waits after a failure before it starts Envoy again:
//   - The first wait is firstWait. Each further wait is twice the previous wait, but at most longestWait.
//   - A hot restart sets the next wait to 0. The wait after it is firstWait.
//   - If an Envoy has run for 10 seconds (see steady) or longer when it ends, the next wait is firstWait again. This
//     rule does not apply while a former epoch still runs.
const (
	firstWait   = 100 * time.Millisecond
	longestWait = 30 * time.Second
	steady      = 10 * time.Second
)

// supervisor manages the Envoy of one Gateway.
type supervisor struct {
	host    *Host
	gateway string
	files   files
	log     zerolog.Logger
	cancel  context.CancelCauseFunc
	state   State
	wait    time.Duration
	base    int // the base id of the Envoys, or 0 without hot restart

	// serving is the Envoy that accepts new connections. It is nil while there is none.
	serving *process
	// former is the previous epoch, which still answers open requests. It ends by itself. If it still runs at
	// the time overdue, the supervisor ends it.
	former  *process
	overdue time.Time
	// next is the epoch after serving, while it starts. Otherwise it is nil.
	next *process
	// attempted is true if the supervisor tried to replace serving and failed. It does not try again while this
	// Envoy serves.
	attempted bool
}

// newSupervisor returns a supervisor for a Gateway. The parameter cancel ends the context that is passed to the
// supervisor's method run.
func newSupervisor(h *Host, gateway string, cancel context.CancelCauseFunc) *supervisor {
	return &supervisor{
		host: h, gateway: gateway, files: filesOf(h.options.Folder, gateway), cancel: cancel,
		log:   h.log.With().Str("gateway", gateway).Logger(),
		state: State{Gateway: gateway}, wait: firstWait,
	}
}

// run keeps an Envoy of the Gateway running until ctx ends. Then it calls finish: the cause of ctx decides
// whether the Envoy keeps running.
func (s *supervisor) run(ctx context.Context) {
	s.serving, s.former, s.next, s.attempted = nil, nil, nil, false
	s.adopt(ctx)
	for ctx.Err() == nil {
		switch {
		case s.serving == nil:
			s.start(ctx)
		case s.serving.hasEnded():
			s.lost(ctx)
		case s.former == nil && !s.attempted && s.serving.run.Mark != s.launch().mark:
			s.replace(ctx)
		default:
			s.watch(ctx)
		}
	}
	s.finish(ctx)
}

// watch waits until the Envoy s.serving ends, the Envoy s.former ends or is overdue, or ctx ends. If serving ended,
// watch calls the method lost. If former ended, watch calls the method left. If former is overdue, watch ends it.
func (s *supervisor) watch(ctx context.Context) {
	var overdue <-chan time.Time
	if s.former != nil {
		overdue = time.After(time.Until(s.overdue))
	}
	select {
	case <-s.serving.ended():
		s.lost(ctx)
	case <-s.formerEnded():
		s.left()
	case <-overdue:
		s.endFormer()
	case <-ctx.Done():
	}
}

// lost records that the serving Envoy has ended: s.serving becomes nil. Then lost waits until the next start is
// due, or until ctx ends.
func (s *supervisor) lost(ctx context.Context) {
	s.failed(s.serving)
	s.serving = nil
	sleep(ctx, s.backoff())
}

// finish ends the Envoys of the Gateway and removes their files. If the cause of ctx is ErrKeep, it changes
// nothing: the next gatefold adopts the Envoys.
func (s *supervisor) finish(ctx context.Context) {
	if errors.Is(context.Cause(ctx), ErrKeep) {
		for _, p := range []*process{s.serving, s.former, s.next} {
			if p != nil {
				s.log.Info().Int("pid", p.pid).Msg("Envoy keeps running, for the next gatefold to adopt")
			}
		}
		return
	}
	if s.next != nil {
		s.next.kill()
	}
	if s.serving != nil {
		s.end(s.serving)
	}
	if s.former != nil {
		s.former.stop(s.host.options.Hurry)
	}
	release(s.host.options.Folder, s.base)
	s.files.remove()
	s.host.forget(s.gateway)
}

// set reports the state of the Gateway's Envoy to the Host. The parameter p is the Envoy's process, or nil if
// none runs.
func (s *supervisor) set(phase Phase, p *process, message string) {
	s.state.Phase, s.state.Message, s.state.Outdated = phase, message, s.attempted
	s.state.Pid, s.state.Started, s.state.Epoch, s.state.Former = 0, time.Time{}, 0, 0
	if p != nil {
		s.state.Pid, s.state.Started, s.state.Adopted, s.state.Epoch = p.pid, p.run.Since, p.adopted, p.run.Epoch
	}
	if s.former != nil {
		s.state.Former = s.former.pid
	}
	s.host.setState(s.state)
}

// start starts an Envoy and makes it the serving one. It tries again until it succeeds or ctx ends.
func (s *supervisor) start(ctx context.Context) {
	for ctx.Err() == nil {
		p, err := s.begin(ctx)
		if err == nil {
			s.log.Info().Int("pid", p.pid).Int("epoch", p.run.Epoch).Msg("Envoy started")
			s.serving, s.attempted = p, false
			s.set(Running, p, "")
			return
		}
		message := "Envoy cannot be started: " + err.Error()
		s.log.Error().Msg(message)
		s.set(Waiting, nil, message)
		sleep(ctx, s.backoff())
	}
}

// begin starts an Envoy while none serves. If a former epoch still runs, the new Envoy gets the next epoch
// number. Otherwise the new Envoy has epoch 0, and if reserve returns an error, it runs without hot restart. The
// error of begin means that the Envoy cannot be started.
func (s *supervisor) begin(ctx context.Context) (*process, error) {
	if s.former != nil && time.Now().After(s.overdue) {
		s.endFormer()
	}
	if s.former != nil && s.former.hasEnded() {
		s.left()
	}
	if s.former != nil {
		return s.launchHot(ctx, s.former)
	}
	release(s.host.options.Folder, s.base)
	base, err := s.reserve()
	if err != nil {
		s.log.Warn().Err(err).Msg("Envoy is started without hot restart: an upgrade of Envoy will refuse connections until open requests are answered")
	}
	s.base = base
	l := s.launch()
	return l.start(ctx, s.files, l.record(base, nil), s.log)
}

// reserve returns a base id for an Envoy. The error is the reason why the Envoy must start without hot restart.
func (s *supervisor) reserve() (int, error) {
	if err := s.host.hotRestart(); err != nil {
		return 0, err
	}
	return reserve()
}

// failed records that an Envoy ended unexpectedly and that it will be started again. It logs the last lines of
// the Envoy's log.
func (s *supervisor) failed(p *process) {
	if time.Since(p.run.Since) >= steady && s.former == nil {
		s.wait = firstWait
	}
	message := "Envoy " + p.exitText()
	last := p.lastLines()
	s.log.Error().Int("pid", p.pid).Strs("last", last).Msg(message + "; it is started again")
	message = lastWords(message, last)
	if strings.Contains(message, stillInitializing) {
		s.overdue = time.Now() // no Envoy starts while the former epoch runs
	}
	s.state.Restarts++
	s.set(Waiting, nil, message)
}

// backoff returns how long to wait before the next start of Envoy. The next call returns twice the time, but at
// least firstWait and at most longestWait.
func (s *supervisor) backoff() time.Duration {
	wait := s.wait
	s.wait = min(max(2*s.wait, firstWait), longestWait)
	return wait
}

// end drains an Envoy and ends it. The Envoy refuses new connections, and open requests have Options.DrainTime
// to end. If Options.Hurry is closed, end does not wait for open requests.
func (s *supervisor) end(p *process) {
	s.set(Draining, p, "")
	ctx, cancel := context.WithTimeout(context.Background(), s.host.options.DrainTime)
	defer cancel()
	go func() {
		select {
		case <-p.ended():
			cancel()
		case <-s.host.options.Hurry:
			cancel()
		case <-ctx.Done():
		}
	}()
	calm := calmLooks
	if s.former != nil {
		calm = mergedLooks
	}
	left, err := s.files.admin().drain(ctx, calm)
	switch {
	case s.host.hurried():
		s.log.Warn().Int("requests", left).Msg("a second signal ends Envoy at once; open requests are cut off")
	case err != nil:
		s.log.Warn().Err(err).Msg("Envoy cannot be drained")
	case left > 0:
		s.log.Warn().Int("requests", left).Msg("the time to drain is up; open requests are cut off")
	}
	p.stop(s.host.options.Hurry)
	s.log.Info().Int("pid", p.pid).Msg("Envoy " + p.exitText())
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// launch returns how the Envoy of this Gateway is started with the current options.
func (s *supervisor) launch() launch {
	return newLaunch(s.host.options, s.gateway, s.files)
}
