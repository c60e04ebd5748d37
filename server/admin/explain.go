package admin

import (
	"errors"
	"net/http"

	"github.com/gatefold/gatefold/translate/explain"
)

// explain tells what is done with a request: ?method=&url=&header=&gateway=&from=,
// header as "name: value" and as often as need be. It answers for what was
// published last, whether or not each Envoy has it yet; the places are those of
// the folder as it was read last. A question without an answer gets 400.
func (p pages) explain(w http.ResponseWriter, r *http.Request) {
	report, err := p.documents.Explain(r.URL.Query())
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, http.StatusOK, report)
}

// tree shows what is served as a tree: ?host=&path=&namespace=&route=, as the flags of gatefold tree.
// A filter that is none gets 400.
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

// refuse answers 503 before the first load, and 400 to a question that is none.
func refuse(w http.ResponseWriter, err error) {
	code := http.StatusBadRequest
	if errors.Is(err, ErrUnloaded) {
		code = http.StatusServiceUnavailable
	}
	answer(w, code, word{Error: err.Error()})
}
