package engine

import (
	"errors"
	"time"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/watcher"
)

// run is one pass through the pipeline, with its results. It begins when the folder has a new state (Tree), or
// when another input has changed, such as what Envoys rejected.
type run struct {
	tree      *watcher.Tree // nil if the run is for another input, and not for the folder
	change    store.Change
	result    translate.Result
	problems  []manifest.Problem // all current problems, with their places
	errors    int                // the number of errors among problems
	warnings  int                // the number of warnings among problems
	published bool
	reload    server.Reload // the result of the run; without a Tree, it has only Stages

	faulty map[manifest.Key]store.Held // edits that are not applied, because gatefold itself fails at them
	frozen store.Frozen                // what is frozen besides

	first bool // nothing was published before the run
	asked bool // a user waits for the run (pipeline.again)
	step  string
	busy  *busy
}

// conclude stores in r.reload how the run ended, for metrics and pages. The parameter err is the error of the
// run. If the run was not for a new Tree of the folder, conclude does nothing.
func (r *run) conclude(err error) {
	if r.tree == nil {
		return
	}
	switch {
	case errors.Is(err, errWaiting):
		r.reload.Result, r.reload.Awaits = "waiting", "the folder "+r.tree.Root+" is not there and is waited for"
		if r.change.Hold != "" {
			r.reload.Result, r.reload.Awaits, r.reload.Hold = "frozen", "", r.change.Hold
		}
		r.reload.Problems = r.problems
	case err != nil:
		r.reload.Result = "failed"
	case r.change.Hold != "":
		r.reload.Result, r.reload.Hold = "frozen", r.change.Hold
	default:
		r.reload.Result, r.reload.OK = "ok", true
		if len(r.problems) > 0 {
			r.reload.Result = "problems"
		}
	}
}

// changed returns the keys of all objects that the Change of the run names.
func (r *run) changed() (keys []manifest.Key) {
	for _, o := range r.change.Set {
		keys = append(keys, o.Key)
	}
	keys = append(keys, r.change.Gone...)
	for _, i := range r.change.Invalid {
		keys = append(keys, i.Key)
	}
	return keys
}

// splitStore splits the duration of the step store into parse and validate. The store reports these times as
// sums over all cores, so only their ratio is used.
func (r *run) splitStore() {
	parse, validate := r.change.Stats.Parse, r.change.Stats.Validate
	share := 0.0
	if parse+validate > 0 {
		share = float64(parse) / float64(parse+validate)
	}
	stages := r.reload.Stages
	stages["parse"] = time.Duration(share * float64(stages["store"]))
	stages["validate"] = stages["store"] - stages["parse"]
	delete(stages, "store")
}

// time runs one step, and adds its duration to r.reload.Stages.
func (r *run) time(step string, work func()) {
	r.step = step
	start := time.Now()
	r.busy.begin(step)
	work()
	r.reload.Stages[step] += time.Since(start)
}
