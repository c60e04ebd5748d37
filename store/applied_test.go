package store

import (
	"fmt"
	"strings"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/watcher"
)

func routeKey(name string) manifest.Key {
	return manifest.Key{Group: gwv1.GroupName, Kind: "HTTPRoute", Namespace: "default", Name: name}
}

// A mistake in settling an object costs that object: its last valid version stays, all others
// follow their edits, and the next Tree tries it again.
func TestAPanicInSettlingCostsItsObject(t *testing.T) {
	s := newStore(t, Options{})
	s.Apply(treeOf(map[string]string{"a.yaml": route("a", "/1"), "b.yaml": route("b", "/1")}))
	s.Applied(nil)
	a := routeKey("a")
	contested := s.serving.contested
	s.serving.contested = nil // so that a panics, which is defined twice
	change := s.Apply(treeOf(map[string]string{"a.yaml": route("a", "/2"), "a2.yaml": route("a", "/2"), "b.yaml": route("b", "/2"), "c.yaml": route("c", "/1")}))
	if got := summary(change); got != "+b=/2 +c=/1 InternalError" {
		t.Fatalf("got %q", got)
	}
	if p := change.Problems[0]; p.File != "a.yaml" || p.Object != a || !strings.Contains(p.Message, "still served") || s.serving.served[a].object == nil {
		t.Errorf("%+v, served is %v", p, s.serving.served[a].object)
	}
	s.serving.contested = contested
	if got := summary(s.Apply(treeOf(map[string]string{"a.yaml": route("a", "/2"), "b.yaml": route("b", "/3"), "c.yaml": route("c", "/1")}))); got != "+a=/2 +b=/3" {
		t.Errorf("tried again: %q", got)
	}
}

// A policy that could not be settled is Invalid, and has a place: neither its places nor those of a Store that goes
// on from it panic again.
func TestAPolicyThatWasNotSettledHasAPlace(t *testing.T) {
	policy := func(file string) string {
		return "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata: {name: p, labels: {in: " + file + "}}\n" +
			"spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}]}\n"
	}
	s := newStore(t, Options{})
	s.serving.contested = nil // so that the policy panics, which is defined twice
	change := s.Apply(treeOf(map[string]string{"a.yaml": "---\n" + policy("a"), "b.yaml": policy("b")}))
	if len(change.Invalid) != 1 {
		t.Fatalf("invalid: %+v", change.Invalid)
	}
	fields := []manifest.Field{{Object: change.Invalid[0].Key}}
	if got := s.Places(fields)[0]; got.File != "a.yaml" || got.Line != 4 {
		t.Errorf("the place is %+v", got)
	}
	again, err := s.Anew()
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Places(fields)[0]; got != (Place{}) {
		t.Errorf("before the first Tree the place is %+v", got)
	}
}

// A Store that a panic left in the middle of a Change is replaced by one that goes on from what
// is served, whatever the Change did of it.
func TestAnewGoesOnFromWhatIsServed(t *testing.T) {
	s := newStore(t, Options{})
	s.Apply(treeOf(map[string]string{"a.yaml": route("a", "/1"), "b.yaml": route("b", "/1"), "gone.yaml": route("g", "/1")}))
	s.Apply(treeOf(map[string]string{"a.yaml": route("a", "/1"), "b.yaml": "b: [", "gone.yaml": route("g", "/1")})) // b is kept
	s.Applied(nil)
	s.Apply(treeOf(map[string]string{"a.yaml": route("a", "/2"), "b.yaml": "b: [", "new.yaml": route("fresh", "/1")})) // lost
	again, err := s.Anew()
	if err != nil {
		t.Fatal(err)
	}
	change := again.Apply(treeOf(map[string]string{"a.yaml": route("a", "/3"), "b.yaml": "b: [", "n.yaml": route("fresh", "/2")}))
	if got := summary(change); got != "+a=/3 +fresh=/2 -g LastGoodKept InvalidYAML" {
		t.Errorf("got %q", got)
	}
	if got := summary(again.Apply(treeOf(map[string]string{"a.yaml": route("a", "/3"), "b.yaml": route("b", "/4"), "n.yaml": route("fresh", "/2")}))); got != "+b=/4" {
		t.Errorf("got %q", got)
	}
}

// What lies in a directory that is skipped stays as it was: in the running process, and after a
// restart in the middle of it.
func TestWhatIsBelowASkippedDirectoryStays(t *testing.T) {
	skipped := func(files map[string]string) watcher.Tree {
		tree := treeOf(files)
		tree.Skipped = []watcher.Skip{{Path: "team", Reason: watcher.Unreadable, Detail: "permission denied"}}
		return tree
	}
	inTeam := route("a", "/1")
	for _, restart := range []bool{false, true} {
		s, saved := newStore(t, saving), ledger{}
		s.Apply(treeOf(map[string]string{"team/a.yaml": inTeam, "team/deep/b.yaml": route("b", "/1"), "c.yaml": route("c", "/1")}))
		saved.take(s)
		if restart {
			s = saved.restart(t, saving)
		}
		for i := range 3 {
			change := s.Apply(skipped(map[string]string{"c.yaml": route("c", fmt.Sprint("/", i+2))}))
			if got := len(s.serving.served); got != 3 || len(change.Gone) > 0 {
				t.Errorf("restart %v, edit %d: %s, %d served", restart, i, summary(change), got)
			}
		}
		if got := summary(s.Apply(treeOf(map[string]string{"team/a.yaml": inTeam, "c.yaml": route("c", "/4")}))); got != "-b" {
			t.Errorf("restart %v: the directory is back: %q", restart, got)
		}
	}
}
