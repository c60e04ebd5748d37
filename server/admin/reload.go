package admin

import (
	"net/http"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
)

// ReloadPath is the only admin page that changes something (docs/design/status.md).
const ReloadPath = "/api/v1/reload"

// maxChanges is how many objects each list in the type Changes has at most.
const maxChanges = 100

// Changes are the objects that a reload added, changed and removed.
type Changes struct {
	// Set lists the objects that are new or changed, and valid. Removed lists the objects that are no longer served.
	// Each list has at most 100 objects (maxChanges). SetCount and RemovedCount are the numbers of all such objects.
	Set          []manifest.Key `json:"set,omitempty"`
	Removed      []manifest.Key `json:"removed,omitempty"`
	SetCount     int            `json:"setCount"`
	RemovedCount int            `json:"removedCount"`
}

// Add adds to c the objects that one Change of the store has set or removed. c lists at most maxChanges objects of
// each kind of change, and counts all of them.
func (c *Changes) Add(change store.Change) {
	c.SetCount += len(change.Set)
	c.RemovedCount += len(change.Gone)
	for _, o := range change.Set[:min(len(change.Set), maxChanges-len(c.Set))] {
		c.Set = append(c.Set, o.Key)
	}
	c.Removed = append(c.Removed, change.Gone[:min(len(change.Gone), maxChanges-len(c.Removed))]...)
}

// Reloaded is the answer of the page to a successful reload.
type Reloaded struct {
	Status string `json:"status"`
	Changes
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
}

// reload serves the page ReloadPath. A POST loads the folder again, and sends again what Envoys rejected. With
// allow-empty=true, a folder that is empty or does not exist is applied, too. With promote=true, revisions that only
// canaries have go to all Envoys. The response lists what changed. An error has one of these statuses:
//   - 400: the query has an unknown parameter
//   - 403: a browser sends the request
//   - 404: this gatefold was started without a folder
//   - 405: the method is not POST
//   - 409, with the reason: the folder is frozen (its changes are not applied), or does not exist
//   - 500: an error in gatefold kept the folder from being applied
//   - 503: gatefold stops before the folder is loaded
func (p pages) reload(w http.ResponseWriter, r *http.Request) {
	switch {
	case fromBrowser(r):
		answer(w, http.StatusForbidden, word{Error: "a browser may not reload"})
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		answer(w, http.StatusMethodNotAllowed, word{Error: "reload by POST"})
		return
	case p.Folder == nil:
		answer(w, http.StatusNotFound, word{Error: "nothing here can be reloaded"})
		return
	case !onlyQuery(w, r, "allow-empty", "promote"):
		return
	}
	p.Envoys.Forgive()
	changes, err := p.Folder.Reload(r.Context(), r.URL.Query().Get("allow-empty") == "true")
	if err != nil {
		answer(w, http.StatusServiceUnavailable, word{Error: "gatefold stops, and the reload was not waited for"})
		return
	}
	if r.URL.Query().Get("promote") == "true" {
		p.Envoys.Promote(r.Context())
	}
	outcome := p.Loaded.Outcome()
	switch {
	case outcome.Failed:
		answer(w, http.StatusInternalServerError, word{Error: "a mistake in gatefold kept the change from being applied; what was served before is served; see the log of gatefold"})
	case outcome.Waits != "":
		answer(w, http.StatusConflict, word{Error: outcome.Waits})
	default:
		answer(w, http.StatusOK, Reloaded{Status: "reloaded", Changes: changes, Errors: outcome.Errors, Warnings: outcome.Warnings})
	}
}

// Outcome is the result of a reload.
type Outcome struct {
	// Waits says why the folder is frozen, or what is missing before the first load; "" if it is applied.
	Waits string
	// Failed is true if an error in gatefold itself kept the folder from being applied.
	Failed bool
	// Errors and Warnings count the problems of the folder.
	Errors, Warnings int
}
