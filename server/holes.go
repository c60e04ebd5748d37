package server

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gatefold/gatefold/envoy/advisory"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// vulnerableCode is the code of the problem that a connected Envoy has published vulnerabilities.
const vulnerableCode = "EnvoyVulnerable"

// holes counts the connected Envoys of versions with published vulnerabilities (Options.Advisories). It is guarded by lock.
type holes struct {
	table  advisory.Table
	report func([]manifest.Problem) // Options.Vulnerable; nil if nobody listens
	count  map[release]int
}

// release is a version of Envoy in the fleet of a Gateway, or in the fleet of all Gateways ("").
type release struct{ gateway, version string }

// newHoles returns a holes without Envoys.
func newHoles(o Options) *holes { return &holes{o.Advisories, o.Vulnerable, map[release]int{}} }

// add changes the number of connected Envoys by 1 or -1. Only the first and the last Envoy of a version change the
// problems, so that a fleet that connects costs no more than one Envoy. add reports the problems if they changed.
func (h *holes) add(st *stream, by int) {
	if h.report == nil || !st.isEnvoy || len(h.table.Of(st.version).Advisories) == 0 {
		return
	}
	key := release{st.scope.name, st.version}
	before := h.count[key]
	h.count[key] += by
	if h.count[key] == 0 {
		delete(h.count, key)
	}
	if before == 0 || before+by == 0 {
		h.report(h.problems())
	}
}

// problems returns a warning for each version with published vulnerabilities, at the Gateway of its Envoys.
func (h *holes) problems() (problems []manifest.Problem) {
	byName := func(a, b release) int {
		return cmp.Or(cmp.Compare(a.gateway, b.gateway), cmp.Compare(a.version, b.version))
	}
	for _, r := range slices.SortedFunc(maps.Keys(h.count), byName) {
		open := h.table.Of(r.version)
		p := manifest.Problem{
			Code: vulnerableCode, Severity: manifest.Warning,
			Message: fmt.Sprintf("an Envoy of version %s is connected, which has published vulnerabilities: %s. It is served all the same", r.version, open.Summary()),
			Hint:    fmt.Sprintf("upgrade it to %s or a newer version: %s", open.Fixed, open.Advisories[0].URL()),
		}
		if r.gateway != "" {
			p.Object, p.Field = ir.GatewayKey(r.gateway), "metadata.name"
		}
		problems = append(problems, p)
	}
	return problems
}
