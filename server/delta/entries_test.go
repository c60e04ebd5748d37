package delta

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gatefold/gatefold/translate/xds"
)

// clusters is a snapshot that has so many clusters, by number, in version 1.
func clusters(count int) *Snapshot {
	updates := make([]Update, count)
	for i := range updates {
		updates[i] = versioned(i, 1)
	}
	return NewSnapshot().With(updates...)
}

// versioned sets a cluster with a number to a version.
func versioned(number, version int) Update {
	name := fmt.Sprintf("c%05d", number)
	return Update{"shop/a", cds, name, NewEntry(&xds.Resource{Type: cds, Name: name, Version: fmt.Sprint(version)})}
}

// versions are the names and versions of entries.
func versions(s entries) map[string]string {
	out := map[string]string{}
	for e := range s.All() {
		out[e.Name] = e.Version
	}
	return out
}

// Whatever is put in and taken out, one by one and as lists, and onto whatever snapshot it is laid meanwhile, entries
// are the map that they stand for.
func TestEntriesAreAMap(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		target, held, want := clusters(300), entries{}, map[string]string{}
		for range 200 {
			number := random.IntN(400)
			name := fmt.Sprintf("c%05d", number)
			switch random.IntN(6) {
			case 0, 1:
				version := fmt.Sprint(random.IntN(3))
				held, want[name] = held.with(stub(name, version)), version
			case 2:
				held = held.without(name)
				delete(want, name)
			case 3:
				target = target.With(versioned(number, random.IntN(3)))
			case 4:
				first := random.IntN(200)
				last := first + random.IntN(200)
				var list []*Entry
				for i := first; i < last; i += 1 + random.IntN(2) {
					if e := target.Entry(cds, fmt.Sprintf("c%05d", i)); e != nil {
						list = append(list, e)
						want[e.Name] = e.Version
					}
				}
				held = held.take(list, target.kinds[cds].entries)
			case 5:
				held = held.onto(target.kinds[cds].entries, false)
			}
			if got := versions(held); !maps.Equal(got, want) || held.Len() != len(want) {
				t.Fatalf("seed %d: %d names and len %d, want %d\n got %v\nwant %v", seed, len(got), held.Len(), len(want), got, want)
			}
			if got := held.get(name); held.has(name) != (got != nil) || got != nil && got.Version != want[name] {
				t.Fatalf("seed %d: %s is %v, want %q", seed, name, got, want[name])
			}
		}
	}
}

// own is how many nodes of entries are not shared with the target.
func (s entries) own(target *Snapshot) int { return s.Len() - s.Shared(target.kinds[cds].entries.Set) }

// What a stream holds of a target takes no memory of its own, whether it took it in responses or has it from an
// earlier stream, and edits add none.
func TestWhatAllHoldIsShared(t *testing.T) {
	const count, differ = 5000, 20
	target := clusters(count)
	all := target.kinds[cds].entries
	taken, recalled := entries{}, entries{}
	for batch := range slices.Chunk(slices.Collect(all.All()), batchNames) {
		if taken = taken.take(batch, all); taken.own(target) > 200 {
			t.Fatalf("%d of %d names are a stream's own", taken.own(target), taken.Len())
		}
		old := slices.Clone(batch)
		old[7] = stub(old[7].Name, "0")
		recalled = recalled.take(old, all)
	}
	if recalled = recalled.onto(all, false); recalled.own(target) > differ*20 {
		t.Errorf("%d of %d names are the own of a stream that came back", recalled.own(target), recalled.Len())
	}
	for edit := range 1000 {
		target = target.With(versioned(edit*7%count, edit+2))
		all = target.kinds[cds].entries
		if taken = taken.with(target.Entry(cds, fmt.Sprintf("c%05d", edit*7%count))).onto(all, false); !taken.Same(all.Set) {
			t.Fatalf("edit %d: %d of %d names are a stream's own", edit, taken.own(target), taken.Len())
		}
	}
}

// Names that are asked for share with the target, whatever their version.
func TestNamesAloneAreShared(t *testing.T) {
	target := clusters(200)
	names := entries{}
	for e := range target.kinds[cds].entries.All() {
		names = names.with(stub(e.Name, ""))
	}
	names = names.with(stub("other", "")).onto(target.kinds[cds].entries, true)
	if own := names.own(target); names.Len() != 201 || own > 10 {
		t.Errorf("%d of %d nodes are its own", own, names.Len())
	}
}

// Snapshots keep what they had, and Changes says what differs.
func TestASnapshotNeverChanges(t *testing.T) {
	first := clusters(100)
	gone := versioned(7, 0)
	gone.Entry = nil
	second := first.With(versioned(5, 2), gone, versioned(100, 1))
	if first.Count(cds) != 100 || first.Entry(cds, "c00005").Version != "1" || second.Count(cds) != 100 {
		t.Error("the first snapshot changed")
	}
	var got []string
	for _, c := range first.Changes(second)[cds] {
		got = append(got, fmt.Sprint(c.Name(), c.From != nil, c.To != nil))
	}
	if want := []string{"c00005true true", "c00007true false", "c00100false true"}; !slices.Equal(got, want) {
		t.Errorf("the changes are %v, want %v", got, want)
	}
}
