package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/watcher"
)

// pipeline takes each Tree through store, translate and server, one at a time.
type pipeline struct {
	*steps
	mu        turn                 // held while a Tree goes through
	rescan    chan chan<- struct{} // watcher.Options.Rescan
	publisher publisher
	log       zerolog.Logger
	problems  problemLog
	asked     []*server.Changes // of reloads that users wait for
	ledger    ledger
	published bool
	save      func()               // what serves, for a restart; nil where nothing is kept
	rehearsal func() publisher     // makes a publisher without clients; nil where no mistake of publishing is looked for
	beginAnew func(cause error)    // has the store forget a state that cannot be applied; nil once something is published
	tree      *watcher.Tree        // the folder's last
	refused   translate.Quarantine // the newest
	trusted   translate.Quarantine // the last that was applied
	flaws     []manifest.Problem   // of the store, as they are now
	stale     []store.Stale        // the same
	ignored   []store.Ignored      // the same, as they were logged last
	empty     bool                 // the folder's last Tree had no files
	// unsure is set while a Change is on its way from the store to the server.
	// Found set, it tells that a mistake lost one.
	unsure bool
	// pending is what the translator has not come to the end of, and sent what it came to the
	// end of last.
	pending, sent store.Change
	// renewed is set while the translator is fresh, and the server has what it does not know of.
	renewed  bool
	retry    bool // a user asked for a reload: what is withheld is tried again
	withheld *withholding
	busy     *busy

	ending    context.Context //nolint:containedctx // of gatefold: its end ends the run that is under way
	used      func() time.Duration
	running   atomic.Pointer[watcher.Tree] // that goes through, nil between two
	newer     atomic.Bool                  // another waits
	searching bool                         // for objects to be withheld
	yielded   int                          // runs in a row that gave way to a newer Tree
}

func newPipeline(ctx context.Context, both *steps, log zerolog.Logger) *pipeline {
	return &pipeline{
		steps: both, mu: newTurn(), rescan: make(chan chan<- struct{}), log: log, ledger: newLedger(),
		withheld: newWithholding(), busy: newBusy(time.Now, log), ending: ctx, used: watcher.ThreadTime,
	}
}

// publisher is what the pipeline needs of server.Server.
type publisher interface {
	Publish(translate.Result)
	Reloaded(server.Reload)
}

// reload is what one Tree came to.
type reload struct {
	tree     watcher.Tree
	change   store.Change
	result   translate.Result
	problems []manifest.Problem
	step     string // that runs, or ran last
	ended    error  // why it was interrupted; nil when it was not
	busy     *busy
	again    bool // something was published before
	stages   map[string]time.Duration
}

// reload serves what the folder says now. Whatever goes wrong, what served
// before goes on serving.
func (p *pipeline) reload(tree watcher.Tree) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tree = &tree
	p.running.Store(&tree)
	p.newer.Store(false)
	defer p.running.Store(nil)
	p.take(tree)
}

// reloadSecrets serves what the folder of Secrets says now. Before the first Tree of
// the other folder there is nothing that could use them.
func (p *pipeline) reloadSecrets(tree watcher.Tree) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.secrets.take(tree)
	if p.tree != nil {
		again := *p.tree
		again.Noticed, again.Scan = tree.Noticed, tree.Scan
		p.take(again)
	}
}

// quarantine takes in what Envoys rejected and serves what follows. Before
// anything is published, it waits for the first Tree.
func (p *pipeline) quarantine(refused translate.Quarantine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = refused
	p.translator.Quarantine(refused)
	p.republish()
}

// lackEnvoys takes in the problems of Gateways that have no Envoy on this machine.
func (p *pipeline) lackEnvoys(problems []manifest.Problem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unhosted = problems
	p.republish()
}

// republish serves the folder as it was read last, once something is published, after a change
// that did not come from it. p.mu is held.
func (p *pipeline) republish() {
	if !p.published {
		return
	}
	r := p.newReload()
	r.change.Problems, r.change.Stale = p.flaws, p.stale
	ok := p.guard(r, func() { p.publish(r) }) && r.ended == nil
	if p.busy.end(ok); ok {
		p.problems.update(p.log, r.problems)
	}
}

// newReload begins a reload.
func (p *pipeline) newReload() *reload {
	return &reload{busy: p.busy, again: p.published, stages: map[string]time.Duration{}}
}

// questionPatience is how long a question about the folder waits for a run to end.
const questionPatience = 5 * time.Second

// places finds where fields are written in the folder as it was read last. It
// waits for a Tree that is on its way, no longer than questionPatience: no place is known then.
func (p *pipeline) places(fields []manifest.Field) []store.Place {
	if !p.mu.within(questionPatience) {
		return make([]store.Place, len(fields))
	}
	defer p.mu.Unlock()
	return p.store.Places(fields)
}

// outlines reads what routes ask for, as places does.
func (p *pipeline) outlines(keys []manifest.Key) []store.Outline {
	if !p.mu.within(questionPatience) {
		return make([]store.Outline, len(keys))
	}
	defer p.mu.Unlock()
	return p.store.Outlines(keys)
}

// labels returns the labels of objects that are served, as places does.
func (p *pipeline) labels(keys []manifest.Key) []map[string]string {
	if !p.mu.within(questionPatience) {
		return make([]map[string]string, len(keys))
	}
	defer p.mu.Unlock()
	return p.store.Labels(keys)
}

// expect translates what a state gave while the folder is read: beside an unchanged
// folder, that is all there is to do. Secrets of a folder of their own come first, and
// much would be done twice without them.
func (p *pipeline) expect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.newReload()
	if !p.guard(r, func() { p.translateRestored(r) }) {
		p.unsure = true
	}
}

func (p *pipeline) translateRestored(r *reload) {
	objects := p.store.Restored()
	if len(objects) == 0 || p.secrets != nil || p.unsure {
		return
	}
	r.time("translate", func() { r.ended = p.attempt(store.Change{Set: objects}, runDeadline) })
	p.busy.end(true)
	var m *mistake
	switch p.unsure = r.ended != nil; {
	case errors.As(r.ended, &m) && p.beginAnew != nil:
		p.startAnew(r.ended)
	case blamable(r.ended):
		p.reportMistake(r.step, r.ended, store.Change{Set: objects})
	}
}

// startAnew begins once more, without what the state holds beside texts.
func (p *pipeline) startAnew(cause error) {
	p.beginAnew(cause)
	p.beginAnew, p.unsure, p.pending = nil, false, store.Change{}
	p.translator = p.newTranslator()
}

func (p *pipeline) take(tree watcher.Tree) {
	r := p.newReload()
	r.tree, r.stages["scan"] = tree, tree.Scan
	ok := p.run(r)
	p.busy.end(r.ended == nil)
	switch {
	case isEnd(r.ended):
		p.log.Info().Str("step", r.step).Msg("the run is interrupted, as gatefold stops; Envoys keep what they have")
		return
	case errors.Is(r.ended, errNewer):
		p.yielded++
		p.log.Warn().Str("step", r.step).Msg("the folder has changed again while a long run is under way; the run continues with the newer state")
		return
	}
	p.yielded = 0
	if !ok || r.ended != nil {
		p.publisher.Reloaded(server.Reload{Result: "failed", Stages: r.stages})
		return
	}
	p.problems.update(p.log, r.problems)
	if r.change.Hold != "" {
		p.log.Error().Str("folder", tree.Root).Str("hold", r.change.Hold).
			Msg("ALARM: the folder is frozen: gatefold still serves what it served before")
		p.publisher.Reloaded(server.Reload{Result: "held", Hold: r.change.Hold, Stages: r.stages})
		return
	}
	if p.waiting(r) {
		p.publisher.Reloaded(server.Reload{
			Result: "waiting", Awaits: "the folder " + tree.Root + " is not there and is waited for", Stages: r.stages,
		})
		return
	}
	p.noteIgnored(r.change.Ignored)
	p.noteEmpty(r.tree)
	p.summarize(r)
	outcome := "ok"
	if len(r.problems) > 0 {
		outcome = "problems"
	}
	p.publisher.Reloaded(server.Reload{Result: outcome, OK: true, Stages: r.stages})
}

// noteIgnored logs the documents that are none of gatefold's, when they change.
func (p *pipeline) noteIgnored(ignored []store.Ignored) {
	if slices.Equal(ignored, p.ignored) {
		return
	}
	if p.ignored = ignored; len(ignored) > 0 {
		p.log.Info().Strs("documents", store.IgnoredWords(ignored)).Msg("the folder holds documents that gatefold does not use")
	}
}

// noteEmpty warns of a folder without files, which is hardly the one that was meant.
func (p *pipeline) noteEmpty(tree watcher.Tree) {
	empty := tree.Files.Len()+len(tree.Skipped) == 0
	if empty && !p.empty {
		p.log.Warn().Str("folder", tree.Root).Msg("no YAML files in the folder: gatefold serves nothing until there are some")
	}
	p.empty = empty
}

// run takes a Tree through all steps.
func (p *pipeline) run(r *reload) (ok bool) {
	if p.guard(r, func() { p.step(r) }) {
		return true
	}
	if p.published || p.beginAnew == nil {
		p.renewStore(r)
		return false
	}
	p.startAnew(nil) // the log has what happened
	return p.guard(r, func() { p.step(r) })
}

// renewStore has a fresh Store go on from what is served, after a panic of the store in the middle
// of a Change. The translator is renewed, too, as it may be further than what is served.
func (p *pipeline) renewStore(r *reload) {
	if r.step != "store" {
		return
	}
	p.guard(r, func() {
		fresh, err := p.store.Anew()
		if err != nil { // New has succeeded before
			panic(err)
		}
		p.store, p.unsure = fresh, true
	})
}

// step takes a Tree through all steps, unless it is interrupted.
func (p *pipeline) step(r *reload) {
	if r.time("store", func() { r.change, r.ended = p.apply(p.ending, r.tree) }); r.ended != nil {
		return
	}
	p.flaws, p.stale = r.change.Problems, r.change.Stale
	for _, asked := range p.asked {
		asked.Add(r.change)
	}
	r.splitStore()
	p.publish(r)
}

// guard is the barrier around the steps: a panic in one of them is our mistake,
// not the user's. It is logged with its stack, and no later step runs.
func (p *pipeline) guard(r *reload, steps func()) (ok bool) {
	defer func() {
		if mistake := recover(); mistake != nil {
			p.log.Error().Str("step", r.step).Str("panic", fmt.Sprint(mistake)).Bytes("stack", debug.Stack()).
				Msg("ALARM: a mistake in gatefold: this change of the folder is not served, what served before is; the next edit is tried afresh; please report it")
		}
	}()
	steps()
	return true
}

// waiting tells whether there is nothing to serve yet: a folder that is missing
// or held at start is waited for, and gatefold is not ready before, unless it
// goes on from a state.
func (p *pipeline) waiting(r *reload) bool {
	return !p.published && !r.change.Restored && (r.tree.Missing || r.change.Hold != "")
}

// splitStore divides the store's time between parsing and validation. What the
// store tells of both are sums over all cores.
func (r *reload) splitStore() {
	parse, validate := r.change.Stats.Parse, r.change.Stats.Validate
	share := 0.0
	if parse+validate > 0 {
		share = float64(parse) / float64(parse+validate)
	}
	r.stages["parse"] = time.Duration(share * float64(r.stages["store"]))
	r.stages["validate"] = r.stages["store"] - r.stages["parse"]
	delete(r.stages, "store")
}

// time runs one step.
func (r *reload) time(step string, run func()) {
	r.step = step
	start := time.Now()
	r.busy.begin(step)
	run()
	r.stages[step] = time.Since(start)
}
