package server

import (
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
}

// overLimit is called with the error (err) that ends a stream because of a limit. It adds the client of the
// stream to the list of refused clients, and returns err. If err is nil, it does nothing and returns nil.
func (c *core) overLimit(st *stream, err error) error {
	if err != nil {
		c.refused.Refuse("limit", admin.RejectedClient{
			Identity: st.identity, Node: st.node, Cluster: st.cluster, Peer: connect.HostOf(st.address), Reason: status.Convert(err).Message(),
		})
	}
	return err
}
