package delta

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/xds"
)

// Target has the resources that the Envoys of one Gateway, or of all Gateways, should have.
type Target struct {
	// known is false until the target had its first resource. No request is answered before that. Otherwise a
	// server that has not loaded its folder would remove the resources of Envoys.
	known     bool
	resources map[string]map[string][]owned // type → name → the Gateways that have the resource, with its content
	rolls     map[string]rollAndChanges     // by type
	edits     uint64                        // counts the calls of Put
	// joined has, by name, one filter for each filter that several Gateways have. This filter has the requirements
	// (xds.Requirement) of all of these Gateways (see owned).
	joined map[string]*Entry
	ports  *portIndex // what the listeners serve; nil until it is needed: see closed.go
}

// owned is a resource as one Gateway has it. In a target of all Gateways, several Gateways may have a resource with
// the same name but different content, such as a shared cluster. Then Envoys get the resource of the first Gateway
// by name. Filters are the exception: Envoys get one filter with the requirements of all these Gateways.
type owned struct {
	gateway string
	*Entry
}

// Update sets or removes a resource of one Gateway in a target (see Target.Put).
type Update struct {
	Gateway, Type, Name string
	Entry               *Entry // nil if the Gateway no longer has the resource
}

// NewTarget returns a target without resources. Until its first resource, the target is not known (see Known),
// and no request is answered.
func NewTarget() *Target {
	return &Target{resources: map[string]map[string][]owned{}, rolls: map[string]rollAndChanges{}, joined: map[string]*Entry{}}
}

// Put sets or removes one resource of a Gateway. The caller must then call Plan.Mark for each plan of the
// target.
func (t *Target) Put(u Update) {
	names := t.resources[u.Type]
	if names == nil {
		names = map[string][]owned{}
		t.resources[u.Type] = names
	}
	owners := names[u.Name]
	at, found := slices.BinarySearchFunc(owners, u.Gateway,
		func(o owned, gateway string) int { return strings.Compare(o.gateway, gateway) })
	switch {
	case u.Entry == nil && found:
		owners = slices.Delete(slices.Clone(owners), at, at+1)
	case u.Entry != nil && found:
		owners = slices.Clone(owners)
		owners[at].Entry = u.Entry
	case u.Entry != nil:
		owners = slices.Insert(slices.Clone(owners), at, owned{u.Gateway, u.Entry})
	}
	if u.Type == xds.FilterType {
		t.join(u.Name, owners)
	}
	if names[u.Name] = owners; len(owners) == 0 {
		delete(names, u.Name)
	}
	if len(names) == 0 {
		delete(t.resources, u.Type) // an empty map would keep its memory
	}
	if u.Type == xds.ListenerType {
		t.ports = nil
	}
	t.known = t.known || u.Entry != nil
	t.edits++
	t.outdate(u.Type, u.Name)
}

// Clone returns a copy of the target. The resources themselves are shared, but a later Put changes only the
// target on which it is called. The cost grows with the number of names.
func (t *Target) Clone() *Target {
	c := &Target{known: t.known, resources: make(map[string]map[string][]owned, len(t.resources)), rolls: map[string]rollAndChanges{}, edits: t.edits, joined: maps.Clone(t.joined)}
	for typ, names := range t.resources {
		c.resources[typ] = maps.Clone(names) // Put never changes a list of owners
	}
	return c
}

// Form returns the resource as the given Gateway has it (see the type owned). It returns nil if the Gateway does not
// have the resource.
func (t *Target) Form(gateway, typ, name string) *Entry {
	for _, o := range t.resources[typ][name] {
		if o.gateway == gateway {
			return o.Entry
		}
	}
	return nil
}

// Known reports whether the target ever had a resource. Until then, no request is answered.
func (t *Target) Known() bool { return t.known }

// Entry returns the resource of this type and name that Envoys should get; nil if there is none.
func (t *Target) Entry(typ, name string) *Entry {
	if owners := t.resources[typ][name]; len(owners) > 0 {
		if typ == xds.FilterType && len(owners) > 1 {
			return t.joined[name]
		}
		return owners[0].Entry
	}
	return nil
}

// Owners yields the Gateways that have a resource of this type and name, sorted.
func (t *Target) Owners(typ, name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, o := range t.resources[typ][name] {
			if !yield(o.gateway) {
				return
			}
		}
	}
}

// Owns reports whether the Gateway has a resource of this type and name.
func (t *Target) Owns(gateway, typ, name string) bool {
	return slices.ContainsFunc(t.resources[typ][name], func(o owned) bool { return o.gateway == gateway })
}

// Names yields the names of all resources of a type, in no order.
func (t *Target) Names(typ string) iter.Seq[string] { return maps.Keys(t.resources[typ]) }

// Resources yields all resources that Envoys should get, of all types, in no order.
func (t *Target) Resources() iter.Seq[*xds.Resource] {
	return func(yield func(*xds.Resource) bool) {
		for typ, names := range t.resources {
			for name := range names {
				if !yield(t.Entry(typ, name).Resource) {
					return
				}
			}
		}
	}
}

// Count returns the number of resources of an xDS type. A resource that several Gateways have counts once.
func (t *Target) Count(typ string) int { return len(t.resources[typ]) }

// Size returns the number of resources of all types, counted as in Count.
func (t *Target) Size() int {
	size := 0
	for _, names := range t.resources {
		size += len(names)
	}
	return size
}

// intern returns the same names. If the target has a resource of a name, the result has the target's string
// instead of the caller's, so that the memory of the decoded request can be freed.
func (t *Target) intern(typ string, names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = name
		if owners := t.resources[typ][name]; len(owners) > 0 {
			out[i] = owners[0].Name
		}
	}
	return out
}
