package cli

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/watcher"
)

// pipeline takes each Tree through store, translate and server, one at a time.
type pipeline struct {
	*steps
	mu        sync.Mutex           // held while a Tree goes through
	rescan    chan chan<- struct{} // watcher.Options.Rescan
	publisher publisher
	log       zerolog.Logger
	problems  problemLog
	ledger    ledger
	published bool
	save      func()               // what serves, for a restart; nil where nothing is kept
	tree      *watcher.Tree        // the folder's last
	refused   translate.Quarantine // the newest
	flaws     []store.Problem      // of the store, as they are now
	// unsure is set while a Change is on its way from the store to the server.
	// Found set, it tells that a mistake lost one.
	unsure bool
}

func newPipeline(both *steps, log zerolog.Logger) *pipeline {
	return &pipeline{steps: both, rescan: make(chan chan<- struct{}), log: log, ledger: newLedger()}
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
	problems []store.Problem
	step     string // that runs, or ran last
	stages   map[string]time.Duration
}

// reload serves what the folder says now. Whatever goes wrong, what served
// before goes on serving.
func (p *pipeline) reload(tree watcher.Tree) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tree = &tree
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

// again has the folder read anew and served as it is then; with allowEmpty even
// when that removes everything. It returns when that is done, or ctx has ended.
func (p *pipeline) again(ctx context.Context, allowEmpty bool) {
	if allowEmpty {
		p.mu.Lock()
		p.store.AllowEmpty()
		p.secrets.allowEmpty()
		p.mu.Unlock()
	}
	done := make(chan struct{})
	select {
	case p.rescan <- done:
	case <-ctx.Done():
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// quarantine takes in what Envoys rejected and serves what follows. Before
// anything is published, it waits for the first Tree.
func (p *pipeline) quarantine(refused translate.Quarantine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = refused
	p.translator.Quarantine(refused)
	if !p.published {
		return
	}
	r := &reload{stages: map[string]time.Duration{}}
	r.change.Problems = p.flaws
	if p.guard(r, func() { p.publish(r) }) {
		p.problems.update(p.log, r.problems)
	}
}

// places finds where fields are written in the folder as it was read last. It
// waits for a Tree that is on its way.
func (p *pipeline) places(fields []store.Field) []store.Place {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.store.Places(fields)
}

// expect translates what a state gave while the folder is read: beside an unchanged
// folder, that is all there is to do. Secrets of a folder of their own come first, and
// much would be done twice without them.
func (p *pipeline) expect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	objects := p.store.Restored()
	if len(objects) == 0 || p.secrets != nil || p.unsure {
		return
	}
	r := &reload{stages: map[string]time.Duration{}}
	p.unsure = !p.guard(r, func() { r.time("translate", func() { p.translator.Expect(objects) }) })
}

func (p *pipeline) take(tree watcher.Tree) {
	r := &reload{tree: tree, stages: map[string]time.Duration{"scan": tree.Scan}}
	if !p.run(r) {
		p.publisher.Reloaded(server.Reload{Result: "failed", Stages: r.stages})
		return
	}
	p.problems.update(p.log, r.problems)
	if r.change.Hold != "" {
		p.log.Error().Str("folder", tree.Root).Str("hold", r.change.Hold).
			Msg("ALARM: the folder is not followed; what served before goes on serving")
		p.publisher.Reloaded(server.Reload{Result: "held", Hold: r.change.Hold, Stages: r.stages})
		return
	}
	if p.waiting(r) {
		p.publisher.Reloaded(server.Reload{
			Result: "waiting", Awaits: "the folder " + tree.Root + " is not there and is waited for", Stages: r.stages,
		})
		return
	}
	p.summarize(r)
	outcome := "ok"
	if len(r.problems) > 0 {
		outcome = "problems"
	}
	p.publisher.Reloaded(server.Reload{Result: outcome, OK: true, Stages: r.stages})
}

// run takes a Tree through all steps.
func (p *pipeline) run(r *reload) (ok bool) {
	return p.guard(r, func() {
		r.time("store", func() { r.change = p.apply(r.tree) })
		p.flaws = r.change.Problems
		r.splitStore()
		p.publish(r)
	})
}

// publish serves what follows from the Change.
func (p *pipeline) publish(r *reload) {
	r.time("translate", func() { r.result = p.translate(r.change) })
	r.time("locate", func() { r.problems = p.located(r.change, r.result) })
	if p.waiting(r) {
		p.unsure = false // there was nothing in it
		return
	}
	r.result.Problems = r.problems
	r.time("publish", func() { p.publisher.Publish(r.result) })
	p.ledger.published(r.result)
	p.published, p.unsure = true, false
	if p.save != nil {
		p.save()
	}
}

// guard is the barrier around the steps: a panic in one of them is our mistake,
// not the user's. It is logged with its stack, and no later step runs.
func (p *pipeline) guard(r *reload, steps func()) (ok bool) {
	defer func() {
		if mistake := recover(); mistake != nil {
			p.log.Error().Str("step", r.step).Str("panic", fmt.Sprint(mistake)).Bytes("stack", debug.Stack()).
				Msg("a mistake in gatefold: this change of the folder is not served, what served before is; please report it")
		}
	}()
	steps()
	return true
}

// translate goes on from the Change before, or starts anew when that one was
// lost to a mistake: a Translator left half-done would serve wrong routes.
func (p *pipeline) translate(change store.Change) translate.Result {
	p.ledger.changed(change)
	if !p.unsure {
		p.unsure = true
		return p.translator.Apply(change)
	}
	p.translator = p.newTranslator()
	p.translator.Quarantine(p.refused)
	all := p.all()
	return p.ledger.complete(p.translator.Apply(all), all)
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
	run()
	r.stages[step] = time.Since(start)
}

// stageNames are the stages that a summary tells, in their order.
func stageNames() []string { return []string{"scan", "parse", "validate", "translate", "publish"} }

// reloadFields are the fields of a summary, in the order that a console shows.
func reloadFields() []string {
	fields := []string{"files", "objects", "changed", "resources", "errors", "warnings"}
	for _, stage := range stageNames() {
		fields = append(fields, stage+"_ms")
	}
	return append(fields, "total_ms", "revision")
}

// summarize writes the one line of a reload. total_ms counts from the moment
// that the first change was seen, quiet time included.
func (p *pipeline) summarize(r *reload) {
	line := p.log.Info().Int("files", r.change.Stats.Files).Int("objects", r.change.Stats.Objects).
		Int("changed", len(r.change.Set)+len(r.change.Gone)+len(r.change.Invalid)).Int("resources", len(r.result.Delta)).
		Int("errors", p.errors).Int("warnings", p.warnings)
	for _, stage := range stageNames() {
		line.Float64(stage+"_ms", milliseconds(r.stages[stage]))
	}
	line.Float64("total_ms", milliseconds(time.Since(r.tree.Noticed)))
	if r.tree.Revision != "" {
		line.Str("revision", r.tree.Revision)
	}
	line.Msg("reloaded")
}
