package admin

import (
	"net/http"
	"time"
)

// RevisionList is the page /api/v1/revisions.
type RevisionList struct {
	// Revision is the number of what is served; 0 before the first. It counts the edits that were
	// published since gatefold started.
	Revision uint64 `json:"revision"`
	// Since is when it was published.
	Since time.Time `json:"since,omitzero"`
	// Edits are the last edits, newest first.
	Edits []Edit `json:"edits"`
}

// Edit is one change of what is served, or an attempt at one.
type Edit struct {
	// Revision is the number that it was published as; 0 if it was not published.
	Revision uint64 `json:"revision,omitempty"`
	// Commit is the last part of the target of the folder's link, which is the commit where git-sync
	// keeps the folder; "" for a folder that is no link.
	Commit string `json:"commit,omitempty"`
	// Time is when it had been published, or ended otherwise.
	Time time.Time `json:"time"`
	// Result is "ok", "problems", "held", "waiting" or "failed"; "republished" if not the folder has
	// changed but what else is served from: the answers of Envoys, or of OpenID providers.
	Result string `json:"result"`
	// Reason says why it was not published.
	Reason string `json:"reason,omitempty"`
	Changes
	// Resources counts the Envoy resources that changed.
	Resources int `json:"resources"`
	Errors    int `json:"errors"`
	Warnings  int `json:"warnings"`
	// Milliseconds is the time from the first notice of the change to its end; 0 where it is not known.
	Milliseconds float64 `json:"milliseconds,omitempty"`
	// Steps are its steps in order, with the time that each took.
	Steps []Step `json:"steps,omitempty"`
}

// Step is one step of an edit.
type Step struct {
	Name         string  `json:"name"`
	Milliseconds float64 `json:"milliseconds"`
}

func (p pages) revisions(w http.ResponseWriter, r *http.Request) {
	if onlyQuery(w, r) {
		answer(w, http.StatusOK, p.documents.Revisions())
	}
}
