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

// admit returns at most limit of the wanted Gateways, which get an Envoy. Gateways in running keep
// theirs: a serving Envoy is not ended for a later Gateway. The others follow in conflict
// resolution order. left are the Gateways without an Envoy.
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

// refuse reports the Gateways without an Envoy because of the limit. It removes earlier reports
// that do not apply any more.
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
