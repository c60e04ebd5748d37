package page

import (
	"net/http"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/store/manifest"
)

// editPage lists the last edits of the folder, the newest first.
type editPage struct {
	Rows   []editRow
	Envoys int
}

// editRow is an edit, and how many Envoys have applied it.
type editRow struct {
	admin.Edit
	// Serving is true if the revision of the edit is served now.
	Serving bool
	Held    int // Envoys that have this or a newer revision
}

// maxKeysShown limits how many objects the page shows in each list of an edit (see editRow.Lists).
const maxKeysShown = 10

// edits returns the body of the page of edits. The error is always nil.
func (p *pages) edits(*http.Request) (any, error) {
	served, streams := p.documents.Revisions(), p.documents.Streams()
	page := editPage{Envoys: len(streams)}
	for _, e := range served.Edits {
		row := editRow{Edit: e, Serving: e.Revision > 0 && e.Revision == served.Revision}
		for _, s := range streams {
			if e.Revision > 0 && s.Revision >= e.Revision {
				row.Held++
			}
		}
		page.Rows = append(page.Rows, row)
	}
	return page, nil
}

// keyList is a list of objects as the page shows it: the first objects, a text about the list, and the number of
// objects that are not shown.
type keyList struct {
	Words string
	Keys  []manifest.Key
	More  int
}

// Lists returns up to two lists for an edit: the objects that it added or changed, and the objects that it
// removed. A list without objects is left out.
func (e editRow) Lists() (lists []keyList) {
	for _, l := range []struct {
		words string
		keys  []manifest.Key
		all   int
	}{{"new or changed", e.Set, e.SetCount}, {"removed", e.Removed, e.RemovedCount}} {
		if l.all > 0 {
			shown := l.keys[:min(len(l.keys), maxKeysShown)]
			lists = append(lists, keyList{l.words, shown, l.all - len(shown)})
		}
	}
	return lists
}

// Words returns the result of the edit in words for the page.
func (e editRow) Words() string {
	switch e.Result {
	case "ok":
		return "served"
	case "problems":
		return "served, with problems"
	}
	return e.Result
}

// Class returns the CSS class for the result.
func (e editRow) Class() string {
	switch {
	case e.Result == "frozen" || e.Result == "failed":
		return "bad"
	case e.Errors > 0 || e.Warnings > 0 || e.Result == "waiting":
		return "warn"
	}
	return "good"
}
