package translate

import (
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

// mountOut is the result for an HTTPRoute or GRPCRoute as a root: where it attaches to listeners, and the rules
// that it serves there.
type mountOut struct {
	Attach *attachOut
	// closed is set if the rules of the route have too many copies in virtual hosts (see Options.MaxCopies and the
	// type copies). Then the virtual hosts contain the one rule in closed, which answers 500, instead of the route's
	// own rules. closed is nil for all other routes. It is also nil if even this one rule has too many copies (see
	// spreadRules.where).
	closed *flatOut
	// flats are the rules of the route for each port, in the order of Attach.Ports. If the route serves on no
	// port, flats has one value for port 0.
	flats  []*flatOut
	placed placed
}

func sameMount(a, b *mountOut) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Attach == b.Attach && deepEqual(a.closed, b.closed) && slices.Equal(a.flats, b.flats) && samePlaced(a.placed, b.placed)
}

// anyFlat returns the flattened rules for one of the ports. It is used for what is the same on all ports, such
// as the problems of rules.
func (m *mountOut) anyFlat() *flatOut {
	return m.flats[0]
}

// flat returns the flattened rules for a port, which must be one of Attach.Ports.
func (m *mountOut) flat(port int32) *flatOut {
	at, _ := slices.BinarySearch(m.Attach.Ports, port)
	return m.flats[at]
}

// tables calls yield for each virtual host that contains rules of the route. The arguments of yield are the key of
// the virtual host, and the rules of the route for the port of the virtual host. If m.closed is set, it replaces
// these rules.
func (m *mountOut) tables(yield func(tableKey, *flatOut)) {
	for key, place := range m.Attach.places() {
		if m.closed != nil {
			yield(key, m.closed)
		} else {
			yield(key, m.flat(place.Port))
		}
	}
}

type rootIn struct {
	*spreadRules
	*hostPolicyRules
	flat   *memo.Rule[flatKey, *flatOut]
	routes *servedRoutes
}

// rootRules build the rules of HTTPRoutes and GRPCRoutes that attach to listeners. The built rules have the form that
// virtual hosts contain (see the type placed). For example, the policies of listeners are already applied.
type rootRules struct {
	in    rootIn
	mount *memo.Rule[manifest.Key, *mountOut]
}

func newRootRules(e *memo.Engine, in rootIn) *rootRules {
	r := &rootRules{in: in}
	r.mount = memo.NewRule(e, "mount", r.runMount, sameMount)
	memo.EachOf(r.mount, in.routes, inTables)
	return r
}

// inTables selects the routes whose rules are in virtual hosts. It returns a list with the key of an HTTPRoute
// or GRPCRoute, and nil for any other kind of route.
func inTables(key manifest.Key, _ *manifest.Object) []manifest.Key {
	if kind, _ := route.KindOf(key); !kind.Tables {
		return nil
	}
	return []manifest.Key{key}
}

// runMount returns the rules of a route (key) for every port that the route serves on. A route without ports
// has rules for port 0, from which the status of the route is built.
func (r *rootRules) runMount(c *memo.Ctx, key manifest.Key) *mountOut {
	out := &mountOut{}
	out.Attach, out.closed = r.in.where(c, key)
	ports := out.Attach.Ports
	if len(ports) == 0 {
		ports = []int32{0}
	}
	out.flats = make([]*flatOut, len(ports))
	for i, port := range ports {
		out.flats[i] = r.in.flat.Get(c, flatKey{Route: key, Port: port})
	}
	out.placed = r.in.place(c, key, out.Attach, func(yield func(tableKey, []*entry) bool) {
		more := true
		out.tables(func(table tableKey, flat *flatOut) { more = more && yield(table, flat.Entries) })
	})
	return out
}
