package admin

import (
	"net/http"
	"time"

	"github.com/gatefold/gatefold/server/health"
	envoyhost "github.com/gatefold/gatefold/server/host"
)

// askedAtOnce is how many Envoys are queried at once for one page. askedFor is how long all queries of a page
// may take.
const (
	askedAtOnce = 8
	askedFor    = 4 * time.Second
)

// EnvoyList is the page /api/v1/envoys.
type EnvoyList struct {
	// Envoys are the connected Envoys, sorted by node.
	Envoys []health.Envoy `json:"envoys"`
	// Supervised are the Envoys that this machine runs, or should run, sorted by Gateway.
	Supervised []envoyhost.State `json:"supervised,omitempty"`
	// Fleets are the fleets that have Envoys of stage canary, sorted by Gateway.
	Fleets []Fleet `json:"fleets,omitempty"`
}

// Fleet is the state of a fleet that has canaries. A fleet is the Envoys of one Gateway, or the Envoys that serve
// all Gateways.
type Fleet struct {
	// Gateway is "namespace/name", or "" for the Envoys that serve all Gateways.
	Gateway string `json:"gateway,omitempty"`
	// State says which Envoys get the newest revision. "delivered" means that all Envoys have it or get it. "judging"
	// means that the canaries have not answered yet, or that no canary is connected. "soaking" means that the canaries
	// accepted it and serve it for a while, before the other Envoys get it. "frozen" means that the other Envoys do
	// not get it, for the reason in Problem.
	State string `json:"state"`
	// Revision is the revision of the Envoys that are not canaries; 0 if it is not known. Newest is the revision
	// of the canaries.
	Revision uint64 `json:"revision"`
	Newest   uint64 `json:"newest"`
	// Since is the start of the time limit for the canaries' answer. The limit starts when gatefold publishes the
	// oldest change that only the canaries have, or at the last promotion if that was later. Since is zero if all
	// changes are promoted.
	Since time.Time `json:"since,omitzero"`
	// Canaries are the names of the connected canaries. Envoys counts all connected Envoys of the fleet.
	Canaries []string `json:"canaries,omitempty"`
	Envoys   int      `json:"envoys"`
	// Problem says why the fleet is frozen. Hint says what to do.
	Problem string `json:"problem,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// healthy serves the page /healthz. It always answers 200, even if fleets are frozen, because a restart would
// not help. The body has the reasons why fleets are frozen.
func (p pages) healthy(w http.ResponseWriter, _ *http.Request) {
	says := word{Status: "ok"}
	for _, fleet := range p.Envoys.Fleets() {
		if fleet.Problem != "" {
			says.Frozen = append(says.Frozen, fleet.Problem)
		}
	}
	answer(w, http.StatusOK, says)
}

// envoys serves the page /api/v1/envoys. For each request, gatefold asks the connected Envoys about their
// endpoints (Documents.Envoys).
func (p pages) envoys(w http.ResponseWriter, r *http.Request) {
	answer(w, http.StatusOK, p.documents.Envoys(r.Context()))
}
