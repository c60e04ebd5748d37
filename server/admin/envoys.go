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
	// Fleets are those with Envoys of stage canary, sorted by Gateway.
	Fleets []Fleet `json:"fleets,omitempty"`
}

// Fleet is the Envoys of one Gateway, or of all Gateways, if some of them are canaries.
type Fleet struct {
	// Gateway is "namespace/name", or "" for Envoys of all Gateways.
	Gateway string `json:"gateway,omitempty"`
	// State is "delivered", "judging", "soaking" or "frozen".
	State string `json:"state"`
	// Revision is what Envoys that are no canaries are to hold, 0 where that is not known, Newest what canaries are to hold.
	Revision uint64 `json:"revision"`
	Newest   uint64 `json:"newest"`
	// Since is when the oldest change was published that only canaries have.
	Since time.Time `json:"since,omitzero"`
	// Canaries are the names of the connected ones, Envoys counts all connected.
	Canaries []string `json:"canaries,omitempty"`
	Envoys   int      `json:"envoys"`
	// Problem says why it is frozen, Hint what to do.
	Problem string `json:"problem,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// healthy is the page /healthz. It answers 200 as long as gatefold can answer. It names what is
// frozen, because a restart does not fix that.
func (p pages) healthy(w http.ResponseWriter, _ *http.Request) {
	says := word{Status: "ok"}
	for _, fleet := range p.Envoys.Fleets() {
		if fleet.Problem != "" {
			says.Frozen = append(says.Frozen, fleet.Problem)
		}
	}
	answer(w, http.StatusOK, says)
}

// envoys requests the unused endpoints from every connected Envoy. Only this page does so, so that
// Envoys have no cost without a request for it.
func (p pages) envoys(w http.ResponseWriter, r *http.Request) {
	answer(w, http.StatusOK, p.documents.Envoys(r.Context()))
}
