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

// endpointPage shows the endpoints that Envoys do not use.
type endpointPage struct {
	admin.EnvoyList
	Rows       []endpointRow
	MoreEnvoys int
	Hosted     []hostedRow
	MoreHosted int
	More       int // endpoints that are not shown
}

// endpointRow is an Envoy with its backends that have an unused endpoint or no endpoint.
type endpointRow struct {
	health.Envoy
	Backends []health.Backend
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
		for _, b := range e.Backends {
			shown := min(len(b.Unhealthy), room)
			page.More += len(b.Unhealthy) - shown + b.Unlisted()
			if b.Unhealthy = b.Unhealthy[:shown]; shown > 0 || b.Endpoints == 0 && room > 0 {
				row.Backends = append(row.Backends, b)
				room -= max(shown, 1)
			}
		}
		page.Rows = append(page.Rows, row)
	}
	return page, nil
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
