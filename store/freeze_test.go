package store

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
)

// copyOf returns what Changes add up to now.
func copyOf(h held) held { return held{maps.Clone(h.objects), maps.Clone(h.invalid)} }

// only returns the part of some namespaces, or of all others.
func only(h held, frozen Frozen, wanted bool) held {
	h = copyOf(h)
	maps.DeleteFunc(h.objects, func(key manifest.Key, _ *manifest.Object) bool { return frozen.Holds(key) != wanted })
	maps.DeleteFunc(h.invalid, func(key manifest.Key, _ *Invalid) bool { return frozen.Holds(key) != wanted })
	return h
}

// randomText is a file of a namespace: routes and a policy, some of them invalid, or no YAML.
func randomText(rnd *rand.Rand, namespace string, valid bool) string {
	var documents []string
	for i := range rnd.IntN(3) {
		document := in(namespace, fmt.Sprint("r", i), fmt.Sprint("/", rnd.IntN(3)))
		if !valid && rnd.IntN(4) == 0 {
			document = strings.Replace(document, "spec:\n", "spec:\n  oops: 1\n", 1)
		}
		documents = append(documents, document)
	}
	if rnd.IntN(3) == 0 {
		field := "retry: {attempts: 2, retryOn: [5xx]}"
		if !valid && rnd.IntN(2) == 0 {
			field = "oops: 1"
		}
		documents = append(documents, fmt.Sprintf("{apiVersion: gateway.kgateway.dev/v1alpha1, kind: TrafficPolicy, metadata: {name: p, namespace: %s}, spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r0}], %s}}\n", namespace, field))
	}
	if !valid && rnd.IntN(8) == 0 {
		documents = append(documents, "a: \"\n")
	}
	return strings.Join(documents, "---\n")
}

// TestWhatIsFrozenIsWhatItWas edits three namespaces at random, and freezes some of them after each edit. What the
// Changes add up to is then, of a frozen namespace, what was applied before the edit, and of any other what the edit
// says. Once the folder is valid and nothing is frozen, it is what a new Store makes of it.
func TestWhatIsFrozenIsWhatItWas(t *testing.T) {
	spaces := []string{"a", "b", "c"}
	platform := space("a", "a/**") + "---\n" + space("b", "b/**") + "---\n" + space("c", "c/**")
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		s, now, folder := fenced(t), newHeld(), files{"platform/n.yaml": platform}
		for range 12 {
			for range 1 + rnd.IntN(3) {
				namespace := spaces[rnd.IntN(3)]
				folder = folder.with(files{fmt.Sprintf("%s/f%d.yaml", namespace, rnd.IntN(2)): randomText(rnd, namespace, false)})
			}
			before := copyOf(now)
			s.Thaw()
			thawed := s.Apply(treeOf(folder))
			apply(t, now, thawed)
			if slices.ContainsFunc(thawed.Stale, func(s Stale) bool { return s.Message == "because" }) {
				t.Error("an object is stale because its namespace is frozen, and no namespace is")
			}
			trial := copyOf(now)
			for range rnd.IntN(3) {
				frozen := Frozen{Namespaces: map[string]Reason{}}
				for _, namespace := range spaces {
					if rnd.IntN(2) == 0 {
						frozen.Namespaces[namespace] = Reason{Message: "because"}
					}
				}
				if rnd.IntN(6) == 0 {
					frozen.All = &Reason{Message: "because"}
				}
				change := s.Freeze(frozen)
				apply(t, now, change)
				compare(t, only(now, frozen, true), only(before, frozen, true))
				compare(t, only(now, frozen, false), only(trial, frozen, false))
				for _, stale := range change.Stale {
					if trial.objects[stale.Key] != nil && now.objects[stale.Key].Hash != trial.objects[stale.Key].Hash && stale.Message != "because" {
						t.Errorf("%v is stale because of %q", stale.Key, stale.Message)
					}
				}
			}
			s.Applied(nil)
			served := map[manifest.Key]*manifest.Object{}
			for _, o := range s.serving.objects() {
				served[o.Key] = o
			}
			if !reflect.DeepEqual(served, now.objects) {
				t.Fatal("the Store serves something else")
			}
		}
		for i, namespace := range spaces {
			folder = folder.with(files{namespace + "/f0.yaml": randomText(rnd, namespace, true), namespace + "/f1.yaml": in(namespace, fmt.Sprint("x", i), "/")})
		}
		s.Thaw()
		change := s.Apply(treeOf(folder))
		if len(change.Problems) > 0 {
			t.Fatal(change.Problems)
		}
		apply(t, now, change)
		fresh := newHeld()
		apply(t, fresh, fenced(t).Apply(treeOf(folder)))
		compare(t, now, fresh)
	}
}

// TestFrozenObjectsAreSaved: a Store that restores them serves them until its first Tree.
func TestFrozenObjectsAreSaved(t *testing.T) {
	s := newStore(t, Options{Save: true})
	s.Apply(treeOf(files{"a.yaml": in("a", "r", "/1"), "b.yaml": in("b", "r", "/1")}))
	s.Applied(nil)
	s.Unsaved()
	s.Apply(treeOf(files{"a.yaml": in("a", "r", "/2"), "b.yaml": in("b", "r", "/2")}))
	s.Freeze(Frozen{Namespaces: map[string]Reason{"a": {Message: "because"}}})
	s.Applied(nil)
	var texts []string
	for _, saved := range s.Unsaved() {
		texts = append(texts, fmt.Sprint(saved.Key.Namespace, " ", strings.Contains(string(saved.Text), "/1"), " ", saved.Since.IsZero()))
	}
	if want := []string{"a true false", "b false true"}; !slices.Equal(texts, want) {
		t.Errorf("saved is %v, want %v", texts, want)
	}
}

// TestFrozenObjectsOfABrokenFile: an object that was frozen is stale because of its file once the namespace is frozen
// no more, also in a Store that Anew makes.
func TestFrozenObjectsOfABrokenFile(t *testing.T) {
	for _, anew := range []bool{false, true} {
		s := newStore(t, Options{})
		s.Apply(treeOf(files{"a.yaml": in("a", "r", "/1")}))
		s.Applied(nil)
		s.Apply(treeOf(files{"a.yaml": in("a", "r", "/2")}))
		s.Freeze(Frozen{Namespaces: map[string]Reason{"a": {Message: "because"}}})
		s.Applied(nil)
		if anew {
			var err error
			if s, err = s.Anew(); err != nil {
				t.Fatal(err)
			}
		}
		s.Thaw()
		change := s.Apply(treeOf(files{"a.yaml": "a: \"\n"}))
		if len(change.Stale) != 1 || change.Stale[0].Message == "because" || !slices.ContainsFunc(change.Problems, func(p manifest.Problem) bool { return p.Code == "LastGoodKept" }) {
			t.Errorf("anew %t: stale are %v, problems %v", anew, change.Stale, change.Problems)
		}
	}
}
