package server

import (
	"github.com/rs/zerolog"
	"google.golang.org/grpc/status"

	"github.com/gatefold/gatefold/server/admin"
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

// overLimit books that a stream ends because of err, and returns err.
func (c *core) overLimit(st *stream, err error) error {
	if err != nil {
		c.refused.Refuse("limit", admin.RejectedClient{
			Identity: st.identity, Node: st.node, Cluster: st.cluster, Peer: connect.HostOf(st.address), Reason: status.Convert(err).Message(),
		})
	}
	return err
}
