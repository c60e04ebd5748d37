package server

import (
	"cmp"
	"net/http"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// explainPage tells what is done with a request: ?method=&url=&header=&gateway=,
// header as "name: value" and as often as need be. It answers for what was
// published last, whether or not each Envoy has it yet; the places are those of
// the folder as it was read last. A question without an answer gets 400.
func (s *Server) explainPage(w http.ResponseWriter, r *http.Request) {
	var view func() *ir.View
	var problems []store.Problem
	s.locked(func() { view, problems = s.view, s.problems })
	if view == nil {
		answer(w, http.StatusServiceUnavailable, word{Error: "nothing has been loaded yet"})
		return
	}
	asked := r.URL.Query()
	query, err := explain.NewQuery(cmp.Or(asked.Get("method"), http.MethodGet), asked.Get("url"), asked["header"])
	query.Gateway = asked.Get("gateway")
	var report *explain.Report
	if err == nil {
		report, err = explain.Explain(explain.Facts{View: view(), Problems: problems, Places: s.options.Places}, query)
	}
	if err != nil {
		answer(w, http.StatusBadRequest, word{Error: err.Error()})
		return
	}
	answer(w, http.StatusOK, report)
}
