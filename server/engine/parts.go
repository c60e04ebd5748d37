package engine

import (
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
)

// part is the change of one object. If the object becomes invalid and its last valid version is no longer served,
// both gone and invalid are set.
type part struct {
	key     manifest.Key
	set     *manifest.Object // the new version, if it is valid
	gone    bool             // the key is in Gone of the store.Change
	invalid *store.Invalid   // the new version, if it is invalid
}

// partsOf splits a Change into the changes of single objects, sorted by key.
func partsOf(change store.Change) []part {
	all := map[manifest.Key]part{}
	for _, object := range change.Set {
		all[object.Key] = part{key: object.Key, set: object}
	}
	for _, key := range change.Gone {
		p := all[key]
		p.key, p.gone = key, true
		all[key] = p
	}
	for _, invalid := range change.Invalid {
		p := all[invalid.Key]
		p.key, p.invalid = invalid.Key, invalid
		all[invalid.Key] = p
	}
	return slices.SortedFunc(maps.Values(all), func(a, b part) int { return manifest.CompareKeys(a.key, b.key) })
}

// joined returns one store.Change with the changes of all objects in parts. It is the reverse of partsOf.
func joined(parts []part) (change store.Change) {
	for _, p := range parts {
		if p.set != nil {
			change.Set = append(change.Set, p.set)
		}
		if p.gone {
			change.Gone = append(change.Gone, p.key)
		}
		if p.invalid != nil {
			change.Invalid = append(change.Invalid, p.invalid)
		}
	}
	return change
}

// followed joins two Changes into one. Applying the result has the same effect as applying first the parameter
// earlier, and then the parameter later. The fields that are not about objects are copied from the parameter later.
func followed(earlier, later store.Change) store.Change {
	if len(earlier.Set)+len(earlier.Gone)+len(earlier.Invalid) == 0 {
		return later
	}
	all := map[manifest.Key]part{}
	for _, p := range partsOf(earlier) {
		all[p.key] = p
	}
	for _, p := range partsOf(later) {
		if p.set == nil && p.invalid != nil {
			p.gone = p.gone || all[p.key].gone || all[p.key].set != nil
		}
		all[p.key] = p
	}
	both := joined(slices.SortedFunc(maps.Values(all), func(a, b part) int { return manifest.CompareKeys(a.key, b.key) }))
	later.Set, later.Gone, later.Invalid = both.Set, both.Gone, both.Invalid
	return later
}
