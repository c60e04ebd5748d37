package store

import (
	"fmt"
	"slices"
	"testing"
)

// Progress counts what Apply and Restore read, to the end; an edit is one document.
func TestProgress(t *testing.T) {
	var told []string
	options := Options{Save: true, Progress: func(done, of int) { told = append(told, fmt.Sprint(done, "/", of)) }}
	s := newStore(t, options)
	tree := filesOfRoutes(250)
	want := []string{"1/250", "101/250", "201/250", "250/250"}
	wantTold := func(what string, want []string) {
		t.Helper()
		if !slices.Equal(told, want) {
			t.Errorf("%s told %v, want %v", what, told, want)
		}
		told = nil
	}
	s.Apply(tree)
	wantTold("Apply", want)
	s.Apply(edited(filesOfRoutes(1000)))
	told = nil
	s.Apply(filesOfRoutes(1000))
	wantTold("an edit", []string{"1/1"})
	saved := ledger{}
	restored := newStore(t, Options{Save: true})
	restored.Apply(tree)
	saved.take(restored)
	saved.restart(t, options)
	wantTold("Restore", want)
}
