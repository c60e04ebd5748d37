// Package admin serves the admin pages, and has the types of their JSON. The commands use the same types to
// read the pages. All pages are JSON, except the metrics, the profiles, the snapshot for `gatefold plan` and the
// HTML pages (Options.Page). Only one page changes something: it reloads the folder. docs/design/status.md says
// who may request which page.
//
// The package has no state. The content of a page comes from the server (Loaded, Envoys, Board) and from the
// engine (Folder).
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

// Folder loads the folder, and answers queries about it. Any goroutine may call its methods. If a change of the
// folder takes long, Places, Outlines and Labels return zero values.
type Folder interface {
	// Reload reads the folder again, waits until it is published, frozen or failed (Loaded.Outcome), and returns
	// what changed. If allowEmpty is true, an empty or missing folder is applied, too, instead of being frozen. If
	// ctx or gatefold ends first, Reload returns an error. If only ctx ended, a reload that has begun still takes
	// place.
	Reload(ctx context.Context, allowEmpty bool) (Changes, error)
	// Places returns where fields are written in the folder as it was read last, in the order of fields.
	Places(fields []manifest.Field) []store.Place
	// Outlines returns a summary of each of these routes in the folder as it was read last, also of invalid
	// routes.
	Outlines(routes []manifest.Key) []store.Outline
	// Labels returns the labels of served objects, in the order of objects.
	Labels(objects []manifest.Key) []map[string]string
	// Between runs the function visit while no change of the folder is being applied. The function visit gets the
	// served objects, in no order, and the other inputs of the translation. Secrets have neither content nor
	// labels, and Secrets of --secret-dir have no Value. If a change of the folder takes long, Between returns
	// false and does not run visit.
	Between(visit func([]*manifest.Object, translate.Surroundings)) bool
	// Busy returns which step is running.
	Busy() Busy
}

// Loaded has the configuration that was loaded from the folder, and the results of loading it.
type Loaded interface {
	// Unready returns the reason why a new Envoy should not rely on what it is sent, or "" if a new Envoy may.
	Unready() string
	Problems() ProblemList
	// View returns a function that makes the View of the last published configuration, or nil before the first
	// publication.
	View() func() *ir.View
	// Facts returns what package explain needs, all of one moment: the result of View, and the other facts.
	Facts() (view func() *ir.View, facts explain.Facts)
	// Outcome returns the result of the last reload.
	Outcome() Outcome
	// Revisions returns the number of the served revision, and the last edits.
	Revisions() RevisionList
	// Generation returns a number that changes with each publication.
	Generation() uint64
}

// Envoys has the connected Envoys, and what they are sent.
type Envoys interface {
	// Resources returns the served resources by Gateway, in no order, and the streams, the oldest first.
	Resources() (served map[string][]*xds.Resource, streams []Stream)
	// Streams returns the streams of the connected Envoys, the oldest first.
	Streams() []Stream
	Transport() Transport
	// Connected returns the connected Envoys, sorted by name, each with the address of its admin interface.
	Connected() []Connected
	// Supervised returns the Envoys that this machine should run, sorted by Gateway.
	Supervised() []envoyhost.State
	// Fleets returns the fleets with canaries, sorted by Gateway.
	Fleets() []Fleet
	// Forgive makes the server send rejected resources to Envoys again. It returns at once.
	Forgive()
	// Promote sends to all Envoys the revisions that only canaries have. It returns when the problems about frozen
	// fleets are up to date again, or when ctx ends.
	Promote(ctx context.Context)
}

// Options are the data sources and settings of the pages.
type Options struct {
	Log     zerolog.Logger
	Metrics *prometheus.Registry
	Panics  prometheus.Counter // counts the pages that answered 500 because of a panic
	Board   *board.Board
	Loaded  Loaded
	Envoys  Envoys
	Folder  Folder // nil if there is no folder
	// Survives runs a task, and reports whether the task ended without a panic. A panic is logged.
	Survives func(task string, run func()) bool
	// Hosts are names that the Host header of a request may have, beside IP addresses and localhost. If there are none,
	// it may have any name on an address other than loopback.
	Hosts []string
	// Profile adds /debug/pprof, for clients on this host only.
	Profile bool
	// ConnectionTime is how long a client may take to send a request.
	ConnectionTime time.Duration
	// Page returns the handler of the HTML pages, which are at / and below PagePath. It is nil if there are none.
	Page func(Documents) http.Handler
}

// PagePath is the path below which all HTML pages are, except the first page, which is at "/".
const PagePath = "/page/"

// pages has the handlers of the pages.
type pages struct {
	Options
	documents Documents
}

// maxBody and maxHeaders bound a request, in bytes. No page reads a body.
const maxBody, maxHeaders = 64 << 10, 64 << 10

// NewServer returns the HTTP server of the admin pages, for a listener of this address. The server closes the
// connection if a client needs longer than ConnectionTime to send a request, or if sending the response takes
// longer than two minutes. The largest page, with all xDS resources, may need that long.
func NewServer(options Options, address net.Addr) *http.Server {
	return &http.Server{
		Handler:           http.MaxBytesHandler(NewHandler(options, address), maxBody),
		ReadHeaderTimeout: options.ConnectionTime, ReadTimeout: options.ConnectionTime,
		WriteTimeout: 2 * time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: maxHeaders,
	}
}

// NewHandler returns the handler of all admin pages. It answers only the requests that the function guard allows.
// The decision depends on the local address at which a request arrived. If that address is not known, guard uses
// the parameter address: the address of the listener.
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
	mux.HandleFunc("/api/v1/status/{kind}/{name}", p.status) // of cluster-scoped kinds
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
	return p.rescued(guard(mux, address, p.Hosts))
}

// word is the answer of a page that has only a status or an error.
type word struct {
	Status string `json:"status,omitempty"`
	Error  string `json:"error,omitempty"`
	// LiveDigest is RevisionList.LiveDigest, on the page /readyz.
	LiveDigest uint64 `json:"liveDigest,omitempty"`
	// Frozen has the reasons why fleets are frozen.
	Frozen []string `json:"frozen,omitempty"`
}

// answer writes body as JSON, with the status code. It ignores a client that does not read the answer.
func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	encoder := json.NewEncoder(visible.NewWriter(w))
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(body)
}

// ready serves the page /readyz. It answers 200 if a new Envoy may rely on what it is sent, and otherwise 503
// with the reason.
func (p pages) ready(w http.ResponseWriter, _ *http.Request) {
	if why := p.Loaded.Unready(); why != "" {
		answer(w, http.StatusServiceUnavailable, word{Error: why})
		return
	}
	answer(w, http.StatusOK, word{Status: "ready", LiveDigest: p.Loaded.Revisions().LiveDigest})
}

// Transport is the page /api/v1/transport.
type Transport struct {
	// TLS is left out if xDS is served without TLS.
	TLS *TLS `json:"tls,omitempty"`
	// RejectedClients are the clients that gatefold rejected in the last ten minutes, at most 100.
	RejectedClients []RejectedClient `json:"rejectedClients"`
}

// TLS describes the certificate files of xDS.
type TLS struct {
	Expires time.Time `json:"expires"`
	// Problem says why the current files cannot be used. The files that were loaded before are used then.
	Problem string    `json:"problem,omitempty"`
	Changed time.Time `json:"changed"`
}

// RejectedClient is a client that gatefold rejected. Rejections with the same identity, cluster, peer and
// reason are one RejectedClient, and Times counts them.
type RejectedClient struct {
	Identity string    `json:"identity,omitempty"` // the names in its certificate
	Node     string    `json:"node,omitempty"`     // the latest node.id
	Cluster  string    `json:"cluster,omitempty"`  // the node.cluster
	Peer     string    `json:"peer"`               // its address without the port
	Reason   string    `json:"reason"`
	Times    int       `json:"times"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
}

func (p pages) transport(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, p.documents.Transport())
}

// Connected is a connected Envoy, with the address of its admin interface. If gatefold must not send requests
// to that address, Envoy.Unknown has the reason.
type Connected struct {
	Envoy health.Envoy
	At    health.Address
}
