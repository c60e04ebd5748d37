package translate

import (
	"fmt"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

type pluginIn struct {
	routes   *objects
	services *objects
	invalid  *memo.Input[manifest.Key, *store.Invalid]
}

// pluginRules find routes and Services that name KongPlugins which may protect. gatefold does not serve them, so that the
// routes, and rules that lead to the Services, answer 500.
type pluginRules struct {
	in      pluginIn
	plugins *memo.Rule[manifest.Key, []manifest.Problem]
}

func newPluginRules(e *memo.Engine, in pluginIn) *pluginRules {
	r := &pluginRules{in: in}
	r.plugins = memo.NewRule(e, "plugins", r.runPlugins, deepEqual)
	memo.EachOf(r.plugins, in.routes, hasPlugins)
	memo.EachOf(r.plugins, in.services, hasPlugins)
	return r
}

// hasPlugins returns a list with the key of a Service, HTTPRoute or GRPCRoute that names KongPlugins, and nil for any other
// object.
func hasPlugins(key manifest.Key, object *manifest.Object) []manifest.Key {
	if route.IsStream(key) || len(store.Plugins(object)) == 0 {
		return nil
	}
	return []manifest.Key{key}
}

func (r *pluginRules) report(all *problemFold) {
	problemsFrom(all, "plugins", r.plugins, func(problems []manifest.Problem) []manifest.Problem { return problems })
}

// runPlugins returns the problem of an object that names a KongPlugin which may protect.
func (r *pluginRules) runPlugins(c *memo.Ctx, key manifest.Key) []manifest.Problem {
	answer := ir.Path{RPC: ir.RPC{Is: key.Kind == "GRPCRoute"}}.UnresolvedWords()
	of, effect := r.in.routes, fmt.Sprintf("%s answers %s because of it", key, answer)
	if key.Kind == "Service" {
		of, effect = r.in.services, fmt.Sprintf("rules that lead to %s answer 500 because of it", key)
	}
	object, ok := of.Get(c, key)
	if !ok {
		return nil
	}
	by := pluginFor(c, r.in.invalid, object)
	if by == nil {
		return nil
	}
	return []manifest.Problem{{
		Code: schema.NotServed, Severity: manifest.Error, Object: key, Field: "metadata.annotations[" + store.PluginAnnotation + "]",
		Message: fmt.Sprintf("the object names %s, and gatefold does not serve plugins of Kong: %s", by.Key, effect),
		Hint: "write what the plugin does as a TrafficPolicy, and remove its name here; if it is to be served without the plugin, give the " +
			by.Key.Kind + " the annotation " + schema.IgnoreAnnotation + `: "true"`,
	}}
}

// pluginFor returns the first KongPlugin that an object names and that may protect it, nil if there is none.
func pluginFor(c *memo.Ctx, invalid *memo.Input[manifest.Key, *store.Invalid], object *manifest.Object) *store.Invalid {
	for _, key := range store.Plugins(object) {
		if from, ok := invalid.Get(c, key); ok && from.Unserved {
			return from
		}
	}
	return nil
}

// closeForPlugin makes the rules of a route answer 500 if the route names a KongPlugin that may protect it.
func (r *policyRules) closeForPlugin(c *memo.Ctx, g *gathering, object *manifest.Object) {
	if from := pluginFor(c, r.in.invalid, object); from != nil {
		g.close(&closing{
			Why: fmt.Sprintf("%s closes it: %s", from.Key, from.Message()), At: ir.Part{Kind: ir.PartClosed, Object: from.Key, Field: "kind"},
		}, false)
	}
}
