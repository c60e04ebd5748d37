package server

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// ObjectStatus is an object with its status, as the admin pages give it. It is never
// changed.
type ObjectStatus struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        ObjectMeta `json:"metadata"`
	Status          any        `json:"status"`
	// Stale says that the last valid version is served, and Status is its status; nil
	// where the folder's version is served.
	Stale *Stale `json:"stale,omitempty"`
	// StalePolicies are the stale policies that have the object as their target, by name or by
	// labels.
	StalePolicies []manifest.Key `json:"stalePolicies,omitempty"`
}

// ObjectMeta is what of an object's metadata is shown with its status.
type ObjectMeta struct {
	Name       string `json:"name"`
	Namespace  string `json:"namespace,omitempty"`
	Generation int64  `json:"generation,omitempty"`
}

// at is the object of this key, as it is shown.
func (s sight) at(key manifest.Key) ObjectStatus {
	return ObjectStatus{
		TypeMeta: metav1.TypeMeta{APIVersion: apiVersion(key.Group), Kind: key.Kind},
		Metadata: ObjectMeta{Name: key.Name, Namespace: key.Namespace, Generation: s.generation},
		Status:   cmp.Or(s.show(), any(struct{}{})),
		Stale:    newStale(s.stale), StalePolicies: s.policies,
	}
}

// apiVersion is the version that objects of a group are read as.
func apiVersion(group string) string {
	switch group {
	case api.Group:
		return group + "/" + api.Version
	case "":
		return "v1"
	}
	return group + "/v1"
}

// StatusFeed tells one reader which objects have another status than when it last
// asked. Nobody waits for the reader: of changes in between it gets the newest.
type StatusFeed struct {
	server  *Server
	wake    chan struct{}
	changed map[manifest.Key]struct{} // guarded by Server.mu
}

// StatusChange is an object whose status changed.
type StatusChange struct {
	Key manifest.Key
	Now *ObjectStatus // nil when the object is gone, or has no status any more
}

// FollowStatus begins the one feed. It is called before Run and Publish.
func (s *Server) FollowStatus() *StatusFeed {
	f := &StatusFeed{server: s, wake: make(chan struct{}, 1), changed: map[manifest.Key]struct{}{}}
	s.locked(func() { s.board.feed = f })
	return f
}

// Changed has a value when there is something to Take, the first time after the first
// Publish, even of nothing.
func (f *StatusFeed) Changed() <-chan struct{} { return f.wake }

// Take returns what changed since the last call or, with all, every object that has a
// status beside it; sorted by key.
func (f *StatusFeed) Take(all bool) []StatusChange {
	gone, seen := f.look(all)
	changes := make([]StatusChange, 0, len(gone)+len(seen))
	for _, key := range gone {
		changes = append(changes, StatusChange{Key: key})
	}
	for key, s := range seen {
		now := s.at(key)
		changes = append(changes, StatusChange{key, &now})
	}
	slices.SortFunc(changes, func(a, b StatusChange) int { return manifest.CompareKeys(a.Key, b.Key) })
	return changes
}

// look takes what changed as it is now.
func (f *StatusFeed) look(all bool) (gone []manifest.Key, seen map[manifest.Key]sight) {
	s := f.server
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh()
	if all {
		for key := range s.board.keys() {
			f.changed[key] = struct{}{}
		}
	}
	seen = make(map[manifest.Key]sight, len(f.changed))
	for key := range f.changed {
		if now, ok := s.board.sees(key); ok {
			seen[key] = now
		} else {
			gone = append(gone, key)
		}
	}
	f.changed = map[manifest.Key]struct{}{} // an emptied one keeps the room of all objects of the start
	return gone, seen
}

// note books that the status of objects is another. A nil feed has no reader.
func (f *StatusFeed) note(keys ...manifest.Key) {
	if f == nil {
		return
	}
	for _, key := range keys {
		f.changed[key] = struct{}{}
	}
	select {
	case f.wake <- struct{}{}:
	default: // it knows that there is something
	}
}
