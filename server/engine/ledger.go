package engine

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/status"
	"github.com/gatefold/gatefold/translate/xds"
)

// ledger records which resources and Gateways the server has. A new Translator does not know what the Translator
// before it published, so it cannot remove resources that are no longer needed. The method complete adds these
// removals.
type ledger struct {
	gone map[manifest.Key]struct{} // objects that were removed since the last Publish
	// resources has the published resources.
	resources map[resourceID]bool
	infra     map[string]bool // the Gateways with published Infra
}

// resourceID identifies an Envoy resource of a Gateway.
type resourceID struct{ gateway, typ, name string }

// newLedger returns the ledger of a server that has nothing.
func newLedger() ledger {
	return ledger{map[manifest.Key]struct{}{}, map[resourceID]bool{}, map[string]bool{}}
}

// changed records which objects the store removed in a Change, until published is called.
func (l ledger) changed(change store.Change) {
	for _, key := range change.Gone {
		l.gone[key] = struct{}{}
	}
}

// published is called after the server got a Result. It updates l.resources and l.infra, so that they have what the
// server has now. It empties l.gone, the objects that were removed since the previous publication.
func (l *ledger) published(result translate.Result) {
	l.gone = map[manifest.Key]struct{}{}
	for _, u := range result.Delta {
		l.resources[resourceID{u.Gateway, u.Type, u.Name}] = true
		if u.Resource == nil {
			delete(l.resources, resourceID{u.Gateway, u.Type, u.Name})
		}
	}
	for _, u := range result.Infra {
		l.infra[u.Gateway] = true
		if u.Infra == nil {
			delete(l.infra, u.Gateway)
		}
	}
}

// complete completes the first Result of a new Translator, and returns it. It adds a removal for everything that the
// server has and the Result does not contain: resources, Infra and statuses. The ledger does not record statuses. So
// complete assumes that the server may have the status of each object in the parameter all (every object that the
// Translator got), and of each object that was removed since the last publication.
func (l ledger) complete(result translate.Result, all store.Change) translate.Result {
	resources, statuses, infra := maps.Clone(l.resources), maps.Clone(l.gone), maps.Clone(l.infra)
	for _, o := range all.Set {
		statuses[o.Key] = struct{}{}
	}
	for _, i := range all.Invalid {
		if !i.Nameless {
			statuses[i.Key] = struct{}{}
		}
	}
	for _, u := range result.Infra {
		delete(infra, u.Gateway)
	}
	for _, u := range result.Delta {
		delete(resources, resourceID{u.Gateway, u.Type, u.Name})
	}
	for _, u := range result.Status {
		delete(statuses, u.Key)
	}
	for id := range resources {
		result.Delta = append(result.Delta, xds.Update{Gateway: id.gateway, Type: id.typ, Name: id.name})
	}
	for gateway := range infra {
		result.Infra = append(result.Infra, ir.InfraUpdate{Gateway: gateway})
	}
	for key := range statuses {
		result.Status = append(result.Status, status.Update{Key: key})
	}
	slices.SortFunc(result.Delta, func(a, b xds.Update) int {
		return cmp.Or(cmp.Compare(a.Gateway, b.Gateway), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(result.Infra, func(a, b ir.InfraUpdate) int { return cmp.Compare(a.Gateway, b.Gateway) })
	slices.SortFunc(result.Status, func(a, b status.Update) int { return manifest.CompareKeys(a.Key, b.Key) })
	return result
}
