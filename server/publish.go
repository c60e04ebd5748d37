package server

import (
	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/xds"
)

// Publish makes result the configuration of the Envoys and of the admin pages. In a fleet with canaries, only the
// canaries get it before it is promoted. Publish waits for no stream: its time depends on the size of the change and
// the number of streams. Before the first call, no stream gets a response, and /readyz is not ready. Calls must not
// overlap.
func (s *Server) Publish(result translate.Result) {
	updates := make([]delta.Update, len(result.Delta))
	for i, u := range result.Delta {
		updates[i] = delta.Update{Gateway: u.Gateway, Type: u.Type, Name: u.Name}
		if u.Resource != nil {
			updates[i].Entry = delta.NewEntry(u.Resource)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.verdicts.announced.setInfra(result.Infra)
	touched := map[string]bool{} // by Gateway: whether its listeners changed
	of := map[*scope][]delta.Update{}
	for _, u := range updates {
		c := s.scopeOf(u.Gateway)
		of[c] = append(of[c], u)
		had := c.Entry(u.Type, u.Name) != nil
		if has := u.Entry != nil; u.Type == xds.RouteType && has != had {
			s.verdicts.retable(c, u.Name, number(has)-number(had))
		}
		touched[u.Gateway] = touched[u.Gateway] || u.Type == xds.ListenerType
	}
	of[s.union] = updates
	for c, updates := range of {
		s.publish(c, updates)
	}
	s.staging.poke()
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
	s.metrics.Published(s.union.Count, result.Stale, result.Certificates)
	if first {
		s.published = true
		s.intake.Loaded()
	}
}

// Edited stores an edit of the folder for the admin pages. If published is true, the edit led to a new revision,
// which Publish has already published. Edited then adds 1 to the server's revision number, and gives the edit this
// number. Calls must not overlap.
func (s *Server) Edited(edit admin.Edit, published bool) {
	s.locked(func() {
		if published {
			s.revision++
			edit.Revision = s.revision
		}
	})
	s.loaded.edited(edit)
}
