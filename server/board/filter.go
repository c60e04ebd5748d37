package board

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
)

// Filter selects objects by kind, namespace and name. A zero field selects all.
type Filter struct {
	Kind            store.KindName
	Namespace, Name string
}

// Picks reports whether the filter selects the object with this key.
func (f Filter) Picks(key manifest.Key) bool {
	kind := f.Kind.Kind == "" || f.Kind.Kind == key.Kind && f.Kind.Group == key.Group
	return kind && (f.Namespace == "" || f.Namespace == key.Namespace) && (f.Name == "" || f.Name == key.Name)
}

// Key returns the key of the object that the filter names. The filter must have a kind and a name, and for a
// namespaced kind also a namespace.
func (f Filter) Key() manifest.Key {
	return manifest.Key{Group: f.Kind.Group, Kind: f.Kind.Kind, Namespace: f.Namespace, Name: f.Name}
}

// Path returns the path and query of the admin page with the status of the objects that the filter selects.
func (f Filter) Path() string {
	path := "/api/v1/status"
	if f.Kind.Kind != "" {
		path += "/" + f.Kind.Kind + "." + f.Kind.Group
	}
	switch {
	case f.Name != "" && f.Namespace != "":
		return path + "/" + url.PathEscape(f.Namespace) + "/" + url.PathEscape(f.Name)
	case f.Name != "":
		return path + "/" + url.PathEscape(f.Name)
	case f.Namespace != "":
		return path + "?namespace=" + url.QueryEscape(f.Namespace)
	}
	return path
}

// NewFilter returns a filter from a user's input. Each argument may be "". It returns an error if the kind is
// unknown, or if a cluster-scoped kind has a namespace. A name of a namespaced kind without a namespace is also
// an error.
func NewFilter(kind, namespace, name string) (f Filter, err error) {
	f = Filter{Namespace: namespace, Name: name}
	if kind == "" {
		return f, nil
	}
	found, like, ok := store.FindKind(strings.TrimSuffix(kind, "."))
	switch {
	case !ok && like != "":
		return f, fmt.Errorf("unknown kind %q (did you mean %s?)", kind, like)
	case !ok:
		return f, fmt.Errorf("unknown kind %q: gatefold reads no objects of it", kind)
	case found.ClusterScoped && namespace != "":
		return f, fmt.Errorf("%s has no namespaces", found.Kind)
	case !found.ClusterScoped && namespace == "" && name != "":
		return f, fmt.Errorf("%s %s needs a namespace: NAMESPACE/%s", found.Kind, name, name)
	}
	f.Kind = found
	return f, nil
}
