package translate

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/status"
	"github.com/gatefold/gatefold/translate/xds"
)

// translator does the work of a Translator. It implements the interface that is named rules.
type translator struct {
	engine   *memo.Engine
	in       *inputs
	net      *network
	listener *memo.Sink[portKey, *portOut]
	infra    *memo.Sink[manifest.Key, *ir.Infra]
	routes   *memo.Sink[chainKey, xds.Resource]
	clusters *memo.Sink[useKey, *clusterOut]
	filters  *memo.Sink[string, xds.Resource]
	secrets  *memo.Sink[secretUse, *secretOut]
	trust    *memo.Sink[trustUse, *trustOut]
	signIns  *memo.Sink[signInUse, *signInOut]
	status   []*memo.Sink[manifest.Key, *status.Update]
	last     lastView
}

// newTranslator returns a new translator as a value of the interface that is named rules. This interface hides the
// generic types in the fields of the translator, so that other packages do not compile them again (see the
// interface). If New did this conversion, other packages would compile them, because New is inlined there.
func newTranslator(options Options) rules {
	options = options.withDefaults()
	engine := memo.New()
	in := newInputs(engine)
	net := newNetwork(engine, in, options)
	t := &translator{
		engine: engine, in: in, net: net,
		listener: memo.NewSink(net.ports.listener),
		infra:    memo.NewSink(net.gateways.infra),
		routes:   memo.NewSink(net.routeConfigs.routeConfig),
		clusters: memo.NewSink(net.clusters.push),
		filters:  memo.NewSink(net.requirements.filter),
		secrets:  memo.NewSink(net.secrets.pushSecret),
		trust:    memo.NewSink(net.trusts.pushTrust),
		signIns:  memo.NewSink(net.signIns.pushSignIn),
	}
	for _, rule := range net.statuses() {
		t.status = append(t.status, memo.NewSink(rule))
	}
	t.last.watch(net)
	return t
}

func (t *translator) Apply(change store.Change) Result {
	if err := t.Take(nil, change); err != nil {
		panic(err)
	}
	t.Settle()
	result := t.Preview()
	result.Delta, result.Infra, result.Status = t.delta(), t.infras(), t.statuses()
	return result
}

func (t *translator) Preview() Result {
	return Result{
		Problems: t.last.allProblems(),
		View:     t.last.view(),

		Certificates: t.last.inUse,
		Authorities:  t.last.trusted,
		Issuers:      t.last.issuers,
		Holders:      t.last.holders,
	}
}

func (t *translator) Status(key manifest.Key) *status.Update {
	for _, rule := range t.net.statuses() {
		if update, ok := rule.Peek(key); ok && update != nil {
			return update
		}
	}
	return nil
}

// maxSettling is the largest number of times that Settle flushes the engine. Two are enough: the second time finds
// that the same objects are first among the incumbents.
const maxSettling = 4

// Settle makes what the present values give to whom the incumbents of the next Change. Nobody gains or loses anything by
// it, because the incumbents get everything again (see recall).
func (t *translator) Settle() {
	t.in.holders.replace(nil)
	for range maxSettling {
		changed := false
		for _, recall := range t.net.recalls() {
			changed = recall.settle() || changed
		}
		if !changed {
			return
		}
		if err := t.engine.Flush(nil); err != nil {
			panic(err)
		}
	}
}

// delta returns the resources that changed since the last call. It empties the sinks of resources (t.listener and so
// on), which collect these changes.
func (t *translator) delta() []xds.Update {
	var out []xds.Update
	for key, change := range t.listener.Drain() {
		out = appendUpdate(out, key.Gateway, resourceOf(change.Old), resourceOf(change.New))
	}
	for key, change := range t.routes.Drain() {
		out = appendUpdate(out, key.Gateway, optional(change.Old, change.Had), optional(change.New, change.Has))
	}
	for gateway, change := range t.filters.Drain() {
		out = appendUpdate(out, gateway, optional(change.Old, change.Had), optional(change.New, change.Has))
	}
	for key, change := range t.clusters.Drain() {
		out = appendUpdate(out, key.Gateway, change.Old.cluster(), change.New.cluster())
		out = appendUpdate(out, key.Gateway, change.Old.assignment(), change.New.assignment())
	}
	for key, change := range t.secrets.Drain() {
		out = appendUpdate(out, key.Gateway, change.Old.resource(), change.New.resource())
	}
	for key, change := range t.trust.Drain() {
		out = appendUpdate(out, key.Gateway, change.Old.resource(), change.New.resource())
	}
	for key, change := range t.signIns.Drain() {
		out = appendUpdate(out, key.Gateway, change.Old.client(), change.New.client())
		out = appendUpdate(out, key.Gateway, change.Old.cookies(), change.New.cookies())
	}
	slices.SortFunc(out, func(a, b xds.Update) int {
		return cmp.Or(cmp.Compare(a.Gateway, b.Gateway), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// optional returns a pointer to the resource r if it exists, and nil otherwise.
func optional(r xds.Resource, exists bool) *xds.Resource {
	if !exists {
		return nil
	}
	return &r
}

// appendUpdate appends to out what changes for Envoys between two versions of a resource: nothing if the
// versions are equal. If old is nil, the resource is new; if changed is nil, the resource is removed. If the
// names differ, there is also a removal of the old name: a listener gets another name if its port changes
// protocol.
func appendUpdate(out []xds.Update, gateway string, old, changed *xds.Resource) []xds.Update {
	if old != nil && changed != nil && old.Name != changed.Name {
		out = append(out, xds.Update{Gateway: gateway, Type: old.Type, Name: old.Name})
	}
	switch {
	case changed != nil && (old == nil || old.Version != changed.Version):
		return append(out, xds.Update{Gateway: gateway, Type: changed.Type, Name: changed.Name, Resource: changed})
	case changed == nil && old != nil:
		return append(out, xds.Update{Gateway: gateway, Type: old.Type, Name: old.Name})
	}
	return out
}

// statuses returns the statuses that changed since the last call. It empties the sinks in t.status, which collect
// these changes. For an object that no longer has a status, for example a Gateway that another controller now
// serves, the Update has a nil Status. A status that changed and changed back is omitted. If an object becomes
// valid or invalid, its status moves from one sink to another, and the result has only the new status.
func (t *translator) statuses() []status.Update {
	changed := map[manifest.Key]status.Update{}
	for _, sink := range t.status {
		for key, change := range sink.Drain() {
			_, known := changed[key]
			switch {
			case reflect.DeepEqual(change.Old, change.New):
			case change.New != nil:
				changed[key] = *change.New
			case change.Old != nil && !known:
				changed[key] = status.Update{Key: key}
			}
		}
	}
	out := slices.Collect(maps.Values(changed))
	slices.SortFunc(out, func(a, b status.Update) int { return manifest.CompareKeys(a.Key, b.Key) })
	return out
}

// infras returns the new Infra of each Gateway whose Infra changed since the last call. It empties the sink
// t.infra. For a Gateway that is no longer served, the update has a nil Infra.
func (t *translator) infras() []ir.InfraUpdate {
	var out []ir.InfraUpdate
	for key, change := range t.infra.Drain() {
		if !reflect.DeepEqual(change.Old, change.New) {
			out = append(out, ir.InfraUpdate{Gateway: key.Namespace + "/" + key.Name, Infra: change.New})
		}
	}
	slices.SortFunc(out, func(a, b ir.InfraUpdate) int { return cmp.Compare(a.Gateway, b.Gateway) })
	return out
}

func (t *translator) Take(stop memo.Stop, change store.Change) error {
	for _, object := range change.Set {
		t.in.set(object)
	}
	for _, key := range change.Gone {
		t.in.remove(key)
	}
	for _, invalid := range change.Invalid {
		t.in.invalid.Set(invalid.Key, invalid)
	}
	return faultOf(t.engine.Flush(stop), t.in.has)
}

func (t *translator) Quarantine(set Quarantine) { t.in.quarantine.replace(set) }

func (t *translator) Hold(set Holders) { t.in.holders.replace(set) }

func (t *translator) Discover(set Discoveries) { t.in.discoveries.replace(set) }
