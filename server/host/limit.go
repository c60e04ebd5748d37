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

// compareInfra compares two Gateways by the conflict resolution order. If the Infra of one of them has no Origin,
// which contains the Gateway's age, compareInfra compares only the names of the Gateways.
func compareInfra(a, b *ir.Infra) int {
	if a.Origin == nil || b.Origin == nil {
		return cmp.Compare(a.Gateway, b.Gateway)
	}
	return cmp.Or(route.CompareOrigins(a.Origin, b.Origin), cmp.Compare(a.Gateway, b.Gateway))
}

// refuse is called with the Gateways that get no Envoy because of the limit (the parameter left). If a Gateway was
// not in left at the previous call, refuse logs an error and sets the Gateway's State to the phase OverLimit. If a
// Gateway was in left at the previous call and is not in left now, refuse removes the Gateway's State. But if the
// Gateway has a supervisor, refuse keeps the State, because the supervisor sets it.
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
