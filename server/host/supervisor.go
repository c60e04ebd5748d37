package host

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// errGone ends a supervisor whose Gateway is gone.
var errGone = errors.New("the Gateway is gone")

// The waits before an Envoy is started again: the first, doubled with each failure up to
// the longest. One that ran for as long as steady begins anew.
const (
	firstWait   = 100 * time.Millisecond
	longestWait = 30 * time.Second
	steady      = 10 * time.Second
)

// supervisor looks after the Envoy of one Gateway.
type supervisor struct {
	host    *Host
	gateway string
	files   files
	log     zerolog.Logger
	cancel  context.CancelCauseFunc
	state   State
	wait    time.Duration
}

func newSupervisor(h *Host, gateway string, cancel context.CancelCauseFunc) *supervisor {
	return &supervisor{
		host: h, gateway: gateway, files: filesOf(h.options.Folder, gateway), cancel: cancel,
		log:   h.log.With().Str("gateway", gateway).Logger(),
		state: State{Gateway: gateway}, wait: firstWait,
	}
}

// run keeps an Envoy running until ctx ends. What the end means, its cause says.
func (s *supervisor) run(ctx context.Context) {
	p := s.adopt(ctx)
	if p != nil && ctx.Err() == nil && p.mark != s.launch().mark {
		s.log.Warn().Int("pid", p.pid).Msg("Envoy was started with another version or bootstrap: it is drained, and then replaced")
		s.end(p)
		p = nil
	}
	for ctx.Err() == nil {
		if p == nil {
			if p = s.start(ctx); p == nil {
				break
			}
		}
		select {
		case <-p.ended():
			s.failed(p)
			p = nil
			sleep(ctx, s.backoff())
		case <-ctx.Done():
		}
	}
	if errors.Is(context.Cause(ctx), ErrKeep) {
		if p != nil {
			s.log.Info().Int("pid", p.pid).Msg("Envoy keeps running, for the next gatefold to adopt")
		}
		return
	}
	if p != nil {
		s.end(p)
	}
	s.files.remove()
	s.host.forget(s.gateway)
}

// set tells a new state.
func (s *supervisor) set(phase Phase, p *process, message string) {
	s.state.Phase, s.state.Message, s.state.Pid, s.state.Started = phase, message, 0, time.Time{}
	if p != nil {
		s.state.Pid, s.state.Started, s.state.Adopted = p.pid, p.since, p.adopted
	}
	s.host.tell(s.state)
}

// adopt takes over the Envoy that an earlier gatefold left; nil when there is none.
func (s *supervisor) adopt(ctx context.Context) *process {
	run, err := readRun(s.files.run)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.log.Warn().Err(err).Msg("the run file of an Envoy cannot be used")
	}
	p, why := recognize(run, s.files)
	if err == nil && why != "" {
		s.log.Info().Int("pid", run.Pid).Str("because", why).Msg("the run file leads to no Envoy")
	}
	p = s.orphan(run, p)
	if p == nil {
		return nil
	}
	p.follow(ctx, s.files, s.log)
	s.log.Info().Int("pid", p.pid).Msg("Envoy adopted")
	s.set(Running, p, "")
	return p
}

// orphan looks for Envoys of this Gateway that the run file does not name: an earlier
// gatefold ended between their start and the run file, or the file was lost. Without p, which
// the run file names, the first of them is adopted. The others are ended: they would hold
// the ports.
func (s *supervisor) orphan(r run, p *process) *process {
	looked := false
	for _, pid := range orphans(s.host.options.Folder)[s.files.bootstrap] {
		if p != nil && pid == p.pid {
			continue
		}
		r.Gateway, r.Boot = s.gateway, cmp.Or(r.Boot, bootID())
		if err := r.of(pid, s.files); err != nil {
			continue // it has ended
		}
		looked = true
		written, err := readRun(s.files.run)
		if err != nil {
			continue
		}
		found, why := recognize(written, s.files)
		switch {
		case why != "":
			s.log.Info().Int("pid", pid).Str("because", why).Msg("no Envoy to adopt")
		case p == nil:
			s.log.Warn().Int("pid", pid).Msg("an Envoy without a run file is found")
			p = found
		default:
			s.log.Warn().Int("pid", pid).Msg("a second Envoy of the Gateway is ended")
			found.follow(context.Background(), s.files, s.log)
			found.stop(s.host.options.Hurry)
		}
	}
	if p != nil && looked {
		_ = r.of(p.pid, s.files) // without it, the next gatefold looks again
	}
	return p
}

// start starts an Envoy, trying until it succeeds; nil when ctx ended before.
func (s *supervisor) start(ctx context.Context) *process {
	for {
		p, err := s.launch().start(ctx, s.files, s.log)
		if err == nil {
			s.log.Info().Int("pid", p.pid).Msg("Envoy started")
			s.set(Running, p, "")
			return p
		}
		message := "Envoy cannot be started: " + err.Error()
		s.log.Error().Msg(message)
		s.set(Waiting, nil, message)
		if sleep(ctx, s.backoff()); ctx.Err() != nil {
			return nil
		}
	}
}

// failed books an Envoy that ended though it should not have.
func (s *supervisor) failed(p *process) {
	if time.Since(p.since) >= steady {
		s.wait = firstWait
	}
	message := "Envoy " + p.fate()
	last := p.lastLines()
	s.log.Error().Int("pid", p.pid).Strs("last", last).Msg(message + "; it is started again")
	if len(last) > 0 {
		message += "; its last words: " + strings.Join(last, " | ")
	}
	s.state.Restarts++
	s.set(Waiting, nil, message)
}

// backoff returns the wait before the next start.
func (s *supervisor) backoff() time.Duration {
	wait := s.wait
	s.wait = min(2*s.wait, longestWait)
	return wait
}

// end drains an Envoy and ends it: new connections are refused, requests under way have
// the drain time.
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
	left, err := s.files.admin().drain(ctx)
	switch {
	case s.host.hurried():
		s.log.Warn().Int("requests", left).Msg("a second signal ends Envoy at once; open requests are cut off")
	case err != nil:
		s.log.Warn().Err(err).Msg("Envoy cannot be drained")
	case left > 0:
		s.log.Warn().Int("requests", left).Msg("the time to drain is up; open requests are cut off")
	}
	p.stop(s.host.options.Hurry)
	s.log.Info().Int("pid", p.pid).Msg("Envoy " + p.fate())
}

// sleep waits, but not beyond the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// launch is how the Envoy of this Gateway is to be started.
func (s *supervisor) launch() launch {
	return newLaunch(s.host.options, s.gateway, s.files)
}
