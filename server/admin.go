package server

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/gatefold/gatefold/store/visible"
)

// admin makes the pages: JSON but for the metrics, GET only but for the reload
// (docs/design/status.md).
func (s *Server) admin(address net.Addr) http.Handler {
	pages := http.NewServeMux()
	pages.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, word{Status: "ok"})
	})
	pages.HandleFunc("/readyz", s.readyPage)
	pages.Handle("/metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
	pages.HandleFunc("/api/v1/problems", s.problemsPage)
	pages.HandleFunc("/api/v1/xds", oneAtATime(dumpWait, s.xdsPage))
	pages.HandleFunc("/api/v1/explain", s.explainPage)
	pages.HandleFunc("/api/v1/transport", s.transportPage)
	pages.HandleFunc("/api/v1/envoys", s.envoysPage)
	pages.HandleFunc("/api/v1/status", s.statusPage)
	pages.HandleFunc("/api/v1/status/{kind}", s.statusPage)
	pages.HandleFunc("/api/v1/status/{kind}/{name}", s.statusPage) // cluster-scoped
	pages.HandleFunc("/api/v1/status/{kind}/{namespace}/{name}", s.statusPage)
	pages.HandleFunc(reloadPath, s.reloadPage)
	s.addProfiles(pages, address)
	pages.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusNotFound, word{Error: "there is no page " + r.URL.Path})
	})
	return guard(pages, address)
}

// word is the answer of a page that has nothing to show.
type word struct {
	Status string `json:"status,omitempty"`
	Error  string `json:"error,omitempty"`
}

// guard lets only reading requests and reloads pass, none that a page of another site makes
// a browser send, and over loopback only those that name it: a web page that makes its own name point here (DNS rebinding)
// must not read this host's configuration, also where all interfaces are served.
func guard(pages http.Handler, address net.Addr) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tcp, ok := reachedAt(r, address).(*net.TCPAddr)
		switch {
		case ok && tcp.IP.IsLoopback() && !namesAddress(r.Host):
			answer(w, http.StatusForbidden, word{Error: "the Host header must be an IP address or localhost"})
		case fromElsewhere(r):
			answer(w, http.StatusForbidden, word{Error: "a page of another site may not read these pages"})
		case r.Method != http.MethodGet && r.Method != http.MethodHead && r.URL.Path != reloadPath:
			w.Header().Set("Allow", "GET, HEAD")
			answer(w, http.StatusMethodNotAllowed, word{Error: r.Method + " is not allowed: these pages are for reading"})
		default:
			pages.ServeHTTP(w, r)
		}
	})
}

// dumpWait is how long a dump of everything waits until another one has been read.
const dumpWait = 5 * time.Second

// oneAtATime lets one client have a large page at a time, which is held in memory until the
// client has read it; others are sent away after a wait.
func oneAtATime(wait time.Duration, page http.HandlerFunc) http.HandlerFunc {
	turn := make(turns, 1)
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

// reachedAt returns the address that a request came in by, which is more than the
// listener's where that one serves all interfaces.
func reachedAt(r *http.Request, listener net.Addr) net.Addr {
	if reached, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return reached
	}
	return listener
}

// fromBrowser reports whether a browser sent the request: it sends the Origin of the page
// that it shows, or says for whose sake it asks.
func fromBrowser(r *http.Request) bool {
	return r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != ""
}

// fromElsewhere reports whether a browser asks for the sake of a page of another origin. Another
// port of this host is another origin, too, which browsers call the same site.
func fromElsewhere(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site != "" && site != "same-origin" && site != "none"
}

// namesAddress reports whether a Host header is an address or localhost, neither
// of which another's DNS can answer for.
func namesAddress(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || host == "localhost"
}

// answer writes body as JSON. An error of the client's connection is nobody's.
func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	encoder := json.NewEncoder(visible.NewWriter(w))
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(body)
}

func (s *Server) readyPage(w http.ResponseWriter, _ *http.Request) {
	if why := s.unready(); why != "" {
		answer(w, http.StatusServiceUnavailable, word{Error: why})
		return
	}
	answer(w, http.StatusOK, word{Status: "ready"})
}

// unloaded says that nothing is published yet, why where that is known, and how many Envoys
// wait for it; "" later.
func (s *Server) unloaded() (words string) {
	s.locked(func() {
		if !s.published {
			words = "nothing has been loaded yet"
			if s.awaits != "" {
				words += ": " + s.awaits
			}
		}
	})
	if n := s.intake.waiting.Load(); words != "" && n > 0 {
		words += fmt.Sprintf("; Envoys that wait for it: %d", n)
	}
	return words
}
