package admin

import (
	"net"
	"net/http"
	"net/http/pprof"
)

// addProfiles adds the profiles of this process, for `go tool pprof`.
// They are there on loopback and unix sockets alone, wherever the other pages are, as
// taking one costs time; a browser's page may not ask for them.
//
// Only the binary form is given: as text, a dump of goroutines shows the arguments of
// functions. The command line and the table of symbols are left out: the one may name
// what is nobody's business, and the profiles bring their symbols with them.
func addProfiles(pages *http.ServeMux, address net.Addr) {
	pages.Handle("/debug/pprof/profile", localTool(http.HandlerFunc(pprof.Profile), address))
	pages.Handle("/debug/pprof/trace", localTool(http.HandlerFunc(pprof.Trace), address))
	for _, name := range []string{"allocs", "goroutine", "heap"} {
		pages.Handle("/debug/pprof/"+name, localTool(pprof.Handler(name), address))
	}
}

// localTool accepts only requests of programs on this host.
func localTool(page http.Handler, address net.Addr) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tcp, ok := reachedAt(r, address).(*net.TCPAddr)
		switch {
		case fromBrowser(r):
			answer(w, http.StatusForbidden, word{Error: "a browser may not take a profile"})
		case ok && !tcp.IP.IsLoopback():
			answer(w, http.StatusForbidden, word{Error: "profiles are for this host: ask over loopback or the unix socket"})
		case r.FormValue("debug") != "":
			answer(w, http.StatusBadRequest, word{Error: "profiles come in their binary form, without debug"})
		default:
			page.ServeHTTP(w, r)
		}
	})
}
