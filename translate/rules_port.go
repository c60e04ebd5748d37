package translate

import (
	"fmt"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/xds"
)

// portOut is one Envoy listener.
type portOut struct {
	Port     *ir.Port
	Resource xds.Resource
}

func resourceOf(p *portOut) *xds.Resource {
	if p == nil {
		return nil
	}
	return &p.Resource
}

// declarePorts declares what needs the routes of streams as well.
func (n *network) declarePorts(e *memo.Engine) {
	n.listener = memo.NewRule(e, "listener", n.runListener, deepEqual)
	memo.EachOf(n.listener, n.gateway, func(_ manifest.Key, g *listen.Gateway) []portKey {
		var keys []portKey
		if g != nil {
			for _, port := range g.Ports() {
				keys = append(keys, portKey{g.Name, int32(port.Port), port.UDP})
			}
		}
		return keys
	})
	n.losses = memo.NewFold[manifest.Key, lossKey](e, "losses", gather[lossKey](compareLosses), memo.Ordered[*loss].Same)
	memo.From(n.losses, n.listener, lossesOf, deepEqual)
}

func (n *network) runListener(c *memo.Ctx, key portKey) *portOut {
	g := n.gateway.Get(c, ir.GatewayKey(key.Gateway))
	for _, port := range g.Ports() {
		if port.Port == uint32(key.Port) && port.UDP == key.UDP {
			port.Exclusive = n.ExclusivePorts
			port.TrustedHops = n.TrustedHops
			if len(port.Streams) > 0 {
				claimants, _ := n.streams.Get(c, key)
				listen.Assign(port, claimants.All())
				dress(port, n.clientOf(c, key.Gateway))
			}
			return &portOut{Port: port, Resource: xds.Listener(port)}
		}
	}
	panic(fmt.Sprintf("translate: no port %v", key))
}
