// Package admin serves the admin pages, JSON but for the metrics, and has the types of what they
// answer: the commands read them with the same types. All pages are for reading but one, which
// reloads the folder. docs/design/status.md says who may ask for what.
//
// The package holds no state. What a page shows it asks of the server (Loaded, Envoys, Board) and of
// the engine (Folder).
package admin

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/server/health"
	envoyhost "github.com/gatefold/gatefold/server/host"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/visible"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/plan/snapshot"
	"github.com/gatefold/gatefold/translate/xds"
)

// Folder loads the folder and answers questions about it. Any goroutine may call its methods.
type Folder interface {
	// Reload applies the folder again and returns when it is published or frozen, with what
	// changed; allowEmpty lets an emptied or missing folder serve nothing. When ctx ends first,
	// it returns its error: the folder is applied all the same.
	Reload(ctx context.Context, allowEmpty bool) (Changes, error)
	// Places finds where fields are written in the folder as it was read last.
	Places(fields []manifest.Field) []store.Place
	// Outlines reads what routes ask for in that folder, valid or not.
	Outlines(routes []manifest.Key) []store.Outline
	// Labels returns the labels of objects that are served.
	Labels(objects []manifest.Key) []map[string]string
	// Between calls read while no change of the folder is being applied, with the objects that are
	// served, in no order, and with what else is served from; false if the folder is busy for long.
	// Secrets are without their content and labels, and those of a folder of their own have no Value.
	Between(read func([]*manifest.Object, translate.Surroundings)) bool
	// Busy returns what is under way.
	Busy() Busy
}

// Loaded is the result of loading the folder.
type Loaded interface {
	// Unready returns why a new Envoy should not rely on what it is sent; "" when it may.
	Unready() string
	Problems() ProblemList
	// View makes the view that was published last; it is nil before the first.
	View() func() *ir.View
	// Facts returns View, and what else explain answers from, of one moment.
	Facts() (view func() *ir.View, facts explain.Facts)
	// Outcome returns how the last reload ended.
	Outcome() Outcome
	// Revisions returns what is served, and the last edits.
	Revisions() RevisionList
	// Generation differs from an earlier one if something was published in between.
	Generation() uint64
}

// Envoys are the connected Envoys, and what they are sent.
type Envoys interface {
	// Resources are what is served, by Gateway in no order, and to whom, by age.
	Resources() (served map[string][]*xds.Resource, streams []Stream)
	// Streams are the streams of the connected Envoys, by age.
	Streams() []Stream
	Transport() Transport
	// Connected are the connected Envoys, and where to ask each what it alone knows, by name.
	Connected() []Connected
	// Supervised are those that this machine is to run, sorted by Gateway.
	Supervised() []envoyhost.State
	// Fleets are those with canaries, sorted by Gateway.
	Fleets() []Fleet
	// Forgive has what they rejected tried again.
	Forgive()
	// Promote has all Envoys hold what only canaries have. It returns when the problems of frozen fleets are gone,
	// or when ctx ends.
	Promote(ctx context.Context)
}

// Options are the data sources of the pages.
type Options struct {
	Log     zerolog.Logger
	Metrics *prometheus.Registry
	Panics  prometheus.Counter // of pages that answered 500
	Board   *board.Board
	Loaded  Loaded
	Envoys  Envoys
	Folder  Folder // nil where there is none
	// Survives runs a task, and reports whether it ended without a panic, which it reports.
	Survives func(task string, run func()) bool
	// Profile adds /debug/pprof, for this host alone.
	Profile bool
	// ConnectionTime is what a connection has to send a request.
	ConnectionTime time.Duration
	// Page draws the pages for people from the documents, at / and below PagePath; nil for none.
	Page func(Documents) http.Handler
}

// PagePath is the path below which the pages for people are, but for the first one.
const PagePath = "/page/"

// pages are the handlers.
type pages struct {
	Options
	documents Documents
}

// What a request may hold, in bytes; no page reads a body.
const maxBody, maxHeaders = 64 << 10, 64 << 10

// NewServer returns the server of the pages, for a listener of this address. It closes the
// connection of a slow client. The largest page, all of xDS, may take two minutes.
func NewServer(options Options, address net.Addr) *http.Server {
	return &http.Server{
		Handler:           http.MaxBytesHandler(NewHandler(options, address), maxBody),
		ReadHeaderTimeout: options.ConnectionTime, ReadTimeout: options.ConnectionTime,
		WriteTimeout: 2 * time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: maxHeaders,
	}
}

// NewHandler returns the pages, for a listener of this address.
func NewHandler(options Options, address net.Addr) http.Handler {
	p := pages{options, NewDocuments(options)}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", p.healthy)
	mux.HandleFunc("/readyz", p.ready)
	mux.Handle("/metrics", promhttp.HandlerFor(p.Metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("/api/v1/problems", p.problems)
	mux.HandleFunc("/api/v1/xds", oneAtATime(dumpWait, p.xds))
	mux.HandleFunc(snapshot.Path, oneAtATime(dumpWait, p.snapshot))
	mux.HandleFunc(PlacesPath, p.places)
	mux.HandleFunc("/api/v1/explain", p.explain)
	mux.HandleFunc("/api/v1/tree", p.tree)
	mux.HandleFunc("/api/v1/transport", p.transport)
	mux.HandleFunc("/api/v1/envoys", p.envoys)
	mux.HandleFunc("/api/v1/status", p.status)
	mux.HandleFunc("/api/v1/status/{kind}", p.status)
	mux.HandleFunc("/api/v1/status/{kind}/{name}", p.status) // cluster-scoped
	mux.HandleFunc("/api/v1/status/{kind}/{namespace}/{name}", p.status)
	mux.HandleFunc("/api/v1/revisions", p.revisions)
	mux.HandleFunc("/api/v1/certificates", p.certificates)
	mux.HandleFunc(ReloadPath, p.reload)
	if p.Page != nil {
		page := p.Page(p.documents)
		mux.Handle("/{$}", page)
		mux.Handle(PagePath, page)
	}
	if p.Profile {
		addProfiles(mux, address)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusNotFound, word{Error: "there is no page " + r.URL.Path})
	})
	return p.rescued(guard(mux, address))
}

// word is the answer of a page without content.
type word struct {
	Status string `json:"status,omitempty"`
	Error  string `json:"error,omitempty"`
	// Frozen says why revisions are kept from Envoys that are no canaries.
	Frozen []string `json:"frozen,omitempty"`
}

// answer writes body as JSON. It ignores a client that does not read it.
func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	encoder := json.NewEncoder(visible.NewWriter(w))
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(body)
}

func (p pages) ready(w http.ResponseWriter, _ *http.Request) {
	if why := p.Loaded.Unready(); why != "" {
		answer(w, http.StatusServiceUnavailable, word{Error: why})
		return
	}
	answer(w, http.StatusOK, word{Status: "ready"})
}

// Transport is the page /api/v1/transport.
type Transport struct {
	// TLS is left out where xDS is served without.
	TLS *TLS `json:"tls,omitempty"`
	// RejectedClients are the clients that were served nothing in the last minutes.
	RejectedClients []RejectedClient `json:"rejectedClients"`
}

// TLS describes the certificate files of xDS.
type TLS struct {
	Expires time.Time `json:"expires"`
	// Problem says why the files as they are now are not served.
	Problem string    `json:"problem,omitempty"`
	Changed time.Time `json:"changed"`
}

// RejectedClient is a client that gatefold rejected.
type RejectedClient struct {
	Identity string    `json:"identity,omitempty"` // the names in its certificate
	Node     string    `json:"node,omitempty"`     // the last one, as it calls itself
	Cluster  string    `json:"cluster,omitempty"`  // what it asked for
	Peer     string    `json:"peer"`               // its address without a port
	Reason   string    `json:"reason"`
	Times    int       `json:"times"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
}

func (p pages) transport(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, p.documents.Transport())
}

// Connected is a connected Envoy, with the address for requests about its endpoints. Envoy.Unknown
// is set if it must not be asked.
type Connected struct {
	Envoy health.Envoy
	At    health.Address
}
