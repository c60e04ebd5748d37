package admin

import (
	"net/http"
	"time"

	"github.com/gatefold/gatefold/server/health"
	envoyhost "github.com/gatefold/gatefold/server/host"
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
	answer(w, http.StatusOK, p.documents.Envoys(r.Context()))
}
