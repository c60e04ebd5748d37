package ordered

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// named is an item of the sets under test: sets compare the name alone, and Diff sees another version.
type named struct {
	name    string
	version int
}

func byName(a, b *named) int { return strings.Compare(a.name, b.name) }

func called(name string) func(*named) int {
	return func(n *named) int { return strings.Compare(n.name, name) }
}

// model is what a set stands for.
type model map[string]*named

func (m model) sorted() []*named {
	return slices.SortedFunc(maps.Values(m), byName)
}

// check compares a set with its model, and looks at the shape of the tree.
func check(t *testing.T, set Set[*named], want model) {
	t.Helper()
	sorted := want.sorted()
	if got := slices.Collect(set.All()); !slices.Equal(got, sorted) || set.Len() != len(sorted) {
		t.Fatalf("%d items, len %d, want %d", len(got), set.Len(), len(sorted))
	}
	back := slices.Collect(set.Backward())
	if slices.Reverse(back); !slices.Equal(back, sorted) {
		t.Fatal("backward is not the reverse")
	}
	set.root.each(func(b *branch[*named]) {
		if lean := b.left.depth() - b.right.depth(); lean < -1 || lean > 1 {
			t.Fatalf("a node leans by %d", lean)
		}
		if b.height != 1+max(b.left.depth(), b.right.depth()) || b.len != 1+b.left.size()+b.right.size() {
			t.Fatal("a node has a wrong height or length")
		}
	})
}

// checkDiff compares Diff with a comparison of the models.
func checkDiff(t *testing.T, before, after Set[*named], old, now model) {
	t.Helper()
	got := map[string][2]*named{}
	last := ""
	for was, is := range Diff(before, after) {
		name := ""
		if was != nil {
			name = was.name
		}
		if is != nil {
			name = is.name
		}
		if was != nil && is != nil && was.name != is.name || was == is || name <= last {
			t.Fatalf("Diff yields %v and %v after %q", was, is, last)
		}
		last = name
		got[name] = [2]*named{was, is}
	}
	want := map[string][2]*named{}
	for name := range maps.All(now) {
		want[name] = [2]*named{old[name], now[name]}
	}
	for name := range maps.All(old) {
		want[name] = [2]*named{old[name], now[name]}
	}
	maps.DeleteFunc(want, func(_ string, both [2]*named) bool { return both[0] == both[1] })
	if !maps.Equal(got, want) {
		t.Fatalf("%d differences, want %d", len(got), len(want))
	}
}

// world is two sets that were one once, each with its model.
type world struct {
	sets   [2]Set[*named]
	models [2]model
	serial int
}

// step does to one of the sets what the two bytes say.
func (w *world) step(t *testing.T, does, at byte) {
	side := int(does & 1)
	set, m := w.sets[side], w.models[side]
	name := strconv.Itoa(1000 + int(at))
	item := &named{name, 0}
	w.serial++
	switch does >> 1 % 6 {
	case 0, 1:
		item.version = w.serial
		set, m[name] = set.Insert(item), item
	case 2:
		set = set.Delete(item)
		delete(m, name)
	case 3:
		before, rest := set.Split(item)
		low, high := model{}, model{}
		for key, value := range m {
			if key < name {
				low[key] = value
			} else {
				high[key] = value
			}
		}
		check(t, before, low)
		check(t, rest, high)
		set = before.Join(rest)
	case 4:
		if !slices.Equal(slices.Collect(set.From(item)), slices.Collect(FromSorted(byName, slices.DeleteFunc(m.sorted(), func(n *named) bool { return n.name < name })).All())) {
			t.Fatal("From yields other items")
		}
	case 5:
		w.sets[1-side], w.models[1-side] = set, maps.Clone(m)
	}
	if got, ok := set.Get(called(name)); got != m[name] || ok != (m[name] != nil) {
		t.Fatalf("%s is %v, want %v", name, got, m[name])
	}
	w.sets[side] = set
}

// run does all steps, and compares the sets with their models, and with each other. Sets of before stay as they were.
func run(t *testing.T, steps []byte) {
	w := &world{models: [2]model{{}, {}}}
	w.sets = [2]Set[*named]{New(byName), New(byName)}
	for i := range 40 {
		item := &named{strconv.Itoa(1000 + 6*i), 0}
		for side := range 2 {
			w.sets[side], w.models[side][item.name] = w.sets[side].Insert(item), item
		}
	}
	kept, was := w.sets, [2]model{maps.Clone(w.models[0]), maps.Clone(w.models[1])}
	for i := 0; i+1 < len(steps); i += 2 {
		w.step(t, steps[i], steps[i+1])
	}
	for side := range 2 {
		check(t, w.sets[side], w.models[side])
		check(t, kept[side], was[side])
	}
	checkDiff(t, w.sets[0], w.sets[1], w.models[0], w.models[1])
	checkDiff(t, kept[0], w.sets[0], was[0], w.models[0])
	checkDiff(t, New(byName), w.sets[0], model{}, w.models[0])
}

func TestASetIsAMap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		steps := make([]byte, random.IntN(400))
		for i := range steps {
			steps[i] = byte(random.Uint32())
		}
		run(t, steps)
	}
}

func FuzzASetIsAMap(f *testing.F) {
	f.Add([]byte{0, 7, 4, 12, 6, 200, 10, 3, 1, 7, 8, 50})
	f.Fuzz(run)
}

// Before yields what From does not, the last one first.
func TestBefore(t *testing.T) {
	set := FromSorted(strings.Compare, []string{"a", "b", "c", "d"})
	for item, want := range map[string]string{"a": "", "c": "ba", "cc": "cba", "z": "dcba"} {
		if got := strings.Join(slices.Collect(set.Before(item)), ""); got != want {
			t.Errorf("before %s: %s, want %s", item, got, want)
		}
	}
}

// numbered is a set of so many items.
func numbered(count int) Set[*named] {
	items := make([]*named, count)
	for i := range items {
		items[i] = &named{strconv.Itoa(1_000_000 + i), 0}
	}
	return FromSorted(byName, items)
}

// A range of a set, cut out and put into another set, is not copied.
func TestRangesAreShared(t *testing.T) {
	set, part := numbered(10_000), New(byName)
	for from := 0; from < 10_000; from += 500 {
		_, rest := set.Split(&named{strconv.Itoa(1_000_000 + from), 0})
		some, _ := rest.Split(&named{strconv.Itoa(1_000_000 + from + 500), 0})
		part = part.Join(some)
	}
	if own := part.Len() - part.Shared(set); part.Len() != 10_000 || own > 500 {
		t.Errorf("%d of %d nodes are not shared", own, part.Len())
	}
}

// BenchmarkDiff compares a set of 10,000 items with the set before so many edits.
func BenchmarkDiff(b *testing.B) {
	for _, edits := range []int{1, 100, 1000} {
		b.Run(strconv.Itoa(edits), func(b *testing.B) {
			before := numbered(10_000)
			after := before
			for i := range edits {
				after = after.Insert(&named{strconv.Itoa(1_000_000 + i*7919%10_000), 1})
			}
			b.ReportAllocs()
			for b.Loop() {
				count := 0
				for range Diff(before, after) {
					count++
				}
				if count != edits {
					b.Fatalf("%d differences, want %d", count, edits)
				}
			}
		})
	}
}
