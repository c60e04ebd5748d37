package plan

import (
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// heldBy returns the objects because of which a running gatefold keeps the answer before: the old rule of the pair is
// made from them, or they alone had the host, and their newest versions have errors. The list is empty in these cases:
//   - The new configuration is not read as from a cold start: it has the versions that are kept (Side.Judged).
//   - Another edit changes the answer, too: the new rule belongs to an object that is new, or to another route that changed.
func (h *hostPair) heldBy(p pair) (held []manifest.Key) {
	c, from := h.port.comparison, []manifest.Key{ir.GatewayKey(h.port.key.gateway)}
	if len(c.objects.held) == 0 {
		return nil
	}
	if p.before == nil {
		from = append(from, h.routesOfLostHost()...)
	} else {
		from = append(from, c.objectsOf(0, p.before)...)
	}
	for _, key := range from {
		if c.objects.held[key] != nil && !slices.Contains(held, key) {
			held = append(held, key)
		}
	}
	if len(held) == 0 || p.after == nil {
		return held
	}
	for _, key := range c.objectsOf(1, p.after) {
		kind := c.objects.kinds[key]
		if c.objects.held[key] == nil && (kind == Added || kind == Changed && (p.before == nil || key != p.before.rule.Source.Key)) {
			return nil
		}
	}
	slices.SortFunc(held, manifest.CompareKeys)
	return held
}

// routesOfLostHost returns the routes that the host had rules of, if the new configuration has another virtual host for
// it, or none. It considers at most maxListed routes.
func (h *hostPair) routesOfLostHost() (routes []manifest.Key) {
	if h.views[0] == nil || h.views[1] != nil && h.views[1].Domain == h.views[0].Domain {
		return nil
	}
	for rule := range h.views[0].Rules {
		if len(routes) == maxListed {
			return routes
		}
		if !slices.Contains(routes, rule.Root.Key) {
			routes = append(routes, rule.Root.Key)
		}
	}
	return routes
}

// objectsOf returns the objects that a rule of one side is made from: its route, the routes that delegate to it, its
// policies, and the objects of its backends.
func (c *comparison) objectsOf(side int, e *entry) (keys []manifest.Key) {
	rule := e.rule
	keys = append(keys, rule.Source.Key, rule.Root.Key)
	for _, hop := range rule.Chain {
		keys = append(keys, hop.Route)
	}
	for _, part := range rule.Action.Parts {
		keys = append(keys, part.Object)
	}
	if rule.Action.Forward == nil {
		return keys
	}
	for _, backend := range rule.Action.Forward.Backends {
		if cluster := c.sides[side].View.Clusters[backend.Cluster]; cluster != nil {
			keys = append(keys, cluster.Objects...)
		}
	}
	return keys
}
