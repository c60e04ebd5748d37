package server

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/gatefold/gatefold/envoy"
	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/connect"
	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/server/health"
	envoyhost "github.com/gatefold/gatefold/server/host"
	"github.com/gatefold/gatefold/translate/xds"
)

// envoyPages implements admin.Envoys: it returns what the admin pages show of Envoys.
type envoyPages struct {
	*core
	transport *connect.Transport
}

// Resources implements admin.Envoys. It returns the resources by Gateway, and all streams. A resource never
// changes, so the caller may render it without the lock.
func (s envoyPages) Resources() (map[string][]*xds.Resource, []admin.Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gateways := map[string][]*xds.Resource{}
	for gateway, c := range s.scopes {
		if c.Known() {
			gateways[gateway] = slices.AppendSeq([]*xds.Resource{}, c.Resources())
		}
	}
	return gateways, s.dumpStreams()
}

// Streams implements admin.Envoys.
func (s envoyPages) Streams() []admin.Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dumpStreams()
}

// dumpStreams returns what the admin pages show of every stream. The stream that was opened first comes first.
// The caller has locked s.mu.
func (s envoyPages) dumpStreams() []admin.Stream {
	streams := []admin.Stream{}
	for _, c := range s.all() {
		for st := range c.streams {
			streams = append(streams, admin.Stream{
				ID: st.id, Node: st.node, Cluster: st.cluster, Envoy: st.version, Peer: st.peer, Identity: st.identity,
				Stage: st.stageName(), Known: c.Known(), Connected: st.opened.UTC(), Revision: s.heldBy(st), Types: st.dump(),
			})
		}
	}
	slices.SortFunc(streams, func(a, b admin.Stream) int { return cmp.Compare(a.ID, b.ID) })
	return streams
}

// dump returns what the admin pages show of the stream's progress: a TypeState for each resource type, by the
// short name of the type.
func (st *stream) dump() map[string]admin.TypeState {
	types := map[string]admin.TypeState{}
	for typ, p := range st.Progress() {
		types[xds.ShortType(typ)] = admin.TypeState{Acked: p.Accepted, Pending: p.Pending, Removing: p.Removing}
	}
	byName := func(a, b delta.Rejection) int { return cmp.Compare(a.Name, b.Name) }
	for _, r := range slices.SortedFunc(st.Rejections(), byName) {
		of := types[xds.ShortType(r.Type)]
		held, _ := st.Held(r.Type, r.Name)
		of.Rejected = append(of.Rejected, admin.Rejected{Name: r.Name, Version: r.Version, Held: held, Words: r.Words})
		types[xds.ShortType(r.Type)] = of
	}
	return types
}

// Transport implements admin.Envoys.
func (s envoyPages) Transport() (page admin.Transport) {
	page.RejectedClients = s.refused.List(time.Now())
	if keeper := s.transport.Keeper(); keeper != nil {
		state := keeper.State()
		page.TLS = &admin.TLS{Expires: state.NotAfter.UTC(), Problem: state.Problem, Changed: state.Changed.UTC()}
	}
	return page
}

// Connected implements admin.Envoys. It sets Envoy.Unknown if the admin address of an Envoy must not be
// queried.
func (s envoyPages) Connected() []admin.Connected {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []admin.Connected
	add := func(c *scope) {
		for st := range c.streams {
			q := admin.Connected{Envoy: health.Envoy{Node: st.node, NodeCluster: st.cluster, Version: st.version, Peer: st.peer}}
			q.At, q.Envoy.Unknown = health.Admit(st.claim, st.address, s.socket())
			all = append(all, q)
		}
	}
	add(s.union)
	for _, c := range s.scopes {
		add(c)
	}
	slices.SortFunc(all, func(a, b admin.Connected) int {
		return cmp.Or(strings.Compare(a.Envoy.Node, b.Envoy.Node), strings.Compare(a.Envoy.Peer, b.Envoy.Peer))
	})
	return all
}

// socket returns the path of the unix socket that serves xDS, and "" if xDS is served on TCP.
func (s envoyPages) socket() string {
	path, _ := strings.CutPrefix(s.options.XDSAddress, "unix:")
	if path == s.options.XDSAddress {
		return ""
	}
	return path
}

// Supervised implements admin.Envoys.
func (s envoyPages) Supervised() (all []envoyhost.State) {
	s.locked(func() { all = s.verdicts.supervisedList })
	return all
}

// Fleets implements admin.Envoys.
func (s envoyPages) Fleets() (fleets []admin.Fleet) {
	s.locked(func() {
		for _, c := range s.all() {
			if c.stage != nil {
				fleets = append(fleets, s.fleetOf(c))
			}
		}
	})
	slices.SortFunc(fleets, func(a, b admin.Fleet) int { return strings.Compare(a.Gateway, b.Gateway) })
	return fleets
}

// fleetOf returns what the admin pages show of the fleet (the Envoys of one Gateway, or of all Gateways) of the
// scope c. The fleet must have canaries: c.stage is not nil. The caller has locked s.mu.
func (s envoyPages) fleetOf(c *scope) admin.Fleet {
	of := c.stage
	fleet := admin.Fleet{
		Gateway: c.name, State: string(cmp.Or(of.verdict.state, delivered)), Revision: s.revision, Newest: s.revision,
		Envoys: len(c.streams), Problem: of.verdict.problem, Hint: of.verdict.hint,
	}
	if of.waits() {
		fleet.Revision, fleet.Newest, fleet.Since = of.revision, of.newest(), of.since.UTC()
		if of.withheld {
			fleet.Revision = 0
		}
	}
	for st := range c.canaries {
		fleet.Canaries = append(fleet.Canaries, cmp.Or(st.node, st.peer))
	}
	slices.Sort(fleet.Canaries)
	return fleet
}

// stageName returns "canary" for a canary, and "" for every other Envoy.
func (st *stream) stageName() string {
	if st.canary {
		return envoy.Canary
	}
	return ""
}

// Promote implements admin.Envoys.
func (s envoyPages) Promote(ctx context.Context) {
	s.staging.promoteAll()
	s.staging.awaitReport(ctx)
}

// Forgive implements admin.Envoys.
func (s envoyPages) Forgive() { s.quarantine.forgive() }
