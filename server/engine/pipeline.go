package engine

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/watcher"
)

// pipeline passes one Tree (the files of the folder at one moment) at a time through store, translate and
// server.
type pipeline struct {
	reader      *reader      // Tree to Change
	translation *translation // Change to Result
	server      publisher    // Result to Envoys
	observers   []observer   // they get each run after it has ended, in this order

	mu     turn                 // locked while a run is in progress
	rescan chan chan<- struct{} // watcher.Options.Rescan
	log    zerolog.Logger
	busy   *busy
	yields *yielding
	state  *state // nil if nothing is saved
	gate   *gate  // nil without Options.GateTests and Options.Strict
	units  units  // which files wait for each other

	versions versions // which edits are held
	guards   guards   // which stale objects protect

	tree      *watcher.Tree    // the last Tree of the folder
	last      store.Change     // the problems and stale objects of the folder, as the store returned them last
	asked     []*admin.Changes // one for each reload that a user waits for: what has changed since it began
	published bool             // true after the first publication
	failed    bool             // the last run failed: what it held is tried again
}

// publisher has the method of server.Server that the pipeline uses.
type publisher interface{ Publish(translate.Result) }

// observer is called after each run that was not interrupted, with its results.
type observer interface{ observe(r *run) }

// newPipeline returns a pipeline that ends with ctx. The caller sets server, observers, state and gate.
func newPipeline(ctx context.Context, folder *reader, log zerolog.Logger) *pipeline {
	p := &pipeline{
		reader: folder, mu: newTurn(), rescan: make(chan chan<- struct{}), log: log,
		busy: newBusy(time.Now, log),
	}
	p.yields = newYielding(ctx, p.busy.alive)
	p.translation = newTranslation(folder, func() memo.Stop { return p.yields.interrupt(0) }, log)
	p.versions = newVersions()
	return p
}

// errWaiting is the error of a run if nothing was ever served, and there is nothing to serve because the folder
// is missing or frozen.
var errWaiting = errors.New("the folder is waited for")

// reload applies a new Tree (the files of the folder at one moment). If the Tree cannot be applied, what was published
// before is still served.
func (p *pipeline) reload(tree watcher.Tree) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.yields.begin(&tree)()
	p.tree = &tree
	p.carry(&tree)
}

// reloadSecrets applies a new Tree of the folder of Secrets (--secret-dir). If no Tree of the folder of YAML has
// arrived yet, reloadSecrets only stores the Tree of Secrets.
func (p *pipeline) reloadSecrets(tree watcher.Tree) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reader.secrets.take(tree)
	if p.tree != nil {
		again := *p.tree
		again.Noticed, again.Scan = tree.Noticed, tree.Scan
		p.carry(&again)
	}
}

// quarantine stores what Envoys rejected (translate.Quarantine), and publishes again.
func (p *pipeline) quarantine(rejected translate.Quarantine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.translation.quarantine(rejected)
	p.republish()
}

// lackEnvoys stores the problems of Gateways that have no Envoy on this machine, and publishes again.
func (p *pipeline) lackEnvoys(problems []manifest.Problem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reader.unhosted = problems
	p.republish()
}

// vulnerable stores the problems of Envoys with published vulnerabilities, and publishes again.
func (p *pipeline) vulnerable(problems []manifest.Problem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reader.vulnerable = problems
	p.republish()
}

// republish publishes again after a change of an input other than the folder, such as what Envoys rejected. Before
// the first publication it does nothing. If the last Tree of the folder was not tested yet (see gate), it is
// applied again. The caller has locked p.mu.
func (p *pipeline) republish() {
	switch {
	case !p.published:
	case p.gate != nil && p.gate.unjudged: // the last run did not test it
		p.carry(p.tree)
	default:
		p.carry(nil)
	}
}

// carry does one run of the pipeline, and then calls the observers. The parameter tree is the new state of the
// folder, or nil if another input has changed. If the run is interrupted, the observers are not called.
func (p *pipeline) carry(tree *watcher.Tree) {
	r := &run{tree: tree, first: !p.published, asked: len(p.asked) > 0, busy: p.busy}
	r.reload.Stages = map[string]time.Duration{}
	if r.first && tree != nil {
		defer collectSeldom(tree)()
	}
	err := p.recover(r)
	p.busy.end(err == nil || errors.Is(err, errWaiting))
	switch {
	case isEnd(err):
		p.log.Info().Str("step", r.step).Msg("the run is interrupted, as gatefold stops; Envoys keep what they have")
		return
	case errors.Is(err, errNewer):
		p.yields.yielded++
		p.log.Warn().Str("step", r.step).Msg("the folder has changed again while a long run is under way; the run continues with the newer state")
		return
	}
	if p.yields.yielded++; len(r.change.Waiting) == 0 {
		p.yields.yielded = 0
	}
	p.failed = err != nil
	r.conclude(err)
	for _, o := range p.observers {
		p.show(o, r)
	}
}

// flow does the steps of one run: store, translate with the tests, publish. It returns the error of the first step that
// fails. After an error, what was published before is still served.
func (p *pipeline) flow(r *run) error {
	if err := p.read(r); err != nil {
		return err
	}
	if err := p.translate(r); err != nil {
		return err
	}
	if err := p.publish(r); err != nil {
		return err
	}
	for _, asked := range p.asked { // r.change is empty if the tests failed
		asked.Add(r.change)
	}
	return nil
}

// read makes the Change of a run: the objects that changed according to the Tree of the run. If the run has no Tree,
// the Change has only the problems and stale objects of the run before. The error is errWaiting if there is nothing
// to serve yet. It is errNewer if nothing was applied because the folder already has a newer Tree. Any other error is
// from reader.apply.
func (p *pipeline) read(r *run) (err error) {
	if r.tree == nil {
		r.change = p.last
		return nil
	}
	r.reload.Stages["scan"] = r.tree.Scan
	tree, testsChanged := *r.tree, false
	if p.gate != nil {
		p.gate.begin(p)
		tree, testsChanged = p.gate.split(tree)
	}
	if r.time("store", func() { r.change, err = p.reader.apply(p.yields.ending, tree, p.newer) }); err != nil {
		if errors.Is(err, store.ErrNewer) {
			return errNewer
		}
		return err
	}
	p.units.owners.Store(p.reader.store.Owners())
	if p.gate != nil {
		p.gate.applied(r.change, testsChanged, p.reader.store)
		r.change.Problems = p.gate.warned(r.change.Problems, tree.Root)
	}
	if files := r.change.Waiting; len(files) > 0 {
		p.log.Info().Int("files", len(files)).Str("file", files[0]).
			Msg("files that take long to read are served later than the others that changed")
	}
	r.splitStore()
	p.last = store.Change{Problems: r.change.Problems, Stale: r.change.Stale}
	// At the start, gatefold waits for a folder that is missing or frozen, unless a state was restored.
	if !p.published && !r.change.Restored && (r.tree.Missing || r.change.Hold != "") {
		r.problems = r.change.Problems
		return errWaiting
	}
	return nil
}

// newer reports whether the store may leave files of the run's Tree for the next run, because a newer Tree waits. It is
// false before the first publication, while a user waits for a reload, and if the folder's tests must pass (see gate).
func (p *pipeline) newer() bool {
	return p.published && len(p.asked) == 0 && p.gate == nil && p.yields.yields() // tests need the whole revision
}

// translate makes the Result of a run (resources, statuses, problems and stale objects) from the Change of the
// run. If the folder's tests must pass, they run before, and may freeze namespaces. The error is that of take, or of test.
func (p *pipeline) translate(r *run) (err error) {
	if r.time("translate", func() { err = p.take(r, r.change) }); err != nil {
		return err
	}
	if err := p.tryEdits(r); err != nil {
		return err
	}
	if err := p.test(r); err != nil {
		return err
	}
	p.finish(r)
	return nil
}

// finish makes the Result of what was translated.
func (p *pipeline) finish(r *run) {
	r.time("translate", func() { r.result = p.translation.result() })
	p.versions.restate(&r.result, p.translation.translator)
	p.translation.withheld.report(&r.result)
	r.result.Stale = p.guards.mark(r.change.Stale, r.changed(), p.reader.store)
	r.time("locate", func() { r.problems = p.reader.located(r.change, r.result) })
	r.result.Problems, r.errors, r.warnings = r.problems, p.reader.errors, p.reader.warnings
}

// publish passes the Result of a run to the server. If the server panics, all edits of the run are held, and publish passes
// what is left. If there are none, it panics, too: then the next run uses a new translator.
func (p *pipeline) publish(r *run) (err error) {
	if r.time("publish", func() { err = caught(func() { p.server.Publish(r.result) }) }); err != nil {
		p.reportMistake(r, err)
		change, found := p.without(r, err)
		if !found {
			return err
		}
		if err := p.take(r, change); err != nil { // with a new translator, because the server may lack a part of the Result
			return err
		}
		p.finish(r)
		r.time("publish", func() { p.server.Publish(r.result) })
	}
	p.translation.published(r.result)
	p.versions.published(p.translation.translator.Preview().Problems, p.translation.withheld.closed(), p.reader.store)
	if p.gate != nil {
		p.gate.publish(r.result.View, p.versions.errors)
	}
	p.published, r.published = true, true
	return nil
}

// recover does a run of the pipeline (see guard). If the run panics before the first publication, and a saved state
// was restored, recover sets that state aside and does the run once more. After any other panic, it does not repeat
// the run. If that panic was in the step "store", it replaces the store for the next run. recover returns the error
// of the last run.
func (p *pipeline) recover(r *run) error {
	err := p.guard(r)
	var panicked *mistake
	switch {
	case !errors.As(err, &panicked):
	case p.forgetState(nil): // guard logged the panic
		return p.guard(r)
	case r.step == "store":
		p.renewStore()
	}
	return err
}

// guard does the steps of a run (flow). If they panic, which is a fault of gatefold and not of the user, guard
// logs the panic with its stack, and returns it as the error.
func (p *pipeline) guard(r *run) (err error) {
	if panicked := caught(func() { err = p.flow(r) }); panicked != nil {
		p.alarm(r, panicked, "this change of the folder is not served, what served before is; the next edit is tried afresh")
		return panicked
	}
	return err
}

// show calls an observer with a run. If the observer panics, show logs the panic, and the next run uses a new
// translator and publishes everything again.
func (p *pipeline) show(o observer, r *run) {
	if panicked := caught(func() { o.observe(r) }); panicked != nil {
		p.alarm(r, panicked, "what was published is served, but not all that follows from it was done; it is done at the next edit")
		p.translation.phase = ahead
	}
}

// alarm logs an ALARM about a panic in a run. The parameter consequence is a text that says what the panic means
// for what is served.
func (p *pipeline) alarm(r *run, panicked error, consequence string) {
	describeMistake(p.log.Error().Str("step", r.step), panicked).
		Msg("ALARM: a mistake in gatefold: " + consequence + "; please report it")
}

// forgetState sets the saved state aside, because it cannot be applied. The store then validates the texts in the
// state again, like files of the folder. It returns false if there is no saved state, or if something is already
// published. The parameter cause is the reason for the log, or nil if the reason was logged already.
func (p *pipeline) forgetState(cause error) bool {
	if p.published || !p.state.giveUp(cause) {
		return false
	}
	p.translation.restart()
	return true
}

// renewStore replaces the store after a panic or after tests that failed. The new store continues from what is
// served. The next run uses a new translator, because the present one may have got changes that are not served.
func (p *pipeline) renewStore() {
	fresh, err := p.reader.store.Anew()
	if err != nil { // New succeeded at the start
		panic(err)
	}
	p.reader.store, p.translation.phase = fresh, ahead
}

// expect translates the saved state while the folder is still being read. If the folder has not changed since the
// state was saved, little is left to translate afterwards. If there is a folder of Secrets, expect does nothing:
// without the Secrets, much would have to be translated twice.
func (p *pipeline) expect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.reader.store.Restored()) == 0 || p.reader.secrets != nil || p.translation.phase != agreed {
		return
	}
	r := &run{busy: p.busy, reload: server.Reload{Stages: map[string]time.Duration{}}}
	var err error
	r.time("translate", func() { err = p.translation.expect() })
	p.busy.end(true)
	if isMistake(err) {
		p.forgetState(nil) // recollect logged the panic
	}
}
