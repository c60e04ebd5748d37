package store

import (
	"fmt"
	"testing"
)

// An edit costs what it changes: of 2,000 files that the Tree shares with the one
// before, no other is compared, and one document is read.
func TestAnEditComparesWhatIsNotShared(t *testing.T) {
	files := map[string]string{}
	for i := range 2000 {
		files[fmt.Sprintf("%04d.yaml", i)] = route(fmt.Sprint("r", i), fmt.Sprint("/", i))
	}
	before := treeOf(files)
	files["1000.yaml"] = route("r1000", "/new")
	delete(files, "1001.yaml")
	after := before
	after.Files = before.Files.With(treeOf(files).Files.Since(before.Files))
	s := newStore(t, Options{})
	s.Apply(before)
	for path, f := range s.sources.files {
		if path != "1000.yaml" {
			f.hash[0]++ // whoever looks at it takes it for another
		}
	}
	c := s.Apply(after)
	if got := summary(c); got != "+r1000=/new -r1001" {
		t.Errorf("got %q", got)
	}
	if c.Stats.FilesChanged != 2 || c.Stats.Documents != 1 {
		t.Errorf("%d files and %d documents were read, want 2 and 1", c.Stats.FilesChanged, c.Stats.Documents)
	}
}

// BenchmarkEditAmong is an edit of one file among many. It should cost the same
// for all.
func BenchmarkEditAmong(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprint("files=", n), func(b *testing.B) {
			tree := filesOfRoutes(n)
			other := edited(tree)
			s := newStore(b, saving)
			s.Apply(tree)
			s.Unsaved()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				tree, other = other, tree
				if c := s.Apply(tree); len(c.Set) != 1 || c.Stats.Documents != 1 || len(s.Unsaved()) != 1 {
					b.Fatal(len(c.Set), c.Stats)
				}
			}
		})
	}
}
