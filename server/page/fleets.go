package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/host"
)

// maxFleets is how many fleets are shown.
const maxFleets = 50

// fleetRow is a fleet with canaries.
type fleetRow struct{ admin.Fleet }

// fleetRows returns rows for the first maxFleets fleets. Fleets with a problem come first.
func fleetRows(fleets []admin.Fleet) (rows []fleetRow) {
	for _, f := range fleets {
		rows = append(rows, fleetRow{f})
	}
	frozen := func(f fleetRow) int { return min(len(f.Problem), 1) }
	slices.SortStableFunc(rows, func(a, b fleetRow) int { return frozen(b) - frozen(a) })
	return rows[:min(len(rows), maxFleets)]
}

// For returns the Gateways of the fleet in words.
func (f fleetRow) For() string { return gatewayWords(f.Gateway) }

// gatewayWords returns in words which Gateways an Envoy or a fleet serves. The parameter name is a node.cluster
// or the Gateway of a fleet. A name without "/" means all Gateways. Any other name is returned unchanged.
func gatewayWords(name string) string {
	if !strings.Contains(name, "/") {
		return "all Gateways"
	}
	return name
}

// Class returns the CSS class of the fleet's state.
func (f fleetRow) Class() string {
	switch {
	case f.Problem != "":
		return "bad"
	case f.State == "delivered":
		return "good"
	}
	return "warn"
}

// hostedRow is an Envoy that gatefold runs on this machine (host mode).
type hostedRow struct{ host.State }

// hostedRows returns rows for the Envoys that gatefold runs on this machine. Envoys with a problem come first. The
// result has at most limit rows, and leftOut is the number of Envoys without a row.
func hostedRows(states []host.State, limit int) (rows []hostedRow, leftOut int) {
	for _, s := range states {
		rows = append(rows, hostedRow{s})
	}
	slices.SortStableFunc(rows, func(a, b hostedRow) int { return a.rank() - b.rank() })
	shown := min(len(rows), limit)
	return rows[:shown], len(rows) - shown
}

// rank returns 0 for an Envoy with a problem, and 1 otherwise.
func (r hostedRow) rank() int {
	if r.Wrong() {
		return 0
	}
	return 1
}

// Class returns the CSS class of the phase.
func (r hostedRow) Class() string {
	if r.Phase == host.Running {
		return "good"
	}
	return "warn"
}

// Words returns the message of the Envoy, its epoch, whether an earlier gatefold started it, and whether a former
// process still answers requests. It leaves out what does not apply.
func (r hostedRow) Words() string {
	var words []string
	if r.Message != "" {
		words = append(words, cut(r.Message))
	}
	if r.Adopted {
		words = append(words, "An earlier gatefold started it.")
	}
	if r.Epoch > 0 {
		words = append(words, fmt.Sprintf("Epoch %d.", r.Epoch))
	}
	if r.Former != 0 {
		words = append(words, fmt.Sprintf("The former epoch, process %d, answers requests that are under way.", r.Former))
	}
	return strings.Join(words, " ")
}
