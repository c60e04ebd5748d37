package server

import (
	"cmp"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"github.com/rs/zerolog"
)

// refusal is an Envoy, or whoever connects, that is served nothing.
type refusal struct {
	Identity string    `json:"identity,omitempty"` // the names in its certificate
	Node     string    `json:"node,omitempty"`     // the last one, as it calls itself
	Cluster  string    `json:"cluster,omitempty"`  // what it asked for
	Peer     string    `json:"peer"`               // its address without a port
	Reason   string    `json:"reason"`
	Times    int       `json:"times"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
}

// same reports whether two refusals are one row, and one line in the log.
func (r refusal) same(o refusal) bool {
	return r.Identity == o.Identity && r.Cluster == o.Cluster && r.Peer == o.Peer && r.Reason == o.Reason
}

// refusals remembers who was refused lately. Envoys come again every second and
// strangers at will: neither fills memory or log. It is guarded by Server.mu.
type refusals struct{ rows []refusal }

const (
	maxRefused    = 100              // rows; beyond them only the metric counts
	refusedMemory = 10 * time.Minute // a row lasts since its last time
)

// add books a refusal and reports whether it is a new one.
func (l *refusals) add(r refusal, now time.Time) (first bool) {
	l.forget(now)
	r.Times, r.First, r.Last = 1, now.UTC(), now.UTC()
	at := slices.IndexFunc(l.rows, r.same)
	switch {
	case at >= 0:
		row := &l.rows[at]
		row.Node, row.Times, row.Last = r.Node, row.Times+1, r.Last
		return false
	case len(l.rows) >= maxRefused:
		return false
	}
	l.rows = append(l.rows, r)
	return true
}

func (l *refusals) forget(now time.Time) {
	l.rows = slices.DeleteFunc(l.rows, func(r refusal) bool { return now.Sub(r.Last) > refusedMemory })
}

// refuse books a refusal, and warns of it once.
func (s *Server) refuse(cause string, r refusal) {
	s.metrics.refused.WithLabelValues(cause).Inc()
	var first bool
	s.locked(func() { first = s.refused.add(r, time.Now()) })
	level := zerolog.DebugLevel
	if first {
		level = zerolog.WarnLevel
	}
	words := "an Envoy is refused and gets nothing"
	if cause == "limit" {
		words = "a client is above a limit of xDS streams: its stream is ended"
	}
	s.log.WithLevel(level).Str("identity", r.Identity).Str("node", r.Node).Str("cluster", r.Cluster).Str("peer", r.Peer).
		Str("reason", r.Reason).Msg(words)
}

// refuseHandshake books a connection that did not come to speak. One that was
// only opened, as by who looks whether the port is there, is counted alone.
func (s *Server) refuseHandshake(from net.Addr, err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) {
		s.metrics.refused.WithLabelValues("handshake").Inc()
		return
	}
	s.refuse("handshake", refusal{Peer: hostOf(from), Reason: handshakeReason(err)})
}

func hostOf(address net.Addr) string {
	host, _, err := net.SplitHostPort(address.String())
	if err != nil {
		host = ""
	}
	return cmp.Or(host, address.String(), address.Network())
}
