package board

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
)

// Stale describes an object whose last valid version is served.
type Stale struct {
	// Since is when gatefold found that the folder has no valid version of the object.
	Since metav1.Time `json:"since"`
	// Place is where the error is. Message says what is wrong there.
	store.Place
	Message string `json:"message,omitempty"`
	// Stage is the stage at which the newest version fails: read, check, translate or frozen.
	Stage store.Stage `json:"stage"`
	// Protects is true if the edit that is not applied may take away access.
	Protects bool `json:"protects,omitempty"`
	// Unsaved is true if the saved state does not have the version that is served: after a restart, the newest version
	// counts as that of a new object.
	Unsaved bool `json:"unsaved,omitempty"`
}

// newStale returns the form of s that the pages show, nil if s is nil.
func newStale(s *store.Stale) *Stale {
	if s == nil {
		return nil
	}
	return &Stale{Since: metav1.NewTime(s.Since), Place: s.Place, Message: s.Message, Stage: s.Stage, Protects: s.Protects, Unsaved: s.Unsaved}
}

// staleObjects has the stale objects. It is guarded by Board.mu.
type staleObjects struct {
	list     []store.Stale // as published
	objects  map[manifest.Key]*store.Stale
	policies map[manifest.Key][]manifest.Key // the stale policies by target
}

// setStale replaces the list of stale objects. It reports to the feed each object that became stale, is no longer
// stale, or is stale for another reason. It also reports the objects that a policy selects if this policy has
// become stale or is no longer stale.
func (b *Board) setStale(list []store.Stale) {
	if store.SameStale(list, b.stale.list) {
		return
	}
	before, now := b.stale, staleObjects{list, make(map[manifest.Key]*store.Stale, len(list)), map[manifest.Key][]manifest.Key{}}
	for i, s := range list {
		now.objects[s.Key] = &list[i]
		for _, target := range s.Targets {
			now.policies[target] = append(now.policies[target], s.Key)
		}
	}
	b.stale = now
	noteChanges(b.feed, before.objects, now.objects, func(a, b *store.Stale) bool { return a.Equal(*b) })
	noteChanges(b.feed, before.policies, now.policies, slices.Equal)
}

// noteChanges calls feed.note for each object whose value differs between two maps.
func noteChanges[V any](feed *Feed, before, now map[manifest.Key]V, equal func(a, b V) bool) {
	for key, value := range now {
		if old, ok := before[key]; !ok || !equal(old, value) {
			feed.note(key)
		}
	}
	for key := range before {
		if _, ok := now[key]; !ok {
			feed.note(key)
		}
	}
}
