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

// admit returns the Gateways of wanted that have an Envoy, at most limit. Those that have one
// already, by running, keep it: an Envoy that serves is not ended for a Gateway that
// comes later. The others follow in the order in which Gateways claim a port. left are
// the Gateways without an Envoy.
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

func compareInfra(a, b *ir.Infra) int {
	if a.Origin == nil || b.Origin == nil {
		return cmp.Compare(a.Gateway, b.Gateway)
	}
	return cmp.Or(route.CompareOrigins(a.Origin, b.Origin), cmp.Compare(a.Gateway, b.Gateway))
}

// refuse tells of the Gateways that have no Envoy for the limit, and forgets those that
// were refused before and are no longer.
func (c *crew) refuse(left []string) {
	refused := map[string]bool{}
	message := fmt.Sprintf("This machine runs %d Envoys, the most that --max-envoys allows: this Gateway has none and serves nothing. "+
		"Remove another Gateway, or raise --max-envoys.", c.host.options.MaxEnvoys)
	for _, gateway := range left {
		refused[gateway] = true
		if !c.refused[gateway] {
			c.host.log.Error().Str("gateway", gateway).Msg(message)
			c.host.tell(State{Gateway: gateway, Phase: OverLimit, Message: message})
		}
	}
	for gateway := range c.refused {
		if !refused[gateway] && c.all[gateway] == nil {
			c.host.forget(gateway)
		}
	}
	c.refused = refused
}
