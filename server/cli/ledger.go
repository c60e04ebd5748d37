package cli

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/status"
	"github.com/gatefold/gatefold/translate/xds"
)

// ledger is what the store gave and what the server got: enough to translate
// everything anew after a mistake of ours left a Change half-done.
type ledger struct {
	objects   map[store.Key]*store.Object
	invalid   map[store.Key]*store.Invalid
	resources map[resourceID]bool
	statuses  map[store.Key]bool
	infra     map[string]bool // by Gateway
}

type resourceID struct{ gateway, typ, name string }

func newLedger() ledger {
	return ledger{map[store.Key]*store.Object{}, map[store.Key]*store.Invalid{}, map[resourceID]bool{}, map[store.Key]bool{}, map[string]bool{}}
}

// changed notes what the store gave.
func (l ledger) changed(change store.Change) {
	for _, o := range change.Set {
		l.objects[o.Key] = o
		delete(l.invalid, o.Key)
	}
	for _, key := range change.Gone {
		delete(l.objects, key)
		delete(l.invalid, key)
	}
	for _, i := range change.Invalid {
		l.invalid[i.Key] = i
	}
}

// published notes what the server got.
func (l ledger) published(result translate.Result) {
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
	for _, u := range result.Status {
		l.statuses[u.Key] = true
		if u.Status == nil {
			delete(l.statuses, u.Key)
		}
	}
}

// all is the Change that brings a fresh Translator to the present.
func (l ledger) all() store.Change {
	objects := slices.Collect(maps.Values(l.objects))
	slices.SortFunc(objects, func(a, b *store.Object) int { return store.CompareKeys(a.Key, b.Key) })
	invalid := slices.Collect(maps.Values(l.invalid))
	slices.SortFunc(invalid, func(a, b *store.Invalid) int { return store.CompareKeys(a.Key, b.Key) })
	return store.Change{Set: objects, Invalid: invalid}
}

// complete adds to the first Result of a fresh Translator the removal of what
// the server has and the Result does not name.
func (l ledger) complete(result translate.Result) translate.Result {
	resources, statuses, infra := maps.Clone(l.resources), maps.Clone(l.statuses), maps.Clone(l.infra)
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
	slices.SortFunc(result.Status, func(a, b status.Update) int { return store.CompareKeys(a.Key, b.Key) })
	return result
}
