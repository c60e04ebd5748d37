package server

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/server/figures"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// loaded is the result of loading the folder, for the admin pages (admin.Loaded). It has its own lock. The locks
// are locked in this order: the server's lock, this lock, the board's lock. With this order, a page can read the
// configuration and the statuses of the same moment.
type loaded struct {
	folder  admin.Folder // nil if no folder is configured
	board   *board.Board
	metrics *figures.Set
	waiting func() int64 // returns the number of streams that wait for the first load

	mu        sync.Mutex
	published bool // true after the first publish
	problems  []manifest.Problem
	errors    int
	warnings  int
	view      func() *ir.View // returns the View of the newest Result; nil before the first
	hold      string          // why the folder is not applied (Reload.Hold); "" if it is
	awaits    string          // what the first load waits for (Reload.Awaits)
	failed    bool            // the last reload failed because of an error in gatefold itself
	unsaved   string          // why the state cannot be saved; "" if it can
	revisions admin.RevisionList
	// generation counts the calls of publish.
	generation uint64
}

// publish stores a result for the pages. It reports whether the result is the first one.
func (l *loaded) publish(result translate.Result) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first = !l.published
	l.setProblems(result.Problems)
	l.board.Publish(result.Status, result.Stale)
	l.view = result.View
	l.generation++
	l.published = true
	return first
}

// setProblems stores the problems, and counts them by severity. If the problems are the same as those stored
// before, setProblems does nothing.
func (l *loaded) setProblems(problems []manifest.Problem) {
	if l.published && store.SameProblems(problems, l.problems) {
		return
	}
	l.problems, l.errors, l.warnings = problems, 0, 0
	for _, p := range problems {
		switch p.Severity {
		case manifest.Error:
			l.errors++
		case manifest.Warning:
			l.warnings++
		}
	}
	l.metrics.CountProblems(problems)
}

// reloaded stores the result of a reload. Before the first publish, it also stores the problems: they say why nothing
// is served.
func (l *loaded) reloaded(r Reload) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold, l.awaits, l.failed = r.Hold, r.Awaits, r.Result == "failed"
	if !l.published && !l.failed {
		l.setProblems(r.Problems)
	}
}

// setUnsaved stores why the state cannot be saved; "" means that it can.
func (l *loaded) setUnsaved(reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unsaved = reason
}

// busy returns which step is in progress while a change of the folder is applied, and for how long. The result is
// zero if no folder is configured.
func (l *loaded) busy() admin.Busy {
	if l.folder == nil {
		return admin.Busy{}
	}
	return l.folder.Busy()
}

// unloaded returns, while nothing is published yet, a text with the reason (if it is known) and with how many
// Envoys wait. After the first publish it returns "".
func (l *loaded) unloaded() string {
	l.mu.Lock()
	published, awaits := l.published, cmp.Or(l.awaits, l.hold)
	l.mu.Unlock()
	if published {
		return ""
	}
	words := "nothing has been loaded yet"
	if awaits != "" {
		words += ": " + awaits
	}
	if n := l.waiting(); n > 0 {
		words += fmt.Sprintf("; Envoys that wait for it: %d", n)
	}
	return words
}

// Unready implements admin.Loaded. The gRPC health service uses it, too.
func (l *loaded) Unready() string {
	return cmp.Or(l.unloaded(), l.busy().Unready())
}

// Problems implements admin.Loaded.
func (l *loaded) Problems() admin.ProblemList {
	unloaded, busy := l.unloaded(), l.busy().Words()
	l.mu.Lock()
	defer l.mu.Unlock()
	return admin.ProblemList{Unloaded: unloaded, Frozen: l.hold, Busy: busy, State: l.unsaved, Problems: l.problems}
}

// View implements admin.Loaded.
func (l *loaded) View() func() *ir.View {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.view
}

// Facts implements admin.Loaded.
func (l *loaded) Facts() (view func() *ir.View, facts explain.Facts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	facts.Problems = l.problems
	facts.Statuses, facts.Stale = l.board.Known()
	return l.view, facts
}

// Generation implements admin.Loaded.
func (l *loaded) Generation() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.generation
}

// maxEdits is how many edits the pages show.
const maxEdits = 50

// edited stores the newest edit of the folder for the admin pages, and drops the oldest one if there are more
// than maxEdits. If the edit led to a revision, the pages show this revision as the newest one from then on.
func (l *loaded) edited(edit admin.Edit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if edit.Revision > 0 {
		l.revisions.Revision, l.revisions.Since = edit.Revision, edit.Time
	}
	l.revisions.Edits = slices.Insert(l.revisions.Edits, 0, edit)
	l.revisions.Edits = l.revisions.Edits[:min(len(l.revisions.Edits), maxEdits)]
}

// setDigest stores the digest of the served versions.
func (l *loaded) setDigest(live uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.revisions.LiveDigest = live
}

// Revisions implements admin.Loaded.
func (l *loaded) Revisions() admin.RevisionList {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.revisions
	list.Edits = append([]admin.Edit{}, list.Edits...)
	return list
}

// Outcome implements admin.Loaded.
func (l *loaded) Outcome() admin.Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	return admin.Outcome{Waits: cmp.Or(l.hold, l.awaits), Failed: l.failed, Errors: l.errors, Warnings: l.warnings}
}
