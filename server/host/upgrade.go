package host

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/gatefold/gatefold/server/wholefile"
	"github.com/gatefold/gatefold/translate/xds"
)

// An Envoy that is to be started in another way, such as another version, is replaced by a new
// epoch of it: see docs/design/commands.md.

const (
	// readyTime is how long a new epoch may take until it serves.
	readyTime = time.Minute
	// readyLook is the time between two looks at whether it does.
	readyLook = 50 * time.Millisecond
	// validateTime bounds the validation of a bootstrap by Envoy.
	validateTime = 30 * time.Second
	// formerGrace is what the former epoch may take beyond the drain time to end by itself.
	formerGrace = 10 * time.Second
)

// replace replaces the serving Envoy. It leaves it unchanged if the new one cannot be run.
func (s *supervisor) replace(ctx context.Context) {
	old := s.serving
	if err := s.launch().validate(ctx, s.files); err != nil {
		if ctx.Err() == nil {
			s.keepServing(err)
		}
		return
	}
	if why := s.coldBecause(ctx, old); why != "" {
		s.log.Warn().Int("pid", old.pid).Str("because", why).
			Msg("Envoy is to be started in another way, and hot restart is not possible: it is drained and ended, and then replaced; meanwhile connections are refused")
		s.end(old)
		s.serving = nil
		return
	}
	silent := s.losesDatagrams(ctx)
	next, err := s.launchHot(ctx, old)
	if err != nil {
		s.keepServing(err)
		return
	}
	if silent {
		s.log.Warn().Int("pid", old.pid).Msgf("the Envoy that is replaced is older than 1.40: from when the new epoch serves, UDP routes of the Gateway are not served until the former one ends, "+
			"in %s; for the next such upgrade, restart gatefold with a shorter --envoy-drain", s.host.options.DrainTime)
	}
	s.log.Info().Int("pid", next.pid).Int("epoch", next.run.Epoch).Msg("Envoy is to be started in another way: a new epoch is started beside the one that serves")
	s.succeed(ctx, next)
}

// coldBecause returns why no new epoch can take over from an Envoy, "" if one can.
func (s *supervisor) coldBecause(ctx context.Context, old *process) string {
	if old.run.Base == 0 {
		return "it was started without hot restart"
	}
	shared, err := readBlock(old.run.Base)
	if err != nil {
		return "the memory that it shares with its successor is gone: " + err.Error()
	}
	if info, err := s.files.admin().info(ctx); err == nil && strings.HasSuffix(info.State, "INITIALIZING") {
		return "it does not serve yet"
	}
	version, err := s.host.options.Binary.hotRestartVersion(ctx)
	switch {
	case err != nil:
		return err.Error()
	case version != shared.version:
		return fmt.Sprintf("its hot restart version is %s, and that of the new Envoy is %s", shared.version, version)
	}
	return ""
}

// losesDatagrams reports whether the datagrams of the Gateway reach nobody while the Envoy that serves
// is the former epoch: before 1.40 it reads none then, and its successor begins when it has ended.
func (s *supervisor) losesDatagrams(ctx context.Context) bool {
	info, err := s.files.admin().info(ctx)
	if err != nil || !info.release().Before(xds.Release{Major: 1, Minor: 40}) {
		return false
	}
	return listensToDatagrams(s.ports())
}

// launchHot starts the epoch after that of a running process.
func (s *supervisor) launchHot(ctx context.Context, former *process) (*process, error) {
	if err := unblock(former.run.Base); err != nil {
		s.log.Warn().Err(err).Msg("the memory that Envoy shares with its successor cannot be read")
	}
	l := s.launch()
	return l.start(ctx, s.files, l.record(former.run.Base, former), s.log)
}

// succeed waits until the next epoch serves, and then makes it the serving one. If it does not
// serve in time, it is ended and the old one continues.
func (s *supervisor) succeed(ctx context.Context, next *process) {
	s.next = next
	err := s.ready(ctx, next)
	switch {
	case err == nil:
		s.next = nil
		s.log.Info().Int("pid", next.pid).Int("epoch", next.run.Epoch).Int("former", s.serving.pid).
			Msgf("the new epoch of Envoy serves; the former one takes no new connection, and ends in %s", s.host.options.DrainTime)
		s.handOver(next)
	case ctx.Err() == nil:
		s.next = nil
		if s.reclaim(next) {
			s.keepServing(err)
		}
	}
}

// ready waits until an epoch serves. The error is why it does not.
func (s *supervisor) ready(ctx context.Context, next *process) error {
	limit := time.NewTimer(readyTime)
	defer limit.Stop()
	look := time.NewTicker(readyLook)
	defer look.Stop()
	for !s.files.admin().serves(ctx, next.run.Epoch) {
		select {
		case <-next.ended():
			return errors.New(lastWords("the new Envoy "+next.fate(), next.lastLines()))
		case <-s.serving.ended():
			return errors.New("the former Envoy " + s.serving.fate() + " before the new one served")
		case <-limit.C:
			return fmt.Errorf("the new Envoy does not serve after %s", readyTime)
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
		}
	}
	return nil
}

// handOver makes next the serving Envoy. The previous one ends by itself.
func (s *supervisor) handOver(next *process) {
	s.depart(s.serving)
	s.serving = next
	s.set(Running, next, "")
}

// depart makes p the former epoch, because its successor has taken over its listeners.
func (s *supervisor) depart(p *process) {
	s.former, s.overdue = p, time.Now().Add(s.host.options.DrainTime+formerGrace)
	s.wait = 0 // if the successor ends, nothing listens until it is started again
}

// endFormer ends the former epoch, which should have ended by itself.
func (s *supervisor) endFormer() {
	s.log.Warn().Int("pid", s.former.pid).Msg("the former epoch of Envoy does not end by itself: it is ended")
	s.former.stop(s.host.options.Hurry)
}

// reclaim ends an epoch that does not serve, and reports whether the previous one continues. If the
// new epoch had already taken over its listeners, the next epoch is started at once.
func (s *supervisor) reclaim(next *process) bool {
	next.kill()
	switch {
	case s.serving.hasEnded():
		return false
	case s.listening():
		return true
	}
	s.log.Error().Int("pid", next.pid).Msg("a new epoch of Envoy ended after it had taken over: it is started again")
	s.depart(s.serving)
	s.serving = nil
	return false
}

// keepServing records why the serving Envoy is not replaced.
func (s *supervisor) keepServing(why error) {
	s.attempted = true
	message := "Envoy is not replaced: " + why.Error() + "; the previous one is still serving. Fix what is wrong and restart gatefold."
	s.log.Error().Int("pid", s.serving.pid).Msg(message)
	if err := s.serving.run.write(s.files.run); err != nil {
		s.log.Warn().Err(err).Msg("the run file of an Envoy cannot be written")
	}
	s.set(Running, s.serving, message)
}

// listening reports whether a process listens on the ports of the Gateway.
func (s *supervisor) listening() bool {
	ports := s.ports()
	return len(ports) == 0 || listens(ports)
}

// ports are those of the Gateway; none while it is not known.
func (s *supervisor) ports() []uint32 {
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	if infra := s.host.wanted[s.gateway]; infra != nil {
		return infra.Ports
	}
	return nil
}

// formerEnded returns a channel that is closed when the former epoch has ended, nil if there is
// none.
func (s *supervisor) formerEnded() <-chan struct{} {
	if s.former == nil {
		return nil
	}
	return s.former.ended()
}

// left records that the former epoch has ended.
func (s *supervisor) left() {
	s.log.Info().Int("pid", s.former.pid).Int("epoch", s.former.run.Epoch).Msg("the former epoch of Envoy has ended")
	s.former = nil
	if s.serving == nil {
		return
	}
	s.serving.run.Parent = nil
	if err := s.serving.run.write(s.files.run); err != nil {
		s.log.Warn().Err(err).Msg("the run file of an Envoy cannot be written")
	}
	s.set(Running, s.serving, "")
}

// validate makes the new Envoy check its bootstrap while the old one serves.
func (l launch) validate(ctx context.Context, f files) error {
	if l.err != nil {
		return l.err
	}
	if err := wholefile.Replace(f.bootstrap, l.bootstrap, 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, validateTime)
	defer cancel()
	// Not --config-path, by which the Envoys of the folder are known: see bootstrapOf.
	command := exec.CommandContext(ctx, l.binary, "-c", f.bootstrap, "--mode", "validate", "--disable-hot-restart", "--log-level", "error")
	command.Dir, command.Env = "/", environment()
	text, err := command.CombinedOutput()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		return errors.New(lastWords(fmt.Sprintf("%s does not accept its bootstrap: %v", l.binary, err), lines[max(0, len(lines)-keptLines):]))
	}
	return nil
}

// lastWords adds the last lines of an Envoy's log to a message about its end.
func lastWords(message string, lines []string) string {
	for i, line := range lines {
		lines[i] = line[:min(len(line), maxLine)]
	}
	if text := strings.TrimSpace(strings.Join(lines, " | ")); text != "" {
		message += "; its last words: " + text
	}
	return message
}
