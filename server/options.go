package server

import (
	"io/fs"
	"net"
	"time"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/mtls"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
)

// Options are the server's settings.
type Options struct {
	// XDSAddress and AdminAddress are "host:port" or "unix:/path"; port 0 takes
	// a free one. Empty means 127.0.0.1:18000 and 127.0.0.1:19000.
	XDSAddress, AdminAddress string
	// XDSInsecure allows XDSAddress to be more than loopback or a unix socket
	// without TLS: whoever connects can read the Gateway's secrets.
	XDSInsecure bool
	// Profile serves /debug/pprof on the admin address, to this host only.
	Profile bool
	// SocketMode is the mode of unix sockets; 0 means 0600.
	SocketMode fs.FileMode
	// TLS, if a file is named, requires a certificate of every xDS client, on loopback and unix
	// sockets too. The certificate determines which Gateways the client may have; Grants add to
	// the Gateways that a SPIFFE ID names.
	TLS    mtls.Files
	Grants mtls.Grants
	// TLSInterval is how often the files are read; 0 means 1 s.
	TLSInterval time.Duration
	// ConnectionTime limits the handshake of a connection; 0 means 10 s.
	ConnectionTime time.Duration
	// BarrierWait bounds how long listeners and routes wait for Envoy's answer
	// to their clusters; 0 means 5 s (docs/design/xds.md).
	BarrierWait time.Duration
	// BindRetry is the wait before a listener whose bind failed is sent again; it
	// doubles with each failure up to 30 s. 0 means 1 s (docs/design/xds.md).
	BindRetry time.Duration
	// Unordered sends everything at once, removals included. Tests use it to prove that the
	// ordered sending is needed.
	Unordered bool
	// Folder, when set, answers what the admin pages ask about the folder, and reloads it.
	Folder admin.Folder
	// Quarantine, when set, is called after each change of the rules that Envoys rejected, one
	// call at a time; only the newest state counts. It responds with a Publish.
	Quarantine func(translate.Quarantine)
	// Staging is how revisions go to fleets with canaries.
	Staging Staging
	// blameRules takes no rejection for the Envoy's own matter; for tests.
	blameRules bool
	// pingEvery is the silence after which a connection is asked for a sign of life,
	// and pingWait how long that may take; 0 means 30 s and 10 s. For tests.
	pingEvery, pingWait time.Duration
	// Listening, when set, is called once both addresses are bound.
	Listening func(xds, admin net.Addr)
}

// Reload is the result of one change of the folder.
type Reload struct {
	// Result is the metric's label: "ok", "problems", "held", "waiting" or "failed".
	Result string
	// OK is true if the present folder is what is served, apart from objects with Problems.
	OK bool
	// Hold says why the folder is not applied, "" if it is.
	Hold string
	// Awaits says what is missing while nothing has been served yet, "" if nothing is.
	Awaits string
	// Stages are the durations of the steps by name: "store", "translate".
	Stages map[string]time.Duration
}

// Staging is how revisions go to fleets with canaries.
type Staging struct {
	// Wait is how long canaries are on a revision that they accepted before it goes on to the others.
	Wait time.Duration
	// MaxErrors is the share of requests, more than 0 and at most 1, that may fail with 5xx on canaries while they are on a
	// revision for Wait: of the requests to each cluster that it changes, or that routes it changes forward to. 0 is no bound.
	MaxErrors float64
	// Absence is how long a fleet waits for a canary that is away; 0 means DefaultAbsence.
	Absence time.Duration
	// Fleets are those that had canaries in the process before.
	Fleets []Fleet
	// Save, when set, is called when the next process should know other Fleets, one call at a time.
	Save func([]Fleet)
	// Problems, when set, is called when other fleets are frozen, one call at a time. It responds with a Publish.
	Problems func([]manifest.Problem)

	interval time.Duration // of reports; 0 means ReportInterval. For tests.
}

// DefaultAbsence is how long a fleet waits for a canary that is away.
const DefaultAbsence = time.Minute

// Fleet is a fleet with canaries, as it is kept for the next start.
type Fleet struct {
	// Gateway is "namespace/name", or "" for the Envoys of all Gateways.
	Gateway string `json:"gateway"`
	// Unpromoted is true if a revision is frozen: a canary rejected it, or left, or too many of its requests failed.
	Unpromoted bool `json:"unpromoted,omitempty"`
	// Failed is why it is frozen if too many requests failed; zero otherwise.
	Failed Failure `json:"failed,omitzero"`
	// Uncounted is true if there is a bound on errors, and a revision is not promoted.
	Uncounted bool `json:"uncounted,omitempty"`
}

// ReportInterval is how often canaries report how requests to their backends ended.
const ReportInterval = 5 * time.Second
