package server

import (
	"slices"
	"strings"

	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/xds"
)

// scope is what the Envoys of one Gateway, or of all of them, are to hold. It
// is guarded by lock.
type scope struct {
	// name is "namespace/name", "" for the union of all Gateways.
	name string
	// known is false until the scope had its first resource. Nothing is
	// answered before: what an Envoy holds is not taken away by a server that
	// does not know better.
	known   bool
	target  map[string]map[string][]owned // type → name → by Gateway
	rolls   map[string]called             // by type
	changed map[string][]string           // names by type that streams are not told of yet
	fresh   bool                          // nor that the scope is known
	streams map[*stream]struct{}
	tally   tally
	edits   uint64 // of target
}

// owned is a Gateway's form of a resource. In a union two Gateways may have one
// of the same name, as they do of shared clusters; the first Gateway's is sent.
type owned struct {
	gateway string
	*entry
}

func newScope(name string) *scope {
	return &scope{name: name, target: map[string]map[string][]owned{}, rolls: map[string]called{}, changed: map[string][]string{}, streams: map[*stream]struct{}{}}
}

// entry returns the resource to send, nil when there is none.
func (c *scope) entry(typ, name string) *entry {
	if owners := c.target[typ][name]; len(owners) > 0 {
		return owners[0].entry
	}
	return nil
}

// owns reports whether gateway has a resource of this name.
func (c *scope) owns(gateway, typ, name string) bool {
	return slices.ContainsFunc(c.target[typ][name], func(o owned) bool { return o.gateway == gateway })
}

// size counts the resources.
func (c *scope) size() int {
	size := 0
	for _, names := range c.target {
		size += len(names)
	}
	return size
}

// put takes over one update, of which tell tells the streams; e nil removes.
func (c *scope) put(u update) {
	names := c.target[u.typ]
	if names == nil {
		names = map[string][]owned{}
		c.target[u.typ] = names
	}
	owners := names[u.name]
	at, found := slices.BinarySearchFunc(owners, u.gateway,
		func(o owned, gateway string) int { return strings.Compare(o.gateway, gateway) })
	switch {
	case u.entry == nil && found:
		owners = slices.Delete(slices.Clone(owners), at, at+1)
	case u.entry != nil && found:
		owners = slices.Clone(owners)
		owners[at].entry = u.entry
	case u.entry != nil:
		owners = slices.Insert(slices.Clone(owners), at, owned{u.gateway, u.entry})
	}
	if names[u.name] = owners; len(owners) == 0 {
		delete(names, u.name)
	}
	if len(names) == 0 {
		delete(c.target, u.typ) // an emptied one keeps the room of all that there was
	}
	if !c.known && u.entry != nil {
		c.known, c.fresh = true, true
	}
	c.edits++
	c.outdate(u.typ, u.name)
	c.changed[u.typ] = append(c.changed[u.typ], u.name)
}

// tell marks for every stream what was put since the last call.
func (c *scope) tell() {
	for st := range c.streams {
		for typ, names := range c.changed {
			st.mark(typ, names...)
		}
		if c.fresh { // it may have asked for all of another type
			st.poke()
		}
	}
	clear(c.changed)
	c.fresh = false
}

// intern returns the names as the target has them, where it does: a request's own would
// live as long as its stream.
func (c *scope) intern(typ string, names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = name
		if owners := c.target[typ][name]; len(owners) > 0 {
			out[i] = owners[0].Name
		}
	}
	return out
}

// update is an xds.Update, encoded.
type update struct {
	gateway, typ, name string
	entry              *entry // nil when gone
}

// Publish makes result the configuration that every Envoy should have, and that the admin pages
// show. Its cost depends on what result changes; it waits for no stream. Before the first call,
// no stream is answered and /readyz is not ready. Calls must not overlap.
func (s *Server) Publish(result translate.Result) {
	updates := make([]update, len(result.Delta))
	for i, u := range result.Delta {
		updates[i] = update{gateway: u.Gateway, typ: u.Type, name: u.Name}
		if u.Resource != nil {
			updates[i].entry = newEntry(u.Resource)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.verdicts.announced.setInfra(result.Infra)
	touched := map[string]bool{} // Gateway → its listeners changed
	for _, u := range updates {
		c := s.scopeOf(u.gateway)
		had := c.entry(u.typ, u.name) != nil
		c.put(u)
		s.union.put(u)
		if has := u.entry != nil; u.typ == xds.RouteType && has != had {
			s.verdicts.retable(c, u.name, int(number(has)-number(had)))
		}
		touched[u.gateway] = touched[u.gateway] || u.typ == xds.ListenerType
	}
	s.union.tell()
	for gateway := range touched {
		s.scopes[gateway].tell()
	}
	for _, u := range result.Status {
		if gateway, ok := board.GatewayOf(u.Key); ok {
			s.scopeOf(gateway)
			touched[gateway] = touched[gateway] || false
		}
	}
	for gateway, listeners := range touched {
		s.verdicts.judge(s.scopes[gateway], listeners)
	}
	s.verdicts.judgeTouched()
	first := s.loaded.publish(result)
	for _, u := range result.Status {
		if gateway, ok := board.GatewayOf(u.Key); ok && u.Status == nil {
			s.verdicts.forget(gateway)
		}
	}
	s.metrics.stale.Set(float64(len(result.Stale)))
	s.metrics.published(s.union)
	s.metrics.ends.set(result.Certificates)
	if first {
		s.published = true
		close(s.intake.loaded)
	}
}
