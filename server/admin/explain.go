package admin

import (
	"net/http"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/status"
)

// explain tells what is done with a request: ?method=&url=&header=&gateway=&from=,
// header as "name: value" and as often as need be. It answers for what was
// published last, whether or not each Envoy has it yet; the places are those of
// the folder as it was read last. A question without an answer gets 400.
func (p pages) explain(w http.ResponseWriter, r *http.Request) {
	view, facts := p.Loaded.Facts()
	if p.Folder != nil {
		facts.Places, facts.Outlines, facts.Labels = p.Folder.Places, p.Folder.Outlines, p.Folder.Labels
	}
	slices.SortFunc(facts.Statuses, func(a, b status.Update) int { return manifest.CompareKeys(a.Key, b.Key) })
	if view == nil {
		answer(w, http.StatusServiceUnavailable, word{Error: "nothing has been loaded yet"})
		return
	}
	asked := r.URL.Query()
	query, err := explain.NewQuery(explain.MethodFor(asked.Get("method"), asked.Get("url")), asked.Get("url"), asked["header"])
	query.Gateway = asked.Get("gateway")
	if err == nil {
		err = query.SetFrom(asked.Get("from"))
	}
	var report *explain.Report
	if err == nil {
		facts.View = view()
		report, err = explain.Explain(facts, query)
	}
	if err != nil {
		answer(w, http.StatusBadRequest, word{Error: err.Error()})
		return
	}
	answer(w, http.StatusOK, report)
}
