package manifest

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Key names one object. Version is not part of it: v1 and v1beta1 of one kind
// are one object, as they are in Kubernetes.
type Key struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"` // "" for cluster-scoped kinds
	Name      string `json:"name"`
}

// String gives "Kind namespace/name", or "Kind name" for cluster-scoped kinds.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Kind + " " + k.Name
	}
	return k.Kind + " " + k.Namespace + "/" + k.Name
}

// GroupKind is the key's kind.
func (k Key) GroupKind() schema.GroupKind { return schema.GroupKind{Group: k.Group, Kind: k.Kind} }

// IsZero reports whether the key names nothing.
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

// Object is one valid, defaulted object. It is never changed after it was
// handed out. It does not know its file or line: those move without the object
// changing; Store.Locate finds them when a Problem is shown.
type Object struct {
	Key Key
	// Hash covers the object's content after pruning and defaulting, so that
	// comments, order of fields and place do not count.
	Hash [32]byte
	// Source says whether the object comes from cluster paths.
	Source Source
	// Value is a pointer to the typed object in the version that the kinds
	// table names, such as *api.HTTPRoute.
	Value metav1.Object
}

// Source is the sort of file that an object comes from.
type Source int8

// The sources. Objects of cluster paths go before those of other files wherever two contend.
const (
	AnyFile      Source = iota // no path policies are in force
	ClusterPaths               // a file that --cluster-paths names
	OtherFile                  // another one: its author may write into some namespaces
)

// Same reports whether two objects say the same, to the same effect.
func (o *Object) Same(other *Object) bool { return o.Hash == other.Hash && o.Source == other.Source }

// As gives the object's value as the type T; ok is false for another kind or a
// nil object.
func As[T metav1.Object](o *Object) (value T, ok bool) {
	if o == nil {
		return value, false
	}
	value, ok = o.Value.(T)
	return value, ok
}
