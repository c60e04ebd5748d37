package admin

import (
	"net/http"
	"time"
)

// RevisionList is the page /api/v1/revisions.
type RevisionList struct {
	// Revision is the number of the served revision; 0 before the first. It counts the edits that were published
	// since gatefold started.
	Revision uint64 `json:"revision"`
	// Since is when the revision was published.
	Since time.Time `json:"since,omitzero"`
	// LiveDigest is a number that stands for the versions of all objects that are served. Two gatefolds that serve the
	// same versions have the same number. It is left out before the first revision.
	LiveDigest uint64 `json:"liveDigest,omitempty"`
	// Edits are the last 50 edits, the newest first.
	Edits []Edit `json:"edits"`
}

// Edit is one change of what is served, or an attempt.
type Edit struct {
	// Revision is the revision that the edit made; 0 if it was not published.
	Revision uint64 `json:"revision,omitempty"`
	// Commit is the last element of the path to which the folder's symbolic link points. With git-sync, this is
	// the commit. It is "" if the folder is not a symbolic link.
	Commit string `json:"commit,omitempty"`
	// Time is when the edit was published, or ended without that.
	Time time.Time `json:"time"`
	// Result is "ok" if the folder is applied without problems, and "problems" if it is applied with problems. It
	// is "frozen" if the folder is frozen, "waiting" if it does not exist yet, and "failed" after an error in
	// gatefold. It is "republished" if only another input changed: for example, answers of Envoys or of OpenID
	// providers.
	Result string `json:"result"`
	// Reason says why the edit was not published.
	Reason string `json:"reason,omitempty"`
	Changes
	// Resources counts the Envoy resources that changed.
	Resources int `json:"resources"`
	Errors    int `json:"errors"`
	Warnings  int `json:"warnings"`
	// Milliseconds is the time from the first notice of the change to its end; 0 if it is not known.
	Milliseconds float64 `json:"milliseconds,omitempty"`
	// Steps are the steps of the edit in order, with the time that each took.
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
