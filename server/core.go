package server

import (
	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/server/connect"
	"github.com/gatefold/gatefold/server/figures"
)

// core is what the server and the sessions of streams share.
type core struct {
	*barrier
	*lock // guards gateways, clients, verdicts and quarantine
	*gateways
	*clients

	options    Options
	log        zerolog.Logger
	metrics    *figures.Set
	refused    *connect.Refusals // with a lock of its own
	board      *board.Board      // with a lock of its own, which is taken last
	verdicts   *verdicts
	quarantine *quarantine
	staging    *staging
}

// session is a stream with the parts of the server: what the stream's own goroutine does.
type session struct {
	*core
	stream *stream
}
