package server

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/health"
	envoyhost "github.com/gatefold/gatefold/server/host"
	"github.com/gatefold/gatefold/translate/xds"
)

// envoyPages is what the admin pages show of Envoys (admin.Envoys).
type envoyPages struct{ *Server }

// Resources implements admin.Envoys. Resources are never changed, so they are rendered without the lock.
func (s envoyPages) Resources() (map[string][]*xds.Resource, []admin.Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gateways := map[string][]*xds.Resource{}
	streams := dumpStreams(nil, s.union)
	for gateway, c := range s.scopes {
		streams = dumpStreams(streams, c)
		if !c.known {
			continue
		}
		gateways[gateway] = []*xds.Resource{}
		for _, names := range c.target {
			for _, owners := range names {
				gateways[gateway] = append(gateways[gateway], owners[0].Resource)
			}
		}
	}
	slices.SortFunc(streams, func(a, b admin.Stream) int { return cmp.Compare(a.ID, b.ID) })
	return gateways, streams
}

func dumpStreams(to []admin.Stream, c *scope) []admin.Stream {
	if to == nil {
		to = []admin.Stream{}
	}
	for st := range c.streams {
		dump := admin.Stream{
			ID: st.id, Node: st.node, Cluster: st.cluster, Envoy: st.version, Peer: st.peer, Identity: st.identity,
			Known: c.known, Connected: st.opened.UTC(), Types: map[string]admin.TypeState{},
		}
		for typ, l := range st.ledgers {
			dump.Types[xds.ShortType(typ)] = l.dump()
		}
		to = append(to, dump)
	}
	return to
}

func (l *ledger) dump() admin.TypeState {
	dump := admin.TypeState{Acked: l.held.size, Pending: l.due.size() + l.awaited, Removing: len(l.gone.in)}
	for _, name := range slices.Sorted(maps.Keys(l.rejected.of)) {
		r := l.rejected.of[name]
		held, _ := l.held.get(name)
		dump.Rejected = append(dump.Rejected, admin.Rejected{Name: name, Version: r.version, Held: held, Words: r.words})
	}
	return dump
}

// Transport implements admin.Envoys.
func (s envoyPages) Transport() (page admin.Transport) {
	page.RejectedClients = s.refused.list(time.Now())
	if s.transport.keeper != nil {
		state := s.transport.keeper.State()
		page.TLS = &admin.TLS{Expires: state.NotAfter.UTC(), Problem: state.Problem, Changed: state.Changed.UTC()}
	}
	return page
}

// Connected implements admin.Envoys. Envoys whose admin address is not to be asked have their answer
// already.
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

// socket is the path of the xDS socket, "" where xDS is served on TCP.
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

// Forgive implements admin.Envoys.
func (s envoyPages) Forgive() { s.quarantine.forgive() }
