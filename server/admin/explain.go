package admin

import (
	"errors"
	"net/http"

	"github.com/gatefold/gatefold/translate/explain"
)

// explain returns what happens to a request: ?method=&url=&header=&gateway=&from=, header as "name:
// value", repeatable. It answers for the last published configuration, even if some Envoys do not
// have it yet. Places are those of the folder as it was read last. An invalid question gets 400.
func (p pages) explain(w http.ResponseWriter, r *http.Request) {
	report, err := p.documents.Explain(r.URL.Query())
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, http.StatusOK, report)
}

// tree returns what is served as a tree: ?host=&path=&namespace=&route=, as the flags of gatefold
// tree. An invalid filter gets 400.
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

// refuse answers 503 before the first load, and 400 to an invalid question.
func refuse(w http.ResponseWriter, err error) {
	code := http.StatusBadRequest
	if errors.Is(err, ErrUnloaded) {
		code = http.StatusServiceUnavailable
	}
	answer(w, code, word{Error: err.Error()})
}
