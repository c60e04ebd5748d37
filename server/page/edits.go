package page

import (
	"net/http"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/store/manifest"
)

// editPage shows the last edits, newest first.
type editPage struct {
	Rows   []editRow
	Envoys int
}

// editRow is an edit, with the number of Envoys that have it.
type editRow struct {
	admin.Edit
	Serving bool
	Held    int // Envoys that hold it, or a newer one
}

// maxKeysShown is how many objects of each sort an edit shows.
const maxKeysShown = 10

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

// keyList is the first of many objects.
type keyList struct {
	Words string
	Keys  []manifest.Key
	More  int
}

// Lists returns the objects that the edit changed and removed.
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

// Words returns how the edit ended.
func (e editRow) Words() string {
	switch e.Result {
	case "ok":
		return "served"
	case "problems":
		return "served, with problems"
	case "held":
		return "frozen"
	case "failed":
		return "failed"
	}
	return e.Result
}

// Class returns the CSS class of the result.
func (e editRow) Class() string {
	switch {
	case e.Result == "held" || e.Result == "failed":
		return "bad"
	case e.Errors > 0 || e.Warnings > 0 || e.Result == "waiting":
		return "warn"
	}
	return "good"
}
