package engine

import (
	"time"

	"github.com/gatefold/gatefold/server/admin"
)

// edits passes the result of each edit to the server, for its pages.
type edits struct {
	server interface {
		Edited(edit admin.Edit, published bool)
	}
}

// observe implements observer. It ignores a run for a Tree that changed nothing, and a run without a Tree that
// published nothing.
func (e edits) observe(r *run) {
	if r.tree != nil && r.published && r.nothing() {
		return
	}
	if r.tree != nil || r.published {
		e.server.Edited(editOf(r, time.Now()), r.published)
	}
}

// editOf returns the edit that a run made. now is when the run ended.
func editOf(r *run, now time.Time) admin.Edit {
	edit := admin.Edit{Time: now.UTC(), Result: r.reload.Result, Resources: len(r.result.Delta), Errors: r.errors, Warnings: r.warnings}
	if r.tree == nil {
		edit.Result = "republished"
		return edit
	}
	edit.Commit = r.tree.Revision
	edit.Milliseconds = milliseconds(now.Sub(r.tree.Noticed))
	edit.Reason = r.reload.Hold + r.reload.Awaits // at most one is set
	edit.Add(r.change)
	for _, stage := range stageNames() {
		if took, ok := r.reload.Stages[stage]; ok {
			edit.Steps = append(edit.Steps, admin.Step{Name: stage, Milliseconds: milliseconds(took)})
		}
	}
	return edit
}
