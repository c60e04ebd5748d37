package delta

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/xds"
)

// Snapshot has the resources that the Envoys of one Gateway, or of all Gateways, should have at one moment. It never
// changes: With makes the next one, which shares with it what is not edited.
type Snapshot struct {
	// known is false until there was a first resource. No request is answered before that. Otherwise a server that has
	// not loaded its folder would remove the resources of Envoys.
	known bool
	edits uint64          // counts the calls of With
	kinds map[string]kind // by type
	ports *ports          // what the listeners serve, shared by all snapshots with the same listeners: see closed.go
}

// kind has the resources of one type.
type kind struct {
	entries entries
	// owners has the resources that several Gateways have. In a snapshot of all Gateways they may differ, such as those
	// of a shared cluster: then Envoys get the resource of the first Gateway by name. Filters are the exception: Envoys
	// get one filter with the requirements of all these Gateways.
	owners ordered.Set[*owners]
}

// owners are the forms of one resource that several Gateways have, sorted by Gateway.
type owners struct {
	name string
	of   []*Entry
}

// compareOwners is the order of kind.owners.
func compareOwners(a, b *owners) int { return strings.Compare(a.name, b.name) }

// Update sets or removes a resource of one Gateway in a snapshot (see Snapshot.With).
type Update struct {
	Gateway, Type, Name string
	Entry               *Entry // nil if the Gateway no longer has the resource; else of this Gateway alone
}

// NewSnapshot returns a snapshot without resources. It is not known (see Known), and no request is answered.
func NewSnapshot() *Snapshot { return &Snapshot{kinds: map[string]kind{}, ports: &ports{}} }

// With returns the snapshot after the given updates. An update replaces those before it of the same resource.
func (s *Snapshot) With(updates ...Update) *Snapshot {
	next := &Snapshot{known: s.known, edits: s.edits + 1, kinds: maps.Clone(s.kinds), ports: s.ports}
	byType := map[string][]Update{}
	for _, u := range updates {
		if u.Entry != nil {
			u.Entry.gateway = u.Gateway
			next.known = true
		}
		byType[u.Type] = append(byType[u.Type], u)
	}
	for typ, of := range byType {
		next.kinds[typ] = s.kinds[typ].with(of, typ == xds.FilterType)
	}
	if len(byType[xds.ListenerType]) > 0 {
		next.ports = &ports{}
	}
	return next
}

// with returns the resources after updates of their type. joins is true if Envoys get what several Gateways have as one
// resource.
func (k kind) with(updates []Update, joins bool) kind {
	slices.SortStableFunc(updates, func(a, b Update) int { return strings.Compare(a.Name, b.Name) })
	var set []*Entry
	var gone []string
	for len(updates) > 0 {
		name, of := updates[0].Name, k.of(updates[0].Name)
		for ; len(updates) > 0 && updates[0].Name == name; updates = updates[1:] {
			of = own(of, updates[0])
		}
		k = k.setOwners(name, of)
		if e := effective(of, joins); e != nil {
			set = append(set, e)
		} else {
			gone = append(gone, name)
		}
	}
	k.entries = k.entries.take(set, entries{})
	for _, name := range gone {
		k.entries = k.entries.without(name)
	}
	return k
}

// of returns the forms of a resource, sorted by Gateway.
func (k kind) of(name string) []*Entry {
	several, ok := k.owners.Get(func(o *owners) int { return strings.Compare(o.name, name) })
	if ok {
		return several.of
	}
	if e := k.entries.get(name); e != nil {
		return []*Entry{e}
	}
	return nil
}

// own returns the forms of a resource after an update of one of them. It does not change the list that it is given.
func own(of []*Entry, u Update) []*Entry {
	at, found := slices.BinarySearchFunc(of, u.Gateway, func(e *Entry, gateway string) int { return strings.Compare(e.gateway, gateway) })
	of = slices.Clone(of)
	if found {
		of = slices.Delete(of, at, at+1)
	}
	if u.Entry != nil {
		of = slices.Insert(of, at, u.Entry)
	}
	return of
}

// setOwners returns k with the forms of a resource, if there are several.
func (k kind) setOwners(name string, of []*Entry) kind {
	switch now := (&owners{name, of}); {
	case len(of) < 2 && k.owners.Len() > 0:
		k.owners = k.owners.Delete(now)
	case len(of) < 2:
	case k.owners.Len() == 0:
		k.owners = ordered.FromSorted(compareOwners, []*owners{now})
	default:
		k.owners = k.owners.Insert(now)
	}
	return k
}

// effective returns the form that Envoys get of a resource, nil if no Gateway has it.
func effective(of []*Entry, joins bool) *Entry {
	switch {
	case len(of) == 0:
		return nil
	case joins && len(of) > 1:
		return joined(of)
	}
	return of[0]
}

// Known reports whether there ever was a resource. Until then, no request is answered.
func (s *Snapshot) Known() bool { return s.known }

// Entry returns the resource of this type and name that Envoys should get; nil if there is none.
func (s *Snapshot) Entry(typ, name string) *Entry { return s.kinds[typ].entries.get(name) }

// Owners yields the Gateways that have a resource of this type and name, sorted.
func (s *Snapshot) Owners(typ, name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, e := range s.kinds[typ].of(name) {
			if !yield(e.gateway) {
				return
			}
		}
	}
}

// Owns reports whether the Gateway has a resource of this type and name.
func (s *Snapshot) Owns(gateway, typ, name string) bool {
	return slices.ContainsFunc(s.kinds[typ].of(name), func(e *Entry) bool { return e.gateway == gateway })
}

// Names yields the names of all resources of a type, sorted.
func (s *Snapshot) Names(typ string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for e := range s.kinds[typ].entries.All() {
			if !yield(e.Name) {
				return
			}
		}
	}
}

// Resources yields all resources that Envoys should get, of all types.
func (s *Snapshot) Resources() iter.Seq[*xds.Resource] {
	return func(yield func(*xds.Resource) bool) {
		for _, of := range s.kinds {
			for e := range of.entries.All() {
				if !yield(e.Resource) {
					return
				}
			}
		}
	}
}

// Count returns the number of resources of an xDS type. A resource that several Gateways have counts once.
func (s *Snapshot) Count(typ string) int { return s.kinds[typ].entries.Len() }

// Size returns the number of resources of all types, counted as in Count.
func (s *Snapshot) Size() (size int) {
	for _, of := range s.kinds {
		size += of.entries.Len()
	}
	return size
}

// Change is what differs between two snapshots in one resource: From is nil if it is new, and To is nil if it is gone.
type Change struct{ From, To *Entry }

// Name returns the name of the resource.
func (c Change) Name() string {
	if c.To == nil {
		return c.From.Name
	}
	return c.To.Name
}

// Changes returns what differs between s and a later snapshot, by type, sorted by name.
func (s *Snapshot) Changes(later *Snapshot) map[string][]Change {
	changes := map[string][]Change{}
	for _, typ := range Types() {
		for from, to := range ordered.Diff(s.kinds[typ].entries.Set, later.kinds[typ].entries.Set) {
			changes[typ] = append(changes[typ], Change{from, to})
		}
	}
	return changes
}
