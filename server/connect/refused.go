package connect

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server/admin"
)

// same reports whether two refusals count as one row in the list of refused clients, and so as one line in the
// log: their identity, cluster, peer and reason are equal.
func same(r, o admin.RejectedClient) bool {
	return r.Identity == o.Identity && r.Cluster == o.Cluster && r.Peer == o.Peer && r.Reason == o.Reason
}

// Refusals lists the clients that were refused lately, with one row for each client and reason. A refused Envoy
// connects again every second, and any client can connect. So the list bounds how much memory and how many log
// lines refusals need. Any goroutine may use it.
type Refusals struct {
	log   zerolog.Logger
	count func(cause string)

	mu   sync.Mutex
	rows []admin.RejectedClient
}

// NewRefusals returns an empty list. count is called with the cause of each refusal.
func NewRefusals(log zerolog.Logger, count func(cause string)) *Refusals {
	return &Refusals{log: log, count: count}
}

const (
	// MaxRefused is how many rows the list has at most. If the list is full, a refusal gets no new row.
	MaxRefused = 100
	// refusedMemory is how long a row stays after its last refusal.
	refusedMemory = 10 * time.Minute
)

// add adds a refusal to the list of refused clients. If a row already has the same identity, cluster, peer and
// reason, add only counts the refusal in that row. If the list is full, the refusal gets no row. The result first
// is true only if add made a new row.
func (l *Refusals) add(r admin.RejectedClient, now time.Time) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(now)
	r.Times, r.First, r.Last = 1, now.UTC(), now.UTC()
	at := slices.IndexFunc(l.rows, func(row admin.RejectedClient) bool { return same(row, r) })
	switch {
	case at >= 0:
		row := &l.rows[at]
		row.Node, row.Times, row.Last = r.Node, row.Times+1, r.Last
		return false
	case len(l.rows) >= MaxRefused:
		return false
	}
	l.rows = append(l.rows, r)
	return true
}

// forget removes the rows whose last refusal is longer ago than refusedMemory. The caller has locked l.mu.
func (l *Refusals) forget(now time.Time) {
	l.rows = slices.DeleteFunc(l.rows, func(r admin.RejectedClient) bool { return now.Sub(r.Last) > refusedMemory })
}

// List returns the rows whose last refusal is at most refusedMemory ago. now is the current time. The result is
// never nil.
func (l *Refusals) List(now time.Time) []admin.RejectedClient {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(now)
	return append([]admin.RejectedClient{}, l.rows...)
}

// Refuse counts a refusal in the metric with the label cause, adds the refusal to the list of refused clients,
// and logs it. The log line is a warning if the list got a new row, and has level debug otherwise.
func (l *Refusals) Refuse(cause string, r admin.RejectedClient) {
	l.count(cause)
	level := zerolog.DebugLevel
	if l.add(r, time.Now()) {
		level = zerolog.WarnLevel
	}
	words := "an Envoy is refused and gets nothing"
	switch cause {
	case "client":
		words = "a client that is no Envoy is refused and gets nothing"
	case "limit":
		words = "a client is above a limit of xDS streams: its stream is ended"
	case "request":
		words = "a client sent a request that cannot be read: its stream is ended"
	case "silent", "connections":
		words = "a connection to xDS is closed"
	case "type":
		words = "an Envoy asks for a type that is not served"
	}
	l.log.WithLevel(level).Str("identity", r.Identity).Str("node", r.Node).Str("cluster", r.Cluster).Str("peer", r.Peer).
		Str("reason", r.Reason).Msg(words)
}

// refuseHandshake counts a connection whose handshake failed with err, and adds the client to the list of refused
// clients. If the connection only ended or timed out, it is counted but not listed, because the client may only
// have tested whether the port is open.
func (l *Refusals) refuseHandshake(from net.Addr, err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) {
		l.count("handshake")
		return
	}
	l.Refuse("handshake", admin.RejectedClient{Peer: HostOf(from), Reason: handshakeReason(err)})
}

// HostOf returns the host of an address, without the port. If the address has no host, it returns the address
// itself, or the name of its network if the address is "".
func HostOf(address net.Addr) string {
	host, _, err := net.SplitHostPort(address.String())
	if err != nil {
		host = ""
	}
	return cmp.Or(host, address.String(), address.Network())
}

// maxHandshakeWords bounds how many bytes of a handshake error are reported.
const maxHandshakeWords = 1000

// handshakeReason returns what is wrong with a handshake, and what to do. For an unknown error it returns the
// text of the error, at most maxHandshakeWords bytes.
func handshakeReason(err error) string {
	var record tls.RecordHeaderError
	var alert *net.OpError
	var unknown x509.UnknownAuthorityError
	words := err.Error()
	switch {
	case errors.As(err, &record):
		return "it does not speak TLS: give its bootstrap --tls-cert, --tls-key and --tls-ca"
	case errors.As(err, &unknown):
		return "its certificate is not signed by an authority of --xds-tls-client-ca"
	case strings.Contains(words, "didn't provide a certificate"):
		return "it shows no certificate: give its bootstrap --tls-cert and --tls-key"
	case strings.Contains(words, "unsupported versions"):
		return "it does not speak TLS 1.3, which `gatefold bootstrap` asks for"
	case errors.As(err, &alert) && alert.Op == "remote error":
		return "it refuses gatefold's certificate (" + alert.Err.Error() + "): compare its --tls-ca and --tls-server-name"
	}
	return words[:min(len(words), maxHandshakeWords)]
}
