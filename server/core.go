package server

import (
	"context"
	"errors"

	"github.com/rs/zerolog"
	"google.golang.org/grpc/status"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/server/connect"
	"github.com/gatefold/gatefold/server/figures"
)

// core is the state that the Server shares with the goroutines of its streams (see session).
type core struct {
	*barrier
	*lock // guards gateways, clients, verdicts and quarantine
	*gateways
	*clients

	options    Options
	log        zerolog.Logger
	metrics    *figures.Set
	refused    *connect.Refusals // has its own lock
	board      *board.Board      // has its own lock, which is locked last
	verdicts   *verdicts
	quarantine *quarantine
	staging    *staging
	holes      *holes
}

// overLimit is called with the error (err) that ends a stream because of a limit. It adds the client of the
// stream to the list of refused clients, and returns err. If err is nil, it does nothing and returns nil.
func (c *core) overLimit(st *stream, err error) error {
	if err != nil {
		c.refuse("limit", st, status.Convert(err).Message())
	}
	return err
}

// tellInvalid adds a client to the list of refused clients if its stream ends with a connect.Invalid error. The
// parameter st is nil if no valid request came on the stream.
func (c *core) tellInvalid(ctx context.Context, t *connect.Transport, st *stream, err error) {
	var invalid connect.Invalid
	if !errors.As(err, &invalid) {
		return
	}
	if st == nil {
		who, address := t.Identify(ctx)
		st = &stream{identity: who.String(), address: address}
	}
	c.refuse("request", st, cut(status.Convert(err).Message()))
}

// refuse adds the client of a stream to the list of refused clients, with the cause and reason (connect.Refusals).
func (c *core) refuse(cause string, st *stream, reason string) {
	c.refused.Refuse(cause, admin.RejectedClient{
		Identity: st.identity, Node: st.node, Cluster: st.cluster, Peer: connect.HostOf(st.address), Reason: reason,
	})
}
