package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/gatefold/gatefold/server/wholefile"
	"github.com/gatefold/gatefold/translate/xds"
)

// When an Envoy must be started in another way, for example with another version, a new epoch of it replaces
// it. See docs/design/commands.md.

const (
	// readyTime is how long a new epoch may need until it serves.
	readyTime = time.Minute
	// readyLook is the time between two checks whether a new epoch serves.
	readyLook = 50 * time.Millisecond
	// validateTime limits how long Envoy may need to validate a bootstrap.
	validateTime = 30 * time.Second
	// formerGrace is how much longer than the drain time the former epoch may run before it is ended.
	formerGrace = 10 * time.Second
)

// replace replaces the serving Envoy by a new epoch, except in these cases:
//   - If the serving Envoy ends while the new bootstrap is checked, replace returns, and the method run starts an
//     Envoy.
//   - If the check of the bootstrap fails (see validate), the serving Envoy continues.
//   - If hot restart is not possible (see coldBecause), replace drains and ends the serving Envoy, and s.serving
//     becomes nil.
//   - If the new Envoy cannot be started, the serving Envoy continues.
//   - If the new Envoy starts but does not serve, the serving Envoy continues if it still can (see reclaim).
func (s *supervisor) replace(ctx context.Context) {
	old := s.serving
	err := s.launch().validate(ctx, s.files)
	switch {
	case old.hasEnded(): // run starts an Envoy
		return
	case err != nil:
		if ctx.Err() == nil {
			s.keepServing(err)
		}
		return
	}
	if why := s.coldBecause(ctx, old); why != "" {
		s.endOld(why)
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

// endOld drains and ends the serving Envoy, because hot restart cannot replace it for the given reason. The method run then
// starts another one.
func (s *supervisor) endOld(why string) {
	s.log.Warn().Int("pid", s.serving.pid).Str("because", why).
		Msg("Envoy is to be started in another way, and hot restart is not possible: it is drained and ended, and then replaced; meanwhile connections are refused")
	s.end(s.serving)
	s.serving = nil
}

// coldBecause returns the reason why hot restart cannot replace the Envoy old, or "" if hot restart is possible.
func (s *supervisor) coldBecause(ctx context.Context, old *process) string {
	if old.run.Base == 0 {
		return "it was started without hot restart"
	}
	if _, err := os.Stat(blockPath(old.run.Base)); err != nil {
		return "the memory that it shares with its successor is gone: " + err.Error()
	}
	info, err := s.files.admin().info(ctx)
	if err != nil {
		return "" // a new epoch that did not serve has taken the admin interface: whether another one can start, it says itself
	}
	if strings.HasSuffix(info.State, "INITIALIZING") {
		return "it does not serve yet"
	}
	now, err := s.files.admin().ask(ctx, http.MethodGet, "/hot_restart_version")
	if err != nil {
		return err.Error()
	}
	version, err := s.host.options.Binary.hotRestartVersion(ctx)
	switch former := strings.TrimSpace(string(now)); {
	case err != nil:
		return err.Error()
	case version != former:
		return fmt.Sprintf("its hot restart version is %s, and that of the new Envoy is %s", former, version)
	}
	return ""
}

// losesDatagrams reports whether a hot restart of the serving Envoy loses UDP datagrams to the Gateway. An
// Envoy before 1.40 stops reading datagrams when its successor serves, and the successor reads them only when
// the old Envoy has ended. losesDatagrams returns false if nothing listens on a UDP port of the Gateway, if Envoy
// does not answer, or if its version is not known.
func (s *supervisor) losesDatagrams(ctx context.Context) bool {
	info, err := s.files.admin().info(ctx)
	if err != nil || !info.release().Before(xds.Release{Major: 1, Minor: 40}) {
		return false
	}
	return listensToDatagrams(s.ports())
}

// launchHot starts a new Envoy for a hot restart. former is a running Envoy: the new one has the next restart
// epoch, and takes over the listeners of former when it serves. The error means that the new Envoy cannot be
// started.
func (s *supervisor) launchHot(ctx context.Context, former *process) (*process, error) {
	l := s.launch()
	return l.start(ctx, s.files, l.record(former.run.Base, former), s.log)
}

// succeed waits until the next epoch serves, and then makes it the serving Envoy. If the next epoch does not serve
// (see ready), succeed kills it; the previous epoch continues if it still can (see reclaim), unless Envoy lets no further
// epoch start beside it (stillInitializing): then it is drained and ended. If ctx ends, succeed
// leaves both epochs as they are: the method finish decides what happens to them.
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
		switch {
		case !s.reclaim(next):
		case strings.Contains(err.Error(), stillInitializing):
			s.endOld("an earlier new epoch ended before it served, and Envoy starts no other beside this one")
		default:
			s.keepServing(err)
		}
	}
}

// ready waits until the new Envoy (next) serves. The error is the reason why it does not serve: the new or the
// serving Envoy ended, readyTime passed, or ctx ended.
func (s *supervisor) ready(ctx context.Context, next *process) error {
	limit := time.NewTimer(readyTime)
	defer limit.Stop()
	look := time.NewTicker(readyLook)
	defer look.Stop()
	for !s.files.admin().serves(ctx, next.run.Epoch) {
		select {
		case <-next.ended():
			return errors.New(lastWords("the new Envoy "+next.exitText(), next.lastLines()))
		case <-s.serving.ended():
			return errors.New("the former Envoy " + s.serving.exitText() + " before the new one served")
		case <-limit.C:
			return fmt.Errorf("the new Envoy does not serve after %s", readyTime)
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
		}
	}
	return nil
}

// handOver makes the new Envoy (next) the serving one. The Envoy that served until now becomes the former epoch,
// which ends by itself.
func (s *supervisor) handOver(next *process) {
	s.depart(s.serving)
	s.serving = next
	s.set(Running, next, "")
}

// depart records that the Envoy p has become the former epoch, because its successor has taken over its
// listeners. If p still runs after Options.DrainTime and formerGrace, the supervisor ends it.
func (s *supervisor) depart(p *process) {
	s.former, s.overdue = p, time.Now().Add(s.host.options.DrainTime+formerGrace)
	s.wait = 0 // if the successor ends, start it again at once, because nothing listens
}

// endFormer ends the former epoch, because it did not end by itself in time.
func (s *supervisor) endFormer() {
	s.log.Warn().Int("pid", s.former.pid).Msg("the former epoch of Envoy does not end by itself: it is ended")
	s.former.stop(s.host.options.Hurry)
}

// reclaim kills the new epoch (next), which does not serve, and reports whether the previous epoch continues to
// serve. The result is false if the previous epoch has ended, or if the new epoch had already taken over the
// listeners. If the result is false, no Envoy serves, and the method run starts one.
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

// keepServing records and logs the reason why the serving Envoy is not replaced. It also writes the run file
// for the serving Envoy.
func (s *supervisor) keepServing(why error) {
	s.attempted = true
	message := "Envoy is not replaced: " + why.Error() + "; the previous one is still serving. Fix what is wrong and restart gatefold."
	s.log.Error().Int("pid", s.serving.pid).Msg(message)
	if err := s.serving.run.write(s.files.run); err != nil {
		s.log.Warn().Err(err).Msg("the run file of an Envoy cannot be written")
	}
	s.set(Running, s.serving, message)
}

// listening reports whether a process of this user listens on a port of the Gateway. It also returns true if the
// Gateway has no port, or if its ports are not known.
func (s *supervisor) listening() bool {
	ports := s.ports()
	return len(ports) == 0 || listens(ports)
}

// ports returns the ports on which the Gateway listens, or nil while the Gateway is not known.
func (s *supervisor) ports() []uint32 {
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	if infra := s.host.wanted[s.gateway]; infra != nil {
		return infra.Ports
	}
	return nil
}

// formerEnded returns a channel that is closed when the former epoch has ended. It returns nil if there is no
// former epoch.
func (s *supervisor) formerEnded() <-chan struct{} {
	if s.former == nil {
		return nil
	}
	return s.former.ended()
}

// left records that the former epoch, which answered its last open requests, has ended. If another Envoy serves,
// left also removes the former epoch from the run file.
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

// validate runs the new Envoy in its mode "validate", to check the bootstrap while the old Envoy serves. The
// error means that Envoy does not accept the bootstrap, that the bootstrap cannot be made or written, or that Envoy
// cannot be run or does not answer before ctx ends or validateTime has passed.
func (l launch) validate(ctx context.Context, f files) error {
	if l.err != nil {
		return l.err
	}
	if err := wholefile.Replace(f.bootstrap, l.bootstrap, 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, validateTime)
	defer cancel()
	// Not --config-path, because bootstrapOf finds the running Envoys by that option.
	command := exec.CommandContext(ctx, l.binary, "-c", f.bootstrap, "--mode", "validate", "--disable-hot-restart", "--log-level", "error")
	command.Dir, command.Env = "/", environment()
	text, err := command.CombinedOutput()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		return errors.New(lastWords(fmt.Sprintf("%s does not accept its bootstrap: %v", l.binary, err), lines[max(0, len(lines)-keptLines):]))
	}
	return nil
}

// lastWords returns the message with the last lines of an Envoy's log appended. If there are no lines, it
// returns the message unchanged. It also shortens each element of the caller's slice to maxLine bytes.
func lastWords(message string, lines []string) string {
	for i, line := range lines {
		lines[i] = line[:min(len(line), maxLine)]
	}
	if text := strings.TrimSpace(strings.Join(lines, " | ")); text != "" {
		message += "; its last words: " + text
	}
	return message
}
