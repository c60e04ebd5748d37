package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatefold/gatefold/store"
)

// admin makes the pages: JSON but for the metrics, GET only but for the reload
// (design section 8).
func (s *Server) admin(address net.Addr) http.Handler {
	pages := http.NewServeMux()
	pages.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, word{Status: "ok"})
	})
	pages.HandleFunc("/readyz", s.readyPage)
	pages.Handle("/metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
	pages.HandleFunc("/api/v1/problems", s.problemsPage)
	pages.HandleFunc("/api/v1/xds", s.xdsPage)
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

// guard lets only reading requests and reloads pass, and over loopback only those
// that name it: a web page that makes its own name point here (DNS rebinding)
// must not read this host's configuration, also where all interfaces are served.
func guard(pages http.Handler, address net.Addr) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tcp, ok := reachedAt(r, address).(*net.TCPAddr)
		switch {
		case ok && tcp.IP.IsLoopback() && !namesAddress(r.Host):
			answer(w, http.StatusForbidden, word{Error: "the Host header must be an IP address or localhost"})
		case r.Method != http.MethodGet && r.Method != http.MethodHead && r.URL.Path != reloadPath:
			w.Header().Set("Allow", "GET, HEAD")
			answer(w, http.StatusMethodNotAllowed, word{Error: r.Method + " is not allowed: these pages are for reading"})
		default:
			pages.ServeHTTP(w, r)
		}
	})
}

// reachedAt gives the address that a request came in by, which is more than the
// listener's where that one serves all interfaces.
func reachedAt(r *http.Request, listener net.Addr) net.Addr {
	if reached, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return reached
	}
	return listener
}

// fromBrowser tells whether a browser sent the request: it sends the Origin of the page
// that it shows, or says for whose sake it asks.
func fromBrowser(r *http.Request) bool {
	return r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != ""
}

// namesAddress tells whether a Host header is an address or localhost, neither
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
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(body)
}

func (s *Server) readyPage(w http.ResponseWriter, _ *http.Request) {
	if waits := s.unloaded(); waits != "" {
		answer(w, http.StatusServiceUnavailable, word{Error: waits})
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

// problemList is the page /api/v1/problems.
type problemList struct {
	// Unloaded says that nothing has been loaded yet, and how many Envoys wait for it.
	Unloaded string `json:"unloaded,omitempty"`
	// Hold says why the folder is not followed now.
	Hold string `json:"hold,omitempty"`
	// State says why what serves cannot be saved for a restart.
	State    string          `json:"state,omitempty"`
	Problems []store.Problem `json:"problems"`
}

func (s *Server) problemsPage(w http.ResponseWriter, _ *http.Request) {
	var list problemList
	s.locked(func() { list = problemList{Hold: s.hold, State: s.unsaved, Problems: s.problems} })
	list.Unloaded = s.unloaded()
	if list.Problems == nil {
		list.Problems = []store.Problem{}
	}
	answer(w, http.StatusOK, list)
}

// statusList is a v1 List, as kubectl prints it.
type statusList struct {
	metav1.TypeMeta `json:",inline"`
	Items           []ObjectStatus `json:"items"`
}

func (s *Server) statusPage(w http.ResponseWriter, r *http.Request) {
	kind, namespace, name := r.PathValue("kind"), r.PathValue("namespace"), r.PathValue("name")
	list := s.statuses(func(key store.Key) bool {
		return (kind == "" || strings.EqualFold(kind, key.Kind)) &&
			(name == "" || name == key.Name && namespace == key.Namespace)
	})
	if name != "" && len(list.Items) == 0 {
		wanted := store.Key{Kind: kind, Namespace: namespace, Name: name}
		answer(w, http.StatusNotFound, word{Error: "there is no " + wanted.String()})
		return
	}
	answer(w, http.StatusOK, list)
}

// statuses lists the objects that want names, sorted by key.
func (s *Server) statuses(want func(store.Key) bool) statusList {
	seen := map[store.Key]sight{}
	s.locked(func() {
		s.refresh()
		for key := range s.board.objects {
			if want(key) {
				seen[key], _ = s.board.sees(key)
			}
		}
	})
	items := make([]ObjectStatus, 0, len(seen))
	for _, key := range slices.SortedFunc(maps.Keys(seen), store.CompareKeys) {
		items = append(items, seen[key].at(key))
	}
	return statusList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: items}
}
