package admin

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// guard returns a handler that passes only allowed requests on to the handler of the admin pages (the parameter
// pages). Allowed are GET and HEAD, and any method for ReloadPath. A request that a browser sends on behalf of a web
// page of another origin is rejected. Over loopback, and everywhere if the list hosts has names, the Host of a request
// must be an IP address, localhost, or one of hosts. Without this check, a web page whose own name resolves to this host
// (DNS rebinding) could read the configuration.
func guard(pages http.Handler, address net.Addr, hosts []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tcp, ok := reachedAt(r, address).(*net.TCPAddr)
		checked := ok && (tcp.IP.IsLoopback() || len(hosts) > 0)
		switch {
		case checked && !namesAddress(r.Host) && !slices.ContainsFunc(hosts, func(host string) bool { return strings.EqualFold(host, hostOf(r.Host)) }):
			answer(w, http.StatusForbidden, word{Error: "the Host header must be an IP address, localhost or a name of --admin-hosts"})
		case fromElsewhere(r):
			answer(w, http.StatusForbidden, word{Error: "a page of another site may not read these pages"})
		case r.Method != http.MethodGet && r.Method != http.MethodHead && r.URL.Path != ReloadPath:
			w.Header().Set("Allow", "GET, HEAD")
			answer(w, http.StatusMethodNotAllowed, word{Error: r.Method + " is not allowed: these pages are for reading"})
		default:
			pages.ServeHTTP(w, r)
		}
	})
}

// dumpWait is how long a request for a large page waits while another client reads that page.
const dumpWait = 5 * time.Second

// oneAtATime returns a handler for a page that only one client can read at a time. It is for large pages, which
// are in memory until the client has read them. Another client waits for its turn, and gets 503 after the
// duration wait.
func oneAtATime(wait time.Duration, page http.HandlerFunc) http.HandlerFunc {
	turn := make(chan struct{}, 1)
	return func(w http.ResponseWriter, r *http.Request) {
		late := time.NewTimer(wait)
		defer late.Stop()
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
			page(w, r)
		case <-late.C:
			w.Header().Set("Retry-After", "5")
			answer(w, http.StatusServiceUnavailable, word{Error: "another client is reading this page: try again later"})
		case <-r.Context().Done():
		}
	}
}

// reachedAt returns the local address at which a request arrived. If that is not known, it returns the address
// of the listener, such as 0.0.0.0.
func reachedAt(r *http.Request, listener net.Addr) net.Addr {
	if reached, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return reached
	}
	return listener
}

// fromBrowser reports whether a browser sent the request: whether it has the header Origin or Sec-Fetch-Site.
func fromBrowser(r *http.Request) bool {
	return r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != ""
}

// fromElsewhere reports whether a browser sent the request on behalf of a web page of another origin. A web page on
// another port of this host has another origin, although browsers call it the same site.
func fromElsewhere(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site != "" && site != "same-origin" && site != "none"
}

// hostOf returns a Host header without its port, in lower case.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(host)
}

// namesAddress reports whether a Host header is an IP address or localhost. Such a Host is safe, because an
// attacker's DNS server cannot choose the address for it.
func namesAddress(host string) bool {
	host = hostOf(host)
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || host == "localhost"
}
