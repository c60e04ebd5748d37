// Package fence says which files of a shared folder may define objects of which
// namespaces (design section 10), so that a team cannot take over what belongs
// to another by writing an object of its name.
//
// A Namespace declares its files by an annotation. As soon as one does, the
// fence stands: cluster-scoped objects come from the files that the operator
// named alone, and with them the Namespaces; namespaces that none declares take
// no objects; and a Namespace without the annotation takes them from any file.
package fence

import (
	"fmt"
	"slices"
)

// Annotation is that of a Namespace; its value is read by Parse.
const Annotation = "gatefold.io/paths"

// Fence knows what was declared. Its zero value refuses nothing.
type Fence struct {
	cluster Globs
	// declared holds the globs of each Namespace, nil for one without.
	declared map[string]Globs
	standing int // declared ones with globs
}

// New gives a fence in which the files that cluster names may define
// cluster-scoped objects; without any, nothing is ever refused.
func New(cluster Globs) Fence { return Fence{cluster: cluster, declared: map[string]Globs{}} }

// Cluster tells whether a file is one of those that may define cluster-scoped
// objects.
func (f *Fence) Cluster(file string) bool { return f.cluster.Match(file) }

// Stands tells whether objects may be refused.
func (f *Fence) Stands() bool { return f.standing > 0 }

// Declare takes in a Namespace with its globs, nil where it has none. It gives
// false when that is known.
func (f *Fence) Declare(namespace string, globs Globs) (changed bool) {
	before, known := f.declared[namespace]
	if len(f.cluster) == 0 || known && slices.Equal(before, globs) {
		return false
	}
	f.Forget(namespace)
	f.declared[namespace] = globs
	if globs != nil {
		f.standing++
	}
	return true
}

// Forget takes out a Namespace that is gone. It gives false when it was unknown.
func (f *Fence) Forget(namespace string) (changed bool) {
	before, known := f.declared[namespace]
	if before != nil {
		f.standing--
	}
	delete(f.declared, namespace)
	return known
}

// Refusal says why a file must not define an object, and what to do. A zero
// Refusal is none.
type Refusal struct{ Message, Hint string }

// Refuse judges an object of a namespace, "" for a cluster-scoped one.
func (f *Fence) Refuse(file, namespace string) Refusal {
	if namespace == "" {
		return f.refuseCluster(file)
	}
	if !f.Stands() {
		return Refusal{}
	}
	globs, known := f.declared[namespace]
	switch {
	case !known:
		return Refusal{
			Message: fmt.Sprintf("the namespace %s is not declared, and namespaces of this folder are fenced", namespace),
			Hint:    fmt.Sprintf("correct metadata.namespace, or declare Namespace %s with the annotation %s in a file of --cluster-paths (%s)", namespace, Annotation, f.cluster),
		}
	case globs != nil && !globs.Match(file):
		return Refusal{
			Message: fmt.Sprintf("this file may not define objects of the namespace %s, which belongs to %s", namespace, globs),
			Hint:    fmt.Sprintf("move the object there, correct metadata.namespace, or add this file to the annotation %s of Namespace %s", Annotation, namespace),
		}
	}
	return Refusal{}
}

// refuseCluster judges a cluster-scoped object. The files that the operator named
// hold from the start, not only as soon as the fence stands: else any file could
// raise it.
func (f *Fence) refuseCluster(file string) Refusal {
	if len(f.cluster) == 0 || f.Cluster(file) {
		return Refusal{}
	}
	return Refusal{
		Message: "this file may not define objects that belong to no namespace: they come from --cluster-paths alone",
		Hint:    fmt.Sprintf("move it to a file of %s, or start gatefold with this file in --cluster-paths", f.cluster),
	}
}
