package engine

import (
	"time"

	"github.com/gatefold/gatefold/server/admin"
)

// edits reports runs of the pipeline to the server, each as an admin.Edit: what changed, and the result. The admin
// pages show these edits.
type edits struct {
	server interface {
		Edited(edit admin.Edit, published bool)
	}
}

// observe reports a run of the pipeline to the server, for the admin pages. It leaves out these runs:
//   - a reload of the folder that published a result, although nothing changed
//   - a run that published nothing, if it was for another input than the folder
func (e edits) observe(r *run) {
	if r.tree != nil && r.published && r.nothing() {
		return
	}
	if r.tree != nil || r.published {
		e.server.Edited(editOf(r, time.Now()), r.published)
	}
}

// editOf converts a run to the Edit that the admin pages show. The parameter now is the time at which the run ended.
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
