package host

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
)

// MaxEnvoys is the default of Options.MaxEnvoys.
const MaxEnvoys = 16

// admit chooses which of the wanted Gateways get an Envoy. The parameter limit is the highest number of them.
// Gateways that are true in the map running come first, because an Envoy that serves is not ended for a newer
// Gateway. The others follow in conflict resolution order. The result left has the wanted Gateways that get no
// Envoy.
func admit(wanted map[string]*ir.Infra, running map[string]bool, limit int) (admitted map[string]*ir.Infra, left []string) {
	order := slices.SortedFunc(maps.Keys(wanted), func(a, b string) int {
		return cmp.Or(ir.TrueFirst(running[a], running[b]), compareInfra(wanted[a], wanted[b]))
	})
	count := min(limit, len(order))
	admitted = map[string]*ir.Infra{}
	for _, gateway := range order[:count] {
		admitted[gateway] = wanted[gateway]
	}
	return admitted, order[count:]
}

// compareInfra compares two Gateways by the conflict resolution order. If the origin of one of them is missing,
// it compares the names of the Gateways.
func compareInfra(a, b *ir.Infra) int {
	if a.Origin == nil || b.Origin == nil {
		return cmp.Compare(a.Gateway, b.Gateway)
	}
	return cmp.Or(route.CompareOrigins(a.Origin, b.Origin), cmp.Compare(a.Gateway, b.Gateway))
}

// refuse logs and records that the Gateways in the parameter left have no Envoy because of the limit. If a Gateway
// was already in left at the previous call, refuse does not log it again. If a Gateway was in left at the previous
// call and is no longer, refuse removes the record, unless the Gateway already has a supervisor.
func (c *crew) refuse(left []string) {
	refused := map[string]bool{}
	message := fmt.Sprintf("This machine runs %d Envoys, the most that --max-envoys allows: this Gateway has none and serves nothing. "+
		"Remove another Gateway, or raise --max-envoys.", c.host.options.MaxEnvoys)
	for _, gateway := range left {
		refused[gateway] = true
		if !c.refused[gateway] {
			c.host.log.Error().Str("gateway", gateway).Msg(message)
			c.host.setState(State{Gateway: gateway, Phase: OverLimit, Message: message})
		}
	}
	for gateway := range c.refused {
		if !refused[gateway] && c.all[gateway] == nil {
			c.host.forget(gateway)
		}
	}
	c.refused = refused
}
