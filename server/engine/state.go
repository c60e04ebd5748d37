package engine

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/journal"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
	"github.com/gatefold/gatefold/translate"
)

// statePatience is how long the end of gatefold waits for the disk.
const statePatience = 5 * time.Second

// state saves on disk what gatefold serves. After a restart, gatefold can then serve the same, even if the folder is
// missing or broken. A nil state saves nothing.
type state struct {
	options journal.Options
	log     zerolog.Logger
	journal *journal.Journal  // nil if the state folder cannot be used
	failed  error             // why the state folder cannot be used
	damaged bool              // some of the saved state could not be used
	objects int               // the number of restored objects
	reader  *reader           // of the folder
	saved   []store.Saved     // the restored objects; nil after something is published
	holders translate.Holders // as they are saved
	keeper  *journal.Keeper   // set by begin
}

// State says what is saved on disk for the next start.
type State struct {
	Dir     string // the state folder; "" if nothing is saved
	Named   bool   // a user or systemd named Dir: gatefold reports it if Dir cannot be used (see open)
	Secrets bool   // the content of Secrets may be saved, too
}

// open loads the saved state of the folder into the store of r, and logs what is wrong with the state. If nothing
// is to be saved, it returns nil. If the state folder cannot be used, the first of these rules that applies
// decides:
//   - If o.Named is false, the result is nil.
//   - If another gatefold uses the state folder, open returns an error.
//   - Otherwise the result is a state that saves nothing and reports that.
//
// open also returns an error if the working directory is not known.
func (o State) open(folder string, r *reader, log zerolog.Logger) (*state, error) {
	if o.Dir == "" {
		return nil, nil //nolint:nilnil // a nil state keeps nothing
	}
	root, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	s := &state{reader: r, options: journal.Options{Dir: o.Dir, Root: root, Fingerprint: fingerprint()}, log: log}
	opened, content, err := journal.Open(s.options)
	switch {
	case err != nil && !o.Named:
		log.Warn().Err(err).Msg("no state is kept: a restart beside a broken or missing folder will not know what served; choose a folder by --state-dir")
		return nil, nil //nolint:nilnil // a nil state keeps nothing
	case errors.Is(err, journal.ErrInUse):
		return nil, fmt.Errorf("%w; choose another by --state-dir", err)
	}
	s.journal, s.failed = opened, err
	s.restore(r, content, o.Secrets)
	return s, nil
}

// fingerprint starts the computation of schema.Fingerprint, and returns a function that waits for the result.
// If the computation panics, the result is "". Then every object is validated again.
func fingerprint() func() string {
	found := make(chan string, 1)
	go func() {
		text := ""
		_ = caught(func() { text = schema.Fingerprint() })
		found <- text
	}()
	return sync.OnceValue(func() string { return <-found })
}

// restore loads the saved content into the store of r, and logs what cannot be used. If secrets is false, the next
// write of the state removes saved Secrets from the disk.
func (s *state) restore(r *reader, content journal.Content, secrets bool) {
	content.Saved, s.holders = splitMap[translate.Holders](content.Saved, holdersKey())
	var texts map[string][][]byte
	content.Saved, texts = splitMap[map[string][][]byte](content.Saved, textsKey())
	unusable, err := restored(r.store, content.Saved, content.Sound)
	if err != nil {
		unusable = s.setAside(r, content.Saved, err)
	}
	r.store.RestoreTexts(texts)
	s.saved = content.Saved
	s.objects = len(content.Saved) - len(unusable)
	s.damaged = s.damaged || content.Problem != "" || len(unusable) > 0
	if content.Problem != "" {
		s.log.Error().Str("state", s.options.Dir).Str("problem", content.Problem).
			Msg("the saved state cannot be used in whole; what is damaged is left out, and saved anew")
	}
	for _, key := range unusable[:min(len(unusable), maxProblemLines)] {
		s.log.Warn().Str("state", s.options.Dir).Stringer("object", key).Msg("what is saved of an object cannot be used, and is left out")
	}
	if holdsSecret(content.Saved) && !secrets && s.journal != nil {
		s.journal.Forget() // and older entries for them
	}
	if s.objects > 0 {
		s.log.Info().Str("state", s.options.Dir).Int("objects", s.objects).Msg("going on from the saved state")
	}
}

// restored loads saved objects into a new Store, which is the parameter objects. The parameter sound is the field
// Sound of journal.Content. The result unusable has the keys of the saved objects that cannot be loaded. If the Store
// panics, restored catches the panic and returns it as err.
func restored(objects *store.Store, saved []store.Saved, sound bool) (unusable []manifest.Key, err error) {
	err = caught(func() { unusable = objects.Restore(saved, sound) })
	return unusable, err
}

// setAside is called if a saved state cannot be applied. It renames the state, for diagnosis, and puts a new
// Store into r. The new Store starts from the texts in the state, validated like files of the folder. If that
// fails too, it starts empty. setAside returns the objects that cannot be used.
func (s *state) setAside(r *reader, saved []store.Saved, cause error) (unusable []manifest.Key) {
	s.damaged = true
	path, err := journal.SetAside(s.options.Dir, time.Now())
	line := s.log.Error().Str("state", s.options.Dir).Str("kept", path).AnErr("rename", err)
	if cause != nil {
		line = describeMistake(line, cause)
	}
	line.Msg("a mistake in gatefold: the saved state cannot be applied; gatefold sets it aside and reads everything again; please report it")
	texts := slices.Clone(saved)
	for i := range texts {
		texts[i].Checked = nil
	}
	if r.store, err = store.New(r.folder.Store); err == nil {
		if unusable, err = restored(r.store, texts, false); err == nil {
			return unusable
		}
		r.store, err = store.New(r.folder.Store)
	}
	if err != nil { // New succeeded at the start
		panic(err)
	}
	for _, one := range saved {
		unusable = append(unusable, one.Key)
	}
	return unusable
}

// holdsSecret reports whether the content of a Secret is among the saved objects.
func holdsSecret(all []store.Saved) bool {
	return slices.ContainsFunc(all, func(one store.Saved) bool { return one.Key.Kind == "Secret" && one.Text != nil })
}

// restored reports whether the state has objects that can be served without the folder.
func (s *state) restored() bool { return s != nil && s.objects > 0 }

// begin starts to save what is served, and gives the saved holders to the translation.
func (s *state) begin(p *pipeline, srv *server.Server) {
	if s == nil {
		return
	}
	p.translation.hold(s.holders)
	all := func() []store.Saved {
		p.mu.Lock()
		defer p.mu.Unlock()
		return append(p.reader.store.Saved(), savedMap(holdersKey(), s.holders), savedMap(textsKey(), p.reader.store.StoodTexts()))
	}
	s.keeper = journal.Start(s.options, s.journal, s.failed, all, func(err error) {
		if err == nil {
			srv.StateFailed("")
			s.log.Info().Str("state", s.options.Dir).Msg("the state is saved again")
			return
		}
		srv.StateFailed(err.Error())
		s.log.Error().Err(err).Str("state", s.options.Dir).
			Msg("ALARM: what is served cannot be saved; it is still served, but a restart would know only what was saved before")
	})
	srv.Register(s.figures()...)
}

// observe implements observer. It saves what is published.
func (s *state) observe(r *run) {
	if s == nil || !r.published {
		return
	}
	s.saved = nil
	s.keeper.Save(s.unsaved(r))
}

// giveUp sets the restored state aside (setAside), because it cannot be applied, and returns true. It returns
// false, and does nothing, if no state was restored, if the state was already set aside, or if something was
// published.
func (s *state) giveUp(cause error) bool {
	if s == nil || len(s.saved) == 0 {
		return false
	}
	s.setAside(s.reader, s.saved, cause)
	s.saved = nil
	return true
}

// figures returns the metrics of the state.
func (s *state) figures() []prometheus.Collector {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	flag := func(yes bool) float64 {
		if yes {
			return 1
		}
		return 0
	}
	return []prometheus.Collector{
		gauge("gatefold_state_saved", "1 while what serves can be saved in the state folder, else 0.", func() float64 { return flag(!s.keeper.Failing()) }),
		gauge("gatefold_state_damaged", "1 when some of what the state folder held at the start could not be used, else 0.", func() float64 { return flag(s.damaged) }),
		gauge("gatefold_state_bytes", "Length of the journal in the state folder.", func() float64 { return float64(s.keeper.Size()) }),
	}
}

// close saves what is not saved yet, and releases the state folder. It waits at most statePatience for the
// disk.
func (s *state) close() {
	switch {
	case s == nil:
	case s.keeper != nil:
		if err := s.keeper.Close(statePatience); err != nil {
			s.log.Error().Err(err).Str("state", s.options.Dir).Msg("gatefold ends all the same")
		}
	case s.journal != nil:
		s.journal.Close()
	}
}
