package server

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of envoy.config.route.v3 and xds.type.matcher.v3.
const (
	hostMatcher protowire.Number = 21
	listRoutes  protowire.Number = 1

	matchPrefix          protowire.Number = 1
	matchSeparatedPrefix protowire.Number = 14
)

// leafPath leads from a virtual host's matcher to the RouteList of each leaf:
// matcher_tree, prefix_match_map, its entries, an entry's value, action,
// typed_config, value.
func leafPath() []protowire.Number { return []protowire.Number{2, 3, 1, 2, 2, 2, 2} }

// striker takes refused parts out of a table: a route answers 500 to the same
// requests, or is left out when its match is at fault, and so is a host.
type striker struct {
	refused map[unit]*refusedPart
	struck  map[unit]bool
	// torn tells that a list may lack what stands behind a route that was left out:
	// lists of a tree end with the first that takes all their requests.
	torn bool
}

func newStriker(refused map[unit]*refusedPart) *striker {
	return &striker{refused: refused, struck: map[unit]bool{}}
}

// table strikes a table, linear or compiled.
func (s *striker) table(t *table) *table {
	out := *t
	out.hosts = make([]host, 0, len(t.hosts))
	for _, h := range t.hosts {
		at := unit{host: string(h.name)}
		if fault := s.refused[at]; fault.covers(h.frame) {
			s.struck[at] = true
			if !fault.match {
				out.hosts = append(out.hosts, h.closed())
			}
			continue
		}
		h.routes, _ = s.list(at.host, h.routes)
		if h.matcher != nil {
			h.matcher = edit(h.matcher, leafPath(), func(list []byte) []byte { return s.leaf(at.host, list) })
		}
		out.hosts = append(out.hosts, h)
	}
	return &out
}

// list strikes routes; last is the one that the list ended with, if it was left out.
func (s *striker) list(host string, routes []piece) (rest []piece, last *piece) {
	rest = routes[:0:0]
	for _, r := range routes {
		last = nil
		at := unit{host, string(r.name)}
		switch fault := s.refused[at]; {
		case !fault.covers(r.body):
			rest = append(rest, r)
			continue
		case fault.match:
			last = &r
		default:
			rest = append(rest, r.closed())
		}
		s.struck[at] = true
	}
	return rest, last
}

// leaf strikes the RouteList of a leaf.
func (s *striker) leaf(host string, list []byte) []byte {
	before, bodies, after := split(list, listRoutes)
	routes, last := s.list(host, pieces(bodies))
	s.torn = s.torn || last != nil && last.byPrefix()
	out := slices.Clone(before)
	for _, r := range routes {
		out = appendMessage(out, listRoutes, r.body)
	}
	return append(out, after...)
}

// byPrefix tells whether a route takes all that begins with its path.
func (p piece) byPrefix() (yes bool) {
	fields(p.body, func(number protowire.Number, _, value []byte) {
		if number != routeMatch {
			return
		}
		fields(value, func(number protowire.Number, _, _ []byte) {
			yes = yes || number == matchPrefix || number == matchSeparatedPrefix
		})
	})
	return yes
}

// edit replaces the messages at a path of fields within a message.
func edit(body []byte, path []protowire.Number, replace func([]byte) []byte) []byte {
	if len(path) == 0 {
		return replace(body)
	}
	out := make([]byte, 0, len(body))
	fields(body, func(number protowire.Number, field, value []byte) {
		if number == path[0] {
			out = appendMessage(out, number, edit(value, path[1:], replace))
		} else {
			out = append(out, field...)
		}
	})
	return out
}
