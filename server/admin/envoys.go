package admin

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gatefold/gatefold/server/health"
	envoyhost "github.com/gatefold/gatefold/server/host"
	"github.com/gatefold/gatefold/translate/ir"
)

// The bounds of one page: how many Envoys are asked at once, and how long all of it
// takes at most.
const (
	askedAtOnce = 8
	askedFor    = 4 * time.Second
)

// EnvoyList is the page /api/v1/envoys.
type EnvoyList struct {
	// Envoys are the connected ones, sorted by node.
	Envoys []health.Envoy `json:"envoys"`
	// Supervised are the Envoys that this machine runs, or should run, sorted by Gateway.
	Supervised []envoyhost.State `json:"supervised,omitempty"`
}

// envoys asks every connected Envoy which endpoints it does not use. It alone does:
// what nobody asks for costs no Envoy anything.
func (p pages) envoys(w http.ResponseWriter, r *http.Request) {
	connected, view := p.Envoys.Connected(), p.Loaded.View()
	ctx, cancel := context.WithTimeout(r.Context(), askedFor)
	defer cancel()
	var known map[string]*ir.Cluster
	if view != nil {
		known = view().Clusters
	}
	var group errgroup.Group
	group.SetLimit(askedAtOnce)
	for i := range connected {
		if q := &connected[i]; q.Envoy.Unknown == nil {
			group.Go(func() error {
				if !p.Survives("envoys", func() { q.Envoy.Ask(ctx, q.At, known) }) { // what it answers is of a client's making
					q.Envoy.Unknown = &health.Unknown{Message: "internal error; the log of gatefold has the details"}
				}
				return nil
			})
		}
	}
	_ = group.Wait() // there are no errors
	list := EnvoyList{Envoys: []health.Envoy{}, Supervised: p.Envoys.Supervised()}
	for _, q := range connected {
		list.Envoys = append(list.Envoys, q.Envoy)
	}
	answer(w, http.StatusOK, list)
}
