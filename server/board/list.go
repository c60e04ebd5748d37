package board

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// List is a v1 List, as kubectl prints it. O is the type of its objects: an Object.
type List[O any] struct {
	metav1.TypeMeta `json:",inline"`
	Items           []O `json:"items"`
}

// Object is an object with its status, as the admin pages show it. It is immutable. S is the type of the field
// Status. The code that writes the pages uses the type any. The code that reads the pages uses a struct type that
// has the status fields of all kinds.
type Object[S any] struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        ObjectMeta `json:"metadata"`
	Status          S          `json:"status"`
	// State is one word for the object: ok, stale (the last valid version is served), closed (it has a mistake, and its
	// requests or those of its targets are answered 500) or "not served" (it has a mistake, and does nothing). An object
	// is ok if it serves, also where a condition of its status reports a problem.
	State string `json:"state"`
	// Stale is set if the last valid version of the object is served; Status is then the status of that version.
	// It is nil if the folder's version is served.
	Stale *Stale `json:"stale,omitempty"`
	// StalePolicies are the stale policies that select the object as their target, by name or by labels.
	StalePolicies []manifest.Key `json:"stalePolicies,omitempty"`
}

// ObjectMeta is the part of an object's metadata that is shown with its status.
type ObjectMeta struct {
	Name       string `json:"name"`
	Namespace  string `json:"namespace,omitempty"`
	Generation int64  `json:"generation,omitempty"`
}

// at returns the Object that users see. It is made from the parameter key, which is the object's key, and from what
// the board knows of the object (the receiver s).
func (s sight) at(key manifest.Key) Object[any] {
	return Object[any]{
		TypeMeta: metav1.TypeMeta{APIVersion: apiVersion(key.Group), Kind: key.Kind},
		Metadata: ObjectMeta{Name: key.Name, Namespace: key.Namespace, Generation: s.generation},
		Status:   cmp.Or(s.show(), any(struct{}{})),
		State:    s.word(),
		Stale:    newStale(s.stale), StalePolicies: s.policies,
	}
}

// apiVersion returns the apiVersion of objects of a group: the group and its version, or only "v1" for the group
// "". The version is api.Version for the group api.Group, and v1 for every other group.
func apiVersion(group string) string {
	switch group {
	case api.Group:
		return group + "/" + api.Version
	case "":
		return "v1"
	}
	return group + "/v1"
}

// Missing returns the message for a filter that names one object, if this object has no status. The message says
// that the object does not exist, and may suggest a similar one. If no object of the kind has a status, the message
// adds that objects of this kind may have no status at all.
func (b *Board) Missing(filter Filter) string {
	var same, names []string
	hasStatus := false
	for _, key := range b.all() {
		hasStatus = hasStatus || key.Kind == filter.Kind.Kind
		switch {
		case key.Kind != filter.Kind.Kind || key.Group != filter.Kind.Group:
		case key.Name == filter.Name:
			same = append(same, key.Namespace+"/"+key.Name)
		case key.Namespace == filter.Namespace:
			names = append(names, key.Name)
		}
	}
	message := "there is no " + filter.Key().String()
	if !hasStatus {
		message += ", or its kind has no status"
	}
	like := manifest.Nearest(filter.Name, slices.Sorted(slices.Values(names)))
	switch {
	case len(same) > 0:
		return message + " (did you mean " + slices.Min(same) + "?)"
	case like != "" && filter.Namespace != "":
		return message + " (did you mean " + filter.Namespace + "/" + like + "?)"
	case like != "":
		return message + " (did you mean " + like + "?)"
	}
	return message
}

// List returns the objects with their statuses, sorted by key. It leaves out an object if the function want
// returns false for its key.
func (b *Board) List(want func(manifest.Key) bool) List[Object[any]] {
	seen := b.look(want)
	items := make([]Object[any], 0, len(seen))
	for _, key := range slices.SortedFunc(maps.Keys(seen), manifest.CompareKeys) {
		items = append(items, seen[key].at(key))
	}
	return List[Object[any]]{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: items}
}

// look returns all that the board knows of each object now, by key. It leaves out an object if the function want
// returns false for its key.
func (b *Board) look(want func(manifest.Key) bool) map[manifest.Key]sight {
	b.refresh()
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := map[manifest.Key]sight{}
	for key := range b.keys() {
		if want(key) {
			seen[key], _ = b.sees(key)
		}
	}
	return seen
}

// all returns the keys of all objects that have a status or are stale, in no order.
func (b *Board) all() []manifest.Key {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(b.keys())
}

// Key returns the object's key.
func (o *Object[S]) Key() manifest.Key {
	group, _, grouped := strings.Cut(o.APIVersion, "/")
	if !grouped {
		group = ""
	}
	return manifest.Key{Group: group, Kind: o.Kind, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name}
}
