package admin

import (
	"errors"
	"net/http"

	"github.com/gatefold/gatefold/translate/explain"
)

// explain serves the page /api/v1/explain: ?method=&url=&header=&gateway=&from=. header is "name: value" and
// repeatable. The report is about the last published configuration, even if some Envoys do not have it yet.
// Files and lines are those of the folder as it was read last. An invalid query gets 400, and a query before the
// first publication gets 503.
func (p pages) explain(w http.ResponseWriter, r *http.Request) {
	report, err := p.documents.Explain(r.URL.Query())
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, http.StatusOK, report)
}

// tree is the page /api/v1/tree: ?host=&path=&namespace=&route=, which mean the same as the flags of gatefold
// tree. An invalid filter gets 400, and a request before the first publication gets 503.
func (p pages) tree(w http.ResponseWriter, r *http.Request) {
	filter, err := explain.ReadTreeFilter(r.URL.Query())
	if err != nil {
		refuse(w, err)
		return
	}
	nodes, err := p.documents.Tree(filter, true)
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, http.StatusOK, nodes)
}

// refuse answers a request with the error err: with status 503 if err is ErrUnloaded, and with 400 otherwise.
func refuse(w http.ResponseWriter, err error) {
	code := http.StatusBadRequest
	if errors.Is(err, ErrUnloaded) {
		code = http.StatusServiceUnavailable
	}
	answer(w, code, word{Error: err.Error()})
}
