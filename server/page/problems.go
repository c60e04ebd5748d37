package page

import (
	"net/http"
	"slices"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/store/manifest"
)

// problemsShown is how many problems one page shows at most (see piece).
const problemsShown = 50

// problemPage lists the problems of one namespace, or all problems if Namespace is "".
type problemPage struct {
	Namespace        string
	Errors, Warnings int
	Problems         []manifest.Problem
	Piece            piece
}

// problems returns the body of the page of problems. It returns an error if the query is invalid.
func (p *pages) problems(r *http.Request) (any, error) {
	query := r.URL.Query()
	page := problemPage{Namespace: query.Get("namespace")}
	all := p.documents.Problems().Problems
	if page.Namespace != "" {
		all = slices.DeleteFunc(slices.Clone(all), func(p manifest.Problem) bool { return p.Object.Namespace != page.Namespace })
	}
	page.Errors, page.Warnings = manifest.Count(all)
	var err error
	page.Problems, page.Piece, err = sliced(errorsFirst(all), longList{admin.PagePath + "problems", query, problemsShown})
	return page, err
}
