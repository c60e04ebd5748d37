package admin

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/store/manifest"
)

// ProblemList is the page /api/v1/problems.
type ProblemList struct {
	// Unloaded says that nothing has been loaded yet, and how many Envoys wait for it.
	Unloaded string `json:"unloaded,omitempty"`
	// Frozen says why the folder is frozen, and what to do.
	Frozen string `json:"frozen,omitempty"`
	// Busy says which step has been running for a long time, and what that means.
	Busy string `json:"busy,omitempty"`
	// State says why the state cannot be saved for a restart.
	State string `json:"state,omitempty"`
	// Problems are the problems of the folder. The page always has the list, even if it is empty.
	Problems []manifest.Problem `json:"problems,omitzero"`
}

// problems is the page /api/v1/problems. With ?namespace= it has only the problems of objects in that
// namespace.
func (p pages) problems(w http.ResponseWriter, r *http.Request) {
	if !onlyQuery(w, r, "namespace") {
		return
	}
	list := p.documents.Problems()
	if namespace := r.URL.Query().Get("namespace"); namespace != "" {
		list.Problems = slices.DeleteFunc(slices.Clone(list.Problems), func(p manifest.Problem) bool { return p.Object.Namespace != namespace })
	}
	if list.Problems == nil {
		list.Problems = []manifest.Problem{}
	}
	answer(w, http.StatusOK, list)
}

// status serves the page /api/v1/status and the pages below it: the objects that the path and ?namespace= select.
// It answers 400 for an unknown kind or query parameter, for a namespace of a cluster-scoped kind, and for a name of
// a namespaced kind without a namespace. It answers 404 if the path names an object without a status.
func (p pages) status(w http.ResponseWriter, r *http.Request) {
	if !onlyQuery(w, r, "namespace") {
		return
	}
	kind, namespace, name := r.PathValue("kind"), r.PathValue("namespace"), r.PathValue("name")
	if asked := r.URL.Query().Get("namespace"); asked != "" && namespace == "" {
		namespace = asked
	}
	filter, err := board.NewFilter(kind, namespace, name)
	if err != nil {
		answer(w, http.StatusBadRequest, word{Error: err.Error()})
		return
	}
	list := p.documents.Status(filter)
	if name != "" && len(list.Items) == 0 {
		answer(w, http.StatusNotFound, word{Error: p.documents.Missing(filter)})
		return
	}
	answer(w, http.StatusOK, list)
}

// onlyQuery reports whether all query parameters of the request have one of the given names. If not, it also
// answers 400: a page that ignored a misspelled filter would show everything.
func onlyQuery(w http.ResponseWriter, r *http.Request, names ...string) (ok bool) {
	for _, name := range slices.Sorted(maps.Keys(r.URL.Query())) {
		if slices.Contains(names, name) {
			continue
		}
		message := fmt.Sprintf("unknown query parameter %q", name)
		if like := manifest.Nearest(name, names); like != "" {
			message += fmt.Sprintf(" (did you mean %s?)", like)
		}
		answer(w, http.StatusBadRequest, word{Error: message})
		return false
	}
	return true
}
