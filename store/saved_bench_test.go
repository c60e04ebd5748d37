package store

import (
	"encoding/json"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
)

// BenchmarkRestart is a start beside an unchanged folder: without a state, with
// one of the same schema, by which nothing is checked again, and of another one.
func BenchmarkRestart(b *testing.B) {
	tree := manyFiles()
	s := newStore(b, saving)
	s.Apply(tree)
	saved := s.Unsaved()
	for i := range saved { // as the journal does
		text, err := json.Marshal(saved[i].Checked)
		if err != nil {
			b.Fatal(err)
		}
		saved[i].Checked = new(Checked)
		if err := json.Unmarshal(text, saved[i].Checked); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range []struct {
		name  string
		begin func(*Store) []manifest.Key
	}{
		{"Cold", func(*Store) []manifest.Key { return nil }},
		{"Sound", func(s *Store) []manifest.Key { return s.Restore(saved, true) }},
		{"OtherSchema", func(s *Store) []manifest.Key { return s.Restore(saved, false) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			begin := cpuTime()
			defer func() { b.ReportMetric(float64((cpuTime()-begin).Milliseconds())/float64(b.N), "cpu-ms") }()
			for b.Loop() {
				s := newStore(b, saving)
				if bad := c.begin(s); len(bad) > 0 {
					b.Fatal(bad)
				}
				if change := s.Apply(tree); len(change.Set) != benchRoutes {
					b.Fatal(len(change.Set))
				}
			}
		})
	}
}

// BenchmarkUnsaved is what an edit of one of 10,000 objects adds to the edit's
// own way: the rest is done by others.
func BenchmarkUnsaved(b *testing.B) {
	tree := oneFile()
	var got []Saved
	s := newStore(b, saving)
	s.Apply(tree)
	s.Unsaved()
	other := edited(tree)
	i := 0
	for b.Loop() {
		b.StopTimer()
		if i++; i%2 == 1 {
			s.Apply(other)
		} else {
			s.Apply(tree)
		}
		b.StartTimer()
		got = s.Unsaved()
		if len(got) != 1 {
			b.Fatal(len(got))
		}
	}
}
