package server

import (
	"cmp"
	"net/http"
)

// reloadPath is the one admin page that changes something (design section 8).
const reloadPath = "/api/v1/reload"

// reloadPage applies the folder again: POST, with allow-empty=true also when
// that ends a hold by removing everything. It answers when the folder is
// published, or 409 with the reason when it is still held, or not there yet. No page
// of a browser has business here.
func (s *Server) reloadPage(w http.ResponseWriter, r *http.Request) {
	switch {
	case fromBrowser(r):
		answer(w, http.StatusForbidden, word{Error: "a browser may not reload"})
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		answer(w, http.StatusMethodNotAllowed, word{Error: "reload by POST"})
		return
	case s.options.Reload == nil:
		answer(w, http.StatusNotFound, word{Error: "nothing here can be reloaded"})
		return
	}
	s.forgive()
	s.options.Reload(r.URL.Query().Get("allow-empty") == "true")
	s.mu.Lock()
	hold := cmp.Or(s.hold, s.awaits)
	s.mu.Unlock()
	if hold != "" {
		answer(w, http.StatusConflict, word{Error: hold})
		return
	}
	answer(w, http.StatusOK, word{Status: "reloaded"})
}
