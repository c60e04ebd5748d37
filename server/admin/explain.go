package admin

import (
	"net/http"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/status"
)

// explain tells what is done with a request: ?method=&url=&header=&gateway=&from=,
// header as "name: value" and as often as need be. It answers for what was
// published last, whether or not each Envoy has it yet; the places are those of
// the folder as it was read last. A question without an answer gets 400.
func (p pages) explain(w http.ResponseWriter, r *http.Request) {
	facts, view := p.facts(w)
	if view == nil {
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

// tree shows what is served as a tree: ?host=&path=&namespace=&route=, as the flags of gatefold tree.
// A filter that is none gets 400.
func (p pages) tree(w http.ResponseWriter, r *http.Request) {
	filter, err := explain.ReadTreeFilter(r.URL.Query())
	if err != nil {
		answer(w, http.StatusBadRequest, word{Error: err.Error()})
		return
	}
	facts, view := p.facts(w)
	if view == nil {
		return
	}
	facts.View = view()
	answer(w, http.StatusOK, explain.Tree(facts, filter))
}

// facts returns what was published last, and a function that builds its View: nil if nothing was
// loaded yet, which the client is then told.
func (p pages) facts(w http.ResponseWriter) (explain.Facts, func() *ir.View) {
	view, facts := p.Loaded.Facts()
	if view == nil {
		answer(w, http.StatusServiceUnavailable, word{Error: "nothing has been loaded yet"})
		return facts, nil
	}
	if p.Folder != nil {
		facts.Places, facts.Outlines, facts.Labels = p.Folder.Places, p.Folder.Outlines, p.Folder.Labels
	}
	slices.SortFunc(facts.Statuses, func(a, b status.Update) int { return manifest.CompareKeys(a.Key, b.Key) })
	return facts, view
}
