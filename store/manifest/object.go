package manifest

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Key identifies one object. It has no version: v1 and v1beta1 of one kind are the same object, as in
// Kubernetes.
type Key struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"` // "" for cluster-scoped kinds
	Name      string `json:"name"`
}

// String returns "Kind namespace/name", or "Kind name" for cluster-scoped kinds.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Kind + " " + k.Name
	}
	return k.Kind + " " + k.Namespace + "/" + k.Name
}

// GroupKind returns the group and kind.
func (k Key) GroupKind() schema.GroupKind { return schema.GroupKind{Group: k.Group, Kind: k.Kind} }

// IsZero reports whether the key is empty.
func (k Key) IsZero() bool { return k == Key{} }

// CompareKeys orders keys by group, kind, namespace and name.
func CompareKeys(a, b Key) int {
	if c := cmp.Compare(a.Group, b.Group); c != 0 {
		return c
	}
	if c := cmp.Compare(a.Kind, b.Kind); c != 0 {
		return c
	}
	if c := cmp.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}
	return cmp.Compare(a.Name, b.Name)
}

// Object is one valid object with defaults. It is immutable. It has no file and line, because an edit elsewhere
// in the file changes these without changing the object. Store.Locate adds the file and line to a Problem about
// the object.
type Object struct {
	Key Key
	// Hash is the hash of the object's content after pruning and defaulting. Comments, the order of fields and
	// the place of the object do not change it.
	Hash [32]byte
	// Source is the kind of file that the object comes from.
	Source Source
	// Value is a pointer to the typed object, in the first version in the table of kinds, such as
	// *api.HTTPRoute.
	Value metav1.Object
	// Closed is set for a closed copy of a route, and nil for any other object.
	Closed *Closed
}

// Closed says why a route is a closed copy: its hosts and matches answer 500 (calls of gRPC get UNAVAILABLE), the last
// among equal matches.
type Closed struct {
	// Why is the reason in words.
	Why string
	// Of is the route that the copy is of. It is nil if only parts of the route can be read.
	Of *Object
}

// Source is the kind of file that an object comes from: whether the flag --cluster-paths names the file.
type Source int8

// The kinds of files that an object can come from. With the flag --cluster-paths, path policies limit what a file
// may define. In a conflict, an object from a ClusterPaths file wins against an object from an OtherFile.
const (
	AnyFile      Source = iota // any file, if --cluster-paths is not set
	ClusterPaths               // a file that --cluster-paths names
	OtherFile                  // any other file; path policies limit the namespaces that it may use
)

// Same reports whether two objects have the same content and source.
func (o *Object) Same(other *Object) bool { return o.Hash == other.Hash && o.Source == other.Source }

// As returns the object's value as type T. ok is false if the value has another type, or o is nil.
func As[T metav1.Object](o *Object) (value T, ok bool) {
	if o == nil {
		return value, false
	}
	value, ok = o.Value.(T)
	return value, ok
}
