package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/gatefold/gatefold/translate"
)

// maxQuarantine bounds how many parts are in quarantine; what is beyond is kept
// from each Envoy by its own stream.
const maxQuarantine = 10_000

// quarantine is what Envoys refused and none took: it flows back to translate,
// so that it is refused once and not by every Envoy that comes. It is guarded by
// Server.mu.
type quarantine struct {
	set     map[translate.RefusedPart]translate.Refusal
	changed chan struct{} // capacity 1
}

func newQuarantine() quarantine {
	return quarantine{set: map[translate.RefusedPart]translate.Refusal{}, changed: make(chan struct{}, 1)}
}

func (q *quarantine) poke() {
	select {
	case q.changed <- struct{}{}:
	default:
	}
}

// heed takes what an answer to a table taught.
func (s *Server) heed(st *stream, r *response) {
	if r.treeless {
		s.setLinear(st, true)
	}
	if r.found != nil {
		s.convict(st, r.found)
	}
}

// convict puts a part into quarantine, unless its refusal is the Envoy's own
// matter: by its words, or because another Envoy has taken it.
func (s *Server) convict(st *stream, found *conviction) {
	part := found.part
	part.local = part.local || s.ownMatter(part.words) || s.taken(st, found)
	if part.local || len(s.quarantine.set) >= maxQuarantine {
		return
	}
	key := translate.RefusedPart{Table: found.table, Host: found.unit.host, Route: found.unit.route, Sum: part.sum}
	if key.Route != "" { // a route is refused in whatever table it stands
		key.Table, key.Host = "", ""
	}
	r, known := s.quarantine.set[key]
	if known && (r.Match || !part.match) {
		return
	}
	r.Match = part.match
	r.Words = cmp.Or(r.Words, fmt.Sprintf("Envoy %q: %s", cmp.Or(st.node, st.peer), part.words))
	s.quarantine.set[key] = r
	s.quarantine.poke()
}

// taken tells whether another Envoy holds the part in this form.
func (s *Server) taken(st *stream, found *conviction) bool {
	seen := map[*entry]bool{}
	takes := func(c *scope) bool {
		for other := range c.streams {
			t := other.tables[found.table]
			if other == st || t == nil || t.accepted == nil || seen[t.accepted] {
				continue
			}
			seen[t.accepted] = true
			if body := readTable(t.accepted.linear()).find(found.unit); body != nil && found.part.covers(body) {
				return true
			}
		}
		return false
	}
	if takes(s.union) {
		return true
	}
	for _, c := range s.scopes {
		if takes(c) {
			return true
		}
	}
	return false
}

// tellQuarantine calls Options.Quarantine after each change, newest wins, until
// ctx ends.
func (s *Server) tellQuarantine(ctx context.Context) {
	for {
		select {
		case <-s.quarantine.changed:
		case <-ctx.Done():
			return
		}
		if s.options.Quarantine != nil {
			s.options.Quarantine(s.quarantined())
		}
	}
}

// quarantined gives a copy of the set.
func (s *Server) quarantined() translate.Quarantine {
	s.mu.Lock()
	defer s.mu.Unlock()
	set := make(translate.Quarantine, len(s.quarantine.set))
	for part, r := range s.quarantine.set {
		set[part] = r
	}
	return set
}

// forgive empties the quarantine, so that Envoys are asked again: they may have
// been replaced by others.
func (s *Server) forgive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	forget := func(c *scope) {
		for st := range c.streams {
			s.setLinear(st, st.treeless)
			for name, t := range st.tables {
				if t.hopeless != "" || len(t.refused) > 0 || t.treeless {
					st.tables[name] = &tableState{accepted: t.accepted, refused: map[unit]*refusedPart{}}
					delete(st.ledgers[resourcev3.RouteType].rejected, name)
					st.mark(resourcev3.RouteType, name)
				}
			}
		}
	}
	forget(s.union)
	for _, c := range s.scopes {
		forget(c)
	}
	if len(s.quarantine.set) > 0 {
		clear(s.quarantine.set)
		s.quarantine.poke()
	}
}

// refusedRoutes says what is kept from this Envoy because it refused it.
func (st *stream) refusedRoutes(gateway string) []string {
	var said []string
	for name, t := range st.tables {
		if !st.scope.owns(gateway, resourcev3.RouteType, name) {
			continue
		}
		for u, part := range t.refused {
			said = append(said, fmt.Sprintf("Envoy %q rejected %s, which answers 500 there: %s", cmp.Or(st.node, st.peer), u, part.words))
		}
	}
	slices.Sort(said)
	return said
}

func (u unit) String() string {
	if u.route == "" {
		return fmt.Sprintf("host %q", u.host)
	}
	return fmt.Sprintf("route %q of host %q", strings.TrimPrefix(u.route, "HTTPRoute/"), u.host)
}

// logRejection warns of a rejection, of one that repeats itself only in detail.
func (s *Server) logRejection(st *stream, r *response, request *deltaRequest) {
	event := s.log.Warn()
	if r.again || r.probe {
		event = s.log.Debug()
	}
	event = event.Str("node", st.node).Str("cluster", st.cluster).Str("type", shortType(r.typ))
	switch {
	case r.names() != 1:
	case len(r.set) == 1:
		event = event.Str("name", r.set[0].Name)
	default:
		event = event.Str("removed", r.removed[0])
	}
	event.Int("resources", r.names()).Str("envoy", plainWords(r.typ, request.GetErrorDetail().GetMessage())).
		Msg("an Envoy rejected an update and serves on with the last accepted one")
}

// logFindings tells what an answer to a table taught: which part the Envoy does not
// take, or that it takes the linear form alone.
func (s *Server) logFindings(st *stream, r *response) {
	if r.treeless {
		s.log.Warn().Str("node", st.node).Str("cluster", st.cluster).Str("table", r.set[0].Name).
			Msg("an Envoy rejects a compiled route table and takes its linear form: it is given that from now on, in which it tries route by route")
	}
	if found := r.found; found != nil && !found.part.match {
		s.log.Warn().Str("node", st.node).Str("cluster", st.cluster).Str("table", found.table).Stringer("part", found.unit).
			Str("envoy", found.part.words).Msg("an Envoy rejects a part of a table: it answers 500, the table goes on without it")
	}
}
