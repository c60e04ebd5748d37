package delta

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"weak"

	"github.com/gatefold/gatefold/translate/xds"
)

// forms caches the variants (forms) of one resource that are not sent to every Envoy, such as a route table
// without its rejected parts. Many Envoys usually reject the same parts at the same time, so their streams share
// a form. A form is made when a stream needs it, and freed with the last stream that uses it. Only a form for an
// older release is kept as long as the resource itself. A lock in forms guards the cache.
type forms struct {
	mu       sync.Mutex
	suspects weak.Pointer[suspects]
	// amended has the forms of a route table without faulty parts. The key is the hash of the faulty parts (keyOf).
	amended map[[sha256.Size]byte]weak.Pointer[Entry]
	// grown has the forms of a JWT filter that also contain requirements of another filter, usually the one that
	// the Envoy has at present. The key is this other filter. See filterWith.
	grown map[weak.Pointer[Entry]]weak.Pointer[Entry]
	// earlier has the forms of a route table for listeners that an earlier gatefold sent. The key is the generation
	// of the HTTP filters in these listeners. See generation.go.
	earlier map[int]weak.Pointer[Entry]
	// older has the form for each older release: the entry itself if nothing differs. lacks has the parts that
	// need a newer release. See older.go.
	older map[xds.Release]*Entry
	lacks map[xds.Release][]xds.Lack
}

// source returns the original of e, if e is a form (variant) of another entry, for example a route table without its
// rejected parts. The original is the entry as the Snapshot has it. If e is not a form, source returns e.
func (e *Entry) source() *Entry {
	for e.of != nil {
		e = e.of
	}
	return e
}

// suspects has the parts of a rejected route table that may be bad, and the test tables (probes) that a search
// sends to find the bad ones (see search).
type suspects struct {
	table  string
	before *Entry // the table that was accepted before; nil if none is known
	pieces []xds.Piece

	mu     sync.Mutex
	probes map[[2]int]weak.Pointer[Entry]
}

// suspects returns the parts of the route table e that may be bad: those that are new or changed compared with an
// older table that was accepted (the parameter before). It returns all parts if before is nil, or if nothing is
// new or changed.
func (e *Entry) suspects(before *Entry) *suspects {
	e.forms.mu.Lock()
	defer e.forms.mu.Unlock()
	if made := e.forms.suspects.Value(); made != nil && made.before == before {
		return made
	}
	made := &suspects{table: e.Name, before: before, pieces: newPieces(before, e), probes: map[[2]int]weak.Pointer[Entry]{}}
	e.forms.suspects = weak.Make(made)
	return made
}

// newPieces returns the parts of a route table (now) in which a search looks for the cause of a rejection. These are
// the parts that are new or changed compared with an older, accepted table (before). If before is nil, or if no part
// is new or changed, any part may be the cause: newPieces then returns all parts.
func newPieces(before, now *Entry) []xds.Piece {
	all := xds.Pieces(now.Body)
	known := map[xds.Part]string{}
	if before != nil {
		for _, p := range xds.Pieces(before.Body) {
			known[p.Part] = string(p.Body)
		}
	}
	var fresh []xds.Piece
	for _, p := range all {
		if body, ok := known[p.Part]; !ok || body != string(p.Body) {
			fresh = append(fresh, p)
		}
	}
	if len(fresh) == 0 {
		return all
	}
	return fresh
}

// probe returns a table that tests some of the suspected parts, s.pieces[from:to]. Envoy's answer to the table
// shows whether it accepts these parts (see xds.Probe). Several streams share one table: probe makes a new one only
// if no stream uses the earlier one any more.
func (s *suspects) probe(from, to int) *Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := [2]int{from, to}
	if made := s.probes[at].Value(); made != nil {
		return made
	}
	r := xds.Probe(s.table, s.pieces[from:to])
	made := NewEntry(&r)
	s.probes[at] = weak.Make(made)
	return made
}

// without returns a form of the route table e in which the faulty parts (routes or virtual hosts) answer 500 or
// are left out (see xds.Without). If a part has changed since its fault was found, the part stays as it is. If the
// form would not differ from e, the result is e itself.
func (e *Entry) without(faults map[xds.Part]xds.Fault) *Entry {
	key := keyOf(faults)
	e.forms.mu.Lock()
	defer e.forms.mu.Unlock()
	if made := e.forms.amended[key].Value(); made != nil {
		return made
	}
	made := e
	if len(faults) == 0 {
		return e
	}
	if r, found := xds.Without(e.Resource, faults); len(found) > 0 {
		made = NewEntry(&r)
		made.of, made.leftOut = e, found
	}
	if e.forms.amended == nil {
		e.forms.amended = map[[sha256.Size]byte]weak.Pointer[Entry]{}
	}
	e.forms.amended[key] = weak.Make(made)
	return made
}

// keyOf returns a hash of a set of faulty parts, as the key of forms.amended. Sets with the same parts and
// faults have the same hash.
func keyOf(faults map[xds.Part]xds.Fault) [sha256.Size]byte {
	sum := sha256.New()
	byName := func(a, b xds.Part) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.Route, b.Route))
	}
	for _, part := range slices.SortedFunc(maps.Keys(faults), byName) {
		fault := faults[part]
		sum.Write([]byte(part.Host + "\x00" + part.Route + "\x00"))
		sum.Write(fault.Sum[:])
		sum.Write([]byte(strconv.FormatBool(fault.Match)))
	}
	return [sha256.Size]byte(sum.Sum(nil))
}
