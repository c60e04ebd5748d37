package translate

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
)

// runInfra returns nil for a Gateway that is not ours.
func (r *gatewayRules) runInfra(c *memo.Ctx, key manifest.Key) *ir.Infra {
	g := r.gateway.Get(c, key)
	if g == nil {
		return nil
	}
	infra := &ir.Infra{Gateway: g.Name, Origin: g.Origin, Addresses: g.Addresses}
	for _, port := range g.Ports() {
		infra.Ports = append(infra.Ports, port.Port)
	}
	return infra
}

// infras drains the sink of what Gateways need.
func (t *Translator) infras() []ir.InfraUpdate {
	var out []ir.InfraUpdate
	for key, change := range t.infra.Drain() {
		if !reflect.DeepEqual(change.Old, change.New) {
			out = append(out, ir.InfraUpdate{Gateway: key.Namespace + "/" + key.Name, Infra: change.New})
		}
	}
	slices.SortFunc(out, func(a, b ir.InfraUpdate) int { return cmp.Compare(a.Gateway, b.Gateway) })
	return out
}
