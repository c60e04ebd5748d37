package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/watcher"
)

// spoil puts objects there twice, breaks and mends files, and opens and shuts a fence.
func (f *folder) spoil() {
	path := fmt.Sprintf("d%d/f%d.yaml", f.random.IntN(2), f.random.IntN(4))
	name := fmt.Sprintf("o%d", f.random.IntN(30))
	switch f.random.IntN(6) {
	case 0: // a second time
		f.files[path] = append(f.files[path], route(name, "/0"))
	case 1:
		f.files[path] = append(f.files[path], "kind: HTTPRoute\nmetadata: {name: broken}\n")
	case 2, 5: // without what is broken or there twice
		f.files[path] = nil
		for name, at := range f.place {
			if at == path {
				delete(f.place, name)
			}
		}
	case 3:
		f.files["cluster.yaml"] = []string{fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: default\n  annotations: {gatefold.io/paths: \"d%d/**\"}\n", f.random.IntN(2))}
	case 4:
		f.files["cluster.yaml"] = []string{"apiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n"}
	}
}

// Lists that are given again are those that would be made anew.
func TestStandingProblemsAreThoseMadeAnew(t *testing.T) {
	kinds, again := map[string]int{}, 0
	for seed := range uint64(10) {
		f := &folder{rand.New(rand.NewPCG(seed, 2)), map[string][]string{}, map[string]string{}, watcher.Files{}}
		s := newStore(t, Options{ClusterPaths: tenancy.Globs{"cluster.yaml"}})
		var asked []manifest.Problem
		for i := range 20 {
			key := keyOf(map[string]any{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": map[string]any{"name": fmt.Sprint("o", i)}})
			asked = append(asked, manifest.Problem{Object: key, Field: "spec.rules[0].matches[0].path.value"})
		}
		for range 60 {
			f.edit()
			f.spoil()
			before, placed := s.problemLists.problems(), s.Locate(asked)
			s.Apply(f.tree())
			got, at := s.problemLists.problems(), s.Locate(asked)
			if SameProblems(before, got) && len(got) > 0 && SameProblems(placed, at) {
				again++
			}
			s.problemLists, *s.serving.fresh = newProblemLists("", s.serving), fresh{}
			if want := s.problemLists.problems(); !slices.Equal(got, want) {
				t.Fatalf("got  %v\nwant %v", got, want)
			}
			if want := s.Locate(asked); !slices.Equal(at, want) {
				t.Fatalf("got  %v\nwant %v", at, want)
			}
			for _, p := range got {
				kinds[p.Code]++
			}
		}
	}
	if again == 0 {
		t.Error("no list was given again")
	}
	for _, code := range []string{"Conflict", "Duplicate", "RequiredField", "LastGoodKept", "OutsideFence"} {
		if kinds[code] == 0 {
			t.Errorf("no %s among %v", code, kinds)
		}
	}
}

// What a broken file keeps ends with another file that defines it.
func TestKeptProblemEndsElsewhere(t *testing.T) {
	s := newStore(t, Options{})
	files := map[string]string{"a.yaml": route("o", "/")}
	s.Apply(treeOf(files))
	files["a.yaml"] = "kind: ["
	if before := len(s.Apply(treeOf(files)).Problems); before != 2 {
		t.Fatalf("%d problems, want that of the file and what is kept", before)
	}
	files["b.yaml"] = route("o", "/new")
	if after := s.Apply(treeOf(files)).Problems; len(after) != 1 {
		t.Error(after)
	}
}
