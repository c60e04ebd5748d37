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

type portIn struct {
	*gatewayRules
	streams *memo.Fold[portKey, manifest.Key, *listen.Claimant, memo.Ordered[*listen.Claimant]]
	Options
}

// portRules make the listeners of Envoy.
type portRules struct {
	in       portIn
	listener *memo.Rule[portKey, *portOut]
	losses   *memo.Fold[manifest.Key, lossKey, *loss, memo.Ordered[*loss]]
}

func newPortRules(e *memo.Engine, in portIn) *portRules {
	r := &portRules{in: in}
	r.listener = memo.NewRule(e, "listener", r.runListener, deepEqual)
	memo.EachOf(r.listener, in.gateway, func(_ manifest.Key, g *listen.Gateway) []portKey {
		var keys []portKey
		if g != nil {
			for _, port := range g.Ports() {
				keys = append(keys, portKey{g.Name, int32(port.Port), port.UDP})
			}
		}
		return keys
	})
	r.losses = memo.NewFold[manifest.Key, lossKey](e, "losses", gather[lossKey](compareLosses), memo.Ordered[*loss].Same)
	memo.From(r.losses, r.listener, lossesOf, deepEqual)
	return r
}

func (r *portRules) report(all *problemFold) {
	problemsFrom(all, "losses", r.losses, lossProblems)
}

func (r *portRules) runListener(c *memo.Ctx, key portKey) *portOut {
	g := r.in.gateway.Get(c, ir.GatewayKey(key.Gateway))
	for _, port := range g.Ports() {
		if port.Port == uint32(key.Port) && port.UDP == key.UDP {
			port.Exclusive = r.in.ExclusivePorts
			port.TrustedHops = r.in.TrustedHops
			if len(port.Streams) > 0 {
				claimants, _ := r.in.streams.Get(c, key)
				listen.Assign(port, claimants.All())
				dress(port, r.in.clientOf(c, key.Gateway))
			}
			return &portOut{Port: port, Resource: xds.Listener(port)}
		}
	}
	panic(fmt.Sprintf("translate: no port %v", key))
}
