package server

import (
	"io/fs"
	"net"
	"time"

	"github.com/gatefold/gatefold/envoy/advisory"
	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/mtls"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
)

// Options are the server's settings.
type Options struct {
	// XDSAddress and AdminAddress are "host:port" or "unix:/path". With port 0 the system chooses a free port. ""
	// means 127.0.0.1:18000 and 127.0.0.1:19000.
	XDSAddress, AdminAddress string
	// AdminHosts are the names by which clients may ask for the admin pages (admin.Options.Hosts).
	AdminHosts []string
	// XDSInsecure allows XDSAddress to be reachable from other hosts without TLS. Every client that connects can
	// then read the secrets of any Gateway.
	XDSInsecure bool
	// Profile serves /debug/pprof on the admin address, but only to clients on this host.
	Profile bool
	// SocketMode is the mode of unix sockets; 0 means 0600.
	SocketMode fs.FileMode
	// TLS, if it names a file, requires a certificate of every xDS client, also on loopback and unix sockets. The
	// certificate determines which Gateways a client may get. Grants allow further Gateways to clients with
	// certain DNS names or URIs in their certificates.
	TLS    mtls.Files
	Grants mtls.Grants
	// TLSInterval is how often the files of TLS are read; 0 means 1 s.
	TLSInterval time.Duration
	// ConnectionTime limits the handshake of an xDS connection, and the time in which a client of the admin
	// address must send its request. 0 means 10 s.
	ConnectionTime time.Duration
	// BarrierWait bounds how long listeners and routes wait for Envoy's answer to their clusters
	// (docs/design/xds.md). A part of a route table that one Envoy rejected waits as long for the answers of other
	// Envoys before it is in quarantine. 0 means 5 s.
	BarrierWait time.Duration
	// BindRetry is how long a listener waits until it is sent again after Envoy could not bind its address. The
	// wait doubles with each failure, up to 30 s. 0 means 1 s (docs/design/xds.md).
	BindRetry time.Duration
	// Folder, if set, reloads the folder, and answers the admin pages' queries about the folder.
	Folder admin.Folder
	// Quarantine, if set, is called after each change of the rules that are in quarantine. It gets all of these
	// rules. Calls do not overlap. What follows from a call is published by a later Publish.
	Quarantine func(translate.Quarantine)
	// Advisories are the published vulnerabilities of Envoys. Vulnerable, if set, is called when the problems of connected
	// Envoys with such holes have changed. It gets all of them, and must not wait.
	Advisories advisory.Table
	Vulnerable func([]manifest.Problem)
	// Staging has the settings for fleets with canaries.
	Staging Staging
	// Listening, if set, is called after both addresses are bound.
	Listening func(xds, admin net.Addr)
}

// Reload is the result of one change of the folder.
type Reload struct {
	// Result is the label of the metric. It is "ok" if the folder is applied without problems, and "problems"
	// if it is applied with problems. It is "frozen" if the folder is frozen, "waiting" if the folder does not
	// exist yet, and "failed" after an error in gatefold.
	Result string
	// OK is true if the current folder is served, apart from objects with Problems.
	OK bool
	// Hold says why the folder is not applied; "" if it is applied.
	Hold string
	// Awaits says what is missing, if nothing has been served yet; "" if nothing is missing.
	Awaits string
	// Problems are the problems of a folder of which nothing could be served yet. Later they come with each Result.
	Problems []manifest.Problem
	// Stages are the durations of the steps, by name: for example, "parse" or "translate".
	Stages map[string]time.Duration
}

// Staging has the settings for fleets with canaries: when a revision goes to the Envoys that are not canaries.
type Staging struct {
	// Wait is how long canaries serve a revision after they accepted it, until it also goes to the Envoys that are
	// not canaries.
	Wait time.Duration
	// MaxErrors is the share of requests that may fail with 5xx on canaries during Wait: more than 0 and at most
	// 1. It applies to each cluster that the revision changes, and to each target cluster of a changed route. 0
	// means no bound.
	MaxErrors float64
	// Absence is how long a fleet waits for a canary after its last canary disconnected; 0 means DefaultAbsence.
	Absence time.Duration
	// Fleets are the fleets that had canaries before gatefold restarted.
	Fleets []Fleet
	// Save, if set, is called when the fleets with canaries have changed. It gets all of them, to save them for
	// the next start. Calls do not overlap.
	Save func([]Fleet)
	// Problems, if set, is called when the problems of frozen fleets have changed. It gets one problem for each
	// frozen fleet. Calls do not overlap. The server does not show these problems by itself: the called function must
	// publish them.
	Problems func([]manifest.Problem)
}

// DefaultAbsence is how long a fleet waits for a canary to connect again after its last canary disconnected.
const DefaultAbsence = time.Minute

// Fleet is the state of a fleet with canaries, in the form that is saved for the next start. A fleet is the
// Envoys of one Gateway, or the Envoys that serve all Gateways.
type Fleet struct {
	// Gateway is "namespace/name", or "" for the Envoys of all Gateways.
	Gateway string `json:"gateway"`
	// Unpromoted is true if a revision is frozen: a canary rejected it, disconnected, or did not answer or report
	// loads in time, or too many requests failed.
	Unpromoted bool `json:"unpromoted,omitempty"`
	// Failed is the reason if too many failed requests froze the revision; zero otherwise.
	Failed Failure `json:"failed,omitzero"`
	// Uncounted is true if Staging.MaxErrors is set and an edit was not promoted yet when this state was saved. After
	// the restart, gatefold then counts requests before it promotes the current revision. A restart without such an
	// edit does not set Uncounted.
	Uncounted bool `json:"uncounted,omitempty"`
}

// ReportInterval is how often canaries report the results of requests to their backends.
const ReportInterval = 5 * time.Second
