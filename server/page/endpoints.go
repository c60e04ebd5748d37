package page

import (
	"fmt"
	"net/http"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/health"
)

// maxEndpoints is how many endpoints, and backends without endpoints, are shown for all Envoys together.
// maxAsked is how many Envoys each list on the page shows.
const maxEndpoints, maxAsked = 300, 100

// endpointPage shows which endpoints the connected Envoys do not use, and the state of the Envoys that gatefold runs
// on this machine.
type endpointPage struct {
	admin.EnvoyList
	Rows       []endpointRow // the connected Envoys
	MoreEnvoys int           // the number of connected Envoys that are not in Rows
	Hosted     []hostedRow   // the Envoys that gatefold runs on this machine
	MoreHosted int           // the number of Envoys of this machine that are not in Hosted
	More       int           // the sum of the field Left of all Rows
}

// endpointRow is an Envoy with the backends that the page shows: those with an unhealthy endpoint, and those without
// any endpoint.
type endpointRow struct {
	health.Envoy
	Backends []health.Backend
	Left     int // the number of unhealthy endpoints, and of backends without an endpoint, that are not shown
}

// For returns the Gateways of the Envoy in words.
func (e endpointRow) For() string { return gatewayWords(e.NodeCluster) }

// endpoints returns the body of the page of endpoints. The error is always nil.
func (p *pages) endpoints(r *http.Request) (any, error) {
	page := endpointPage{EnvoyList: p.documents.Envoys(r.Context())}
	page.Hosted, page.MoreHosted = hostedRows(page.Supervised, maxAsked)
	room := maxEndpoints
	for _, e := range page.Envoys {
		if len(page.Rows) == maxAsked {
			page.MoreEnvoys++
			continue
		}
		row := endpointRow{Envoy: e}
		room -= row.fill(e.Backends, room)
		page.More += row.Left
		page.Rows = append(page.Rows, row)
	}
	return page, nil
}

// fill sets Backends and Left from the backends of the Envoy. The parameter room limits what is shown: each
// unhealthy endpoint counts as one, and so does each backend without an endpoint. taken is the number that fill
// used.
func (e *endpointRow) fill(backends []health.Backend, room int) (taken int) {
	for _, b := range backends {
		shown := min(len(b.Unhealthy), room-taken)
		e.Left += len(b.Unhealthy) - shown + b.Unlisted()
		switch b.Unhealthy = b.Unhealthy[:shown]; {
		case shown > 0 || b.Endpoints == 0 && taken < room:
			e.Backends = append(e.Backends, b)
			taken += max(shown, 1)
		case b.Endpoints == 0:
			e.Left++
		}
	}
	return taken
}

// shareWords returns in words how many endpoints are healthy, of the given total (the parameter all): "5 of 6",
// "1 of 6, 4 not checked" or "6 not checked".
func shareWords(healthy, notChecked, all int) string {
	switch {
	case notChecked == 0:
		return fmt.Sprintf("%d of %d", healthy, all)
	case notChecked == all:
		return fmt.Sprintf("%d not checked", all)
	}
	return fmt.Sprintf("%d of %d, %d not checked", healthy, all, notChecked)
}
