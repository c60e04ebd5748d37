package host

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"

	"github.com/rs/zerolog"
)

// adopt finds the Envoys that an earlier gatefold started for this Gateway. It supervises the newest epoch and the
// epoch before it, and ends all others (see pair). If that gatefold ended during a hot restart, adopt continues the
// hot restart (see resume). If the newest epoch took over the listeners and then ended, only the previous epoch is
// left, which accepts no new connections: after adopt, the method run starts a new epoch. adopt changes nothing if
// no Envoy runs.
func (s *supervisor) adopt(ctx context.Context) {
	record, err := readRun(s.files.run)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.log.Warn().Err(err).Msg("the run file of an Envoy cannot be used")
	}
	find := finder{s.gateway, s.files, s.host.options, s.log}
	newest, former := find.pair(find.all(record))
	if newest == nil {
		return
	}
	s.base = newest.run.Base
	for _, p := range []*process{newest, former} {
		if p != nil {
			p.follow(ctx, s.files, s.log)
			s.log.Info().Int("pid", p.pid).Int("epoch", p.run.Epoch).Msg("Envoy adopted")
		}
	}
	newest.run.Parent = nil
	if former != nil {
		newest.run.Parent = &former.run
	}
	switch {
	case former != nil:
		s.resume(ctx, newest, former)
	case newest.run.Epoch < record.Epoch && newest.run.Base == record.Base && !s.listening():
		s.log.Warn().Int("pid", newest.pid).Msg("the successor of an Envoy took over, and has ended: it is started again")
		s.depart(newest)
	default:
		s.serving = newest
		s.note(newest)
		s.set(Running, newest, "")
	}
}

// resume continues a hot restart that an earlier gatefold began. The parameter newest is the new epoch, and former
// is the epoch before it.
//   - If newest serves already, it becomes the serving Envoy.
//   - If newest is still starting, and was started with the current options, resume waits for it (succeed).
//   - If newest is still starting, and was started with other options, resume kills it. Then former continues to
//     serve, unless former has ended or newest had already taken over the listeners (see reclaim).
func (s *supervisor) resume(ctx context.Context, newest, former *process) {
	s.note(newest)
	s.serving = former
	switch {
	case s.files.admin().serves(context.WithoutCancel(ctx), newest.run.Epoch):
		s.handOver(newest)
	case newest.run.Mark == s.launch().mark:
		s.set(Running, former, "")
		s.succeed(ctx, newest)
	default:
		s.log.Info().Int("pid", newest.pid).Msg("a new epoch that an earlier gatefold started in another way is ended")
		if s.reclaim(newest) {
			s.note(former)
			s.set(Running, former, "")
		}
	}
}

// note writes the run file (see type run) of an Envoy that was found. It ignores a failure: without the file,
// the next gatefold finds the Envoy among the processes of the machine (orphans).
func (s *supervisor) note(p *process) { _ = p.run.write(s.files.run) }

// finder finds the running Envoys that an earlier gatefold started for a Gateway.
type finder struct {
	gateway string
	files   files
	options Options
	log     zerolog.Logger
}

// all returns the running Envoys of the Gateway: those in record (the content of the run file), and those that
// orphans finds among the processes of the machine. The run file lacks an Envoy if the earlier gatefold ended
// before it wrote the file, or if the file was lost.
func (f finder) all(record run) []*process {
	var all []*process
	for named := &record; named != nil; named = named.Parent {
		if named.Gateway == "" {
			break // there is no run file
		}
		p, why := recognize(*named, f.files)
		if p == nil {
			f.log.Info().Int("pid", named.Pid).Str("because", why).Msg("the run file leads to no Envoy")
			continue
		}
		all = append(all, p)
	}
	for _, pid := range orphans(f.options.Folder)[f.files.bootstrap] {
		if slices.ContainsFunc(all, func(p *process) bool { return p.pid == pid }) {
			continue
		}
		if p := f.orphan(record, pid); p != nil {
			all = append(all, p)
		}
	}
	return all
}

// orphan returns the process with this pid, which the run file does not name. record is the content of the run
// file. orphan returns nil if the process is no Envoy of this Gateway, or has ended.
func (f finder) orphan(record run, pid int) *process {
	r := run{Gateway: f.gateway, Pid: pid, Boot: bootID(), Since: record.Since}
	r.Base, r.Epoch = epochOf(pid)
	if record.Pid == 0 && record.Epoch == r.Epoch { // the earlier gatefold was starting it
		r.Mark = record.Mark
	}
	start, err := startTime(pid)
	if err != nil {
		return nil
	}
	r.Start = start
	p, why := recognize(r, f.files)
	if p == nil {
		f.log.Info().Int("pid", pid).Str("because", why).Msg("no Envoy to adopt")
		return nil
	}
	f.log.Warn().Int("pid", pid).Msg("an Envoy without a run file is found")
	return p
}

// pair returns two of the given Envoys (the parameter all): the one with the highest restart epoch, and its
// predecessor with the same base id. former is nil if there is no predecessor; both results are nil if no Envoy
// is given. pair ends all other Envoys, because they would keep the ports. It sorts the given slice.
func (f finder) pair(all []*process) (newest, former *process) {
	slices.SortStableFunc(all, func(a, b *process) int { return cmp.Compare(b.run.Epoch, a.run.Epoch) })
	for _, p := range all {
		switch {
		case newest == nil:
			newest = p
		case former == nil && p.run.Base != 0 && p.run.Base == newest.run.Base && p.run.Epoch < newest.run.Epoch:
			former = p
		default:
			f.log.Warn().Int("pid", p.pid).Msg("a second Envoy of the Gateway is ended")
			p.follow(context.Background(), f.files, f.log)
			p.stop(f.options.Hurry)
		}
	}
	return newest, former
}
