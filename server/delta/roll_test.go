package delta

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gatefold/gatefold/translate/xds"
)

// rollScope is a scope that has so many clusters, by number, in version 1.
func rollScope(clusters int) *Target {
	c := NewTarget()
	for i := range clusters {
		c.putVersion(i, 1)
	}
	return c
}

func (c *Target) putVersion(number, version int) {
	name := fmt.Sprintf("c%04d", number)
	c.Put(Update{"shop/a", cds, name, NewEntry(&xds.Resource{Type: cds, Name: name, Version: fmt.Sprint(version)})})
}

// lay does for an overlay of clusters what compact does.
func (o *overlay) lay(c *Target) {
	if on := o.due(c, cds); on != nil {
		*o = o.onto(on)
	} else if len(o.runs) > maxRuns {
		*o = o.folded()
	}
}

// Whatever is put in and taken out, one by one and as lists, and on whatever roll it is
// laid meanwhile, an overlay is the map that it stands for.
func TestAnOverlayIsAMap(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		c, o, want := rollScope(300), &overlay{}, map[string]string{}
		for range 200 {
			name := fmt.Sprintf("c%04d", random.IntN(400))
			switch random.IntN(6) {
			case 0, 1:
				version := fmt.Sprint(random.IntN(3))
				o.set(name, version)
				want[name] = version
			case 2:
				o.remove(name)
				delete(want, name)
			case 3:
				c.putVersion(random.IntN(400), random.IntN(3))
			case 4:
				first := random.IntN(200)
				last := first + random.IntN(200)
				var run []*Entry
				for i := first; i < last; i++ {
					if e := c.Entry(cds, fmt.Sprintf("c%04d", i)); e != nil {
						run = append(run, e)
						want[e.Name] = e.Version
					}
				}
				o.take(run)
			case 5:
				o.lay(c)
			}
			if got := maps.Collect(o.all); !maps.Equal(got, want) || o.size != len(want) {
				t.Fatalf("seed %d: %d names and size %d, want %d\n got %v\nwant %v", seed, len(got), o.size, len(want), got, want)
			}
			if got, ok := o.get(name); got != want[name] || ok != o.has(name) {
				t.Fatalf("seed %d: %s is %q, want %q", seed, name, got, want[name])
			}
		}
	}
}

// What a stream holds of a scope takes no memory of its own, and edits add no more to it
// than a part of it.
func TestWhatAllHoldIsShared(t *testing.T) {
	c := rollScope(2000)
	var streams []*overlay
	for range 3 {
		o := &overlay{}
		for _, name := range c.newestRoll(cds).names {
			o.set(name, c.Entry(cds, name).Version)
		}
		o.lay(c)
		streams = append(streams, o)
	}
	slack := c.newestRoll(cds).slack()
	for edit := range 5000 {
		c.putVersion(edit%2000, edit+2)
		e := c.Entry(cds, fmt.Sprintf("c%04d", edit%2000))
		for _, o := range streams {
			o.set(e.Name, e.Version)
			o.lay(c)
			if o.unshared() > 2*slack {
				t.Fatalf("edit %d: %d of %d names are a stream's own", edit, o.unshared(), o.size)
			}
		}
		if streams[0].base != streams[2].base {
			t.Fatalf("edit %d: two streams refer to two rolls", edit)
		}
	}
}

// Names that are asked for need no version to be shared.
func TestNamesAloneAreShared(t *testing.T) {
	c, o := rollScope(200), &overlay{bare: true}
	for _, name := range append(slices.Clone(c.newestRoll(cds).names), "other") {
		o.set(name, "")
	}
	if o.lay(c); o.unshared() != 1 || o.size != 201 {
		t.Errorf("%d of %d names are its own, want 1 of 201", o.unshared(), o.size)
	}
}

// A queue that nobody takes from does not grow for ever, and gives each name.
func TestTheListsOfAQueueAreBounded(t *testing.T) {
	var q queue
	names := rollScope(200).newestRoll(cds).names
	for range 1000 {
		q.share(names)
	}
	if len(q.lists) > maxLists+1 {
		t.Errorf("%d lists", len(q.lists))
	}
	got := map[string]bool{}
	for name, ok := q.peek(); ok; name, ok = q.peek() {
		got[name] = true
		q.pop()
	}
	if len(got) != 200 || q.lists != nil {
		t.Errorf("%d names, and left are %v", len(got), q.lists)
	}
}
