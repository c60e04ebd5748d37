package admin

import (
	"net"
	"net/http"
	"net/http/pprof"
)

// addProfiles adds the profiles of this process to the admin pages (the parameter pages), for `go tool pprof`. Only
// programs on this host may read them, over loopback or a unix socket, because a profile costs time. A browser may
// not read them.
//
// Only the binary form is served, because a dump of goroutines as text contains arguments of functions. The
// command line is not served, because it may contain secrets. The table of symbols is not served, because
// profiles contain their symbols.
func addProfiles(pages *http.ServeMux, address net.Addr) {
	pages.Handle("/debug/pprof/profile", localTool(http.HandlerFunc(pprof.Profile), address))
	pages.Handle("/debug/pprof/trace", localTool(http.HandlerFunc(pprof.Trace), address))
	for _, name := range []string{"allocs", "goroutine", "heap"} {
		pages.Handle("/debug/pprof/"+name, localTool(pprof.Handler(name), address))
	}
}

// localTool returns a handler that accepts only requests of programs on this host. It rejects requests of a
// browser, and requests for another form of a profile than the binary one.
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
