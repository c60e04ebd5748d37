// Package adapter is a small Kubernetes API server that stores the objects for gatefold as YAML files in a
// folder. The conformance suite uses it like a cluster. gatefold sees only the folder, and gatefold's status of
// an object is the status that the adapter serves.
//
// The adapter supports discovery, get, list, create, update, JSON merge patch, delete, label selectors, and
// logs of Pods. It has no watch, no server-side apply and no access control.
package adapter

import (
	"fmt"
	"io/fs"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Options configure an Adapter.
type Options struct {
	// CRDs contains the CustomResourceDefinitions to serve, in files *.yaml. Other documents in these files are
	// ignored.
	CRDs fs.FS
	// Folder is an existing folder for the files of objects. Each object of a kind that gatefold reads has a
	// file.
	Folder string
	// Status returns the status of an object whose kind has a CRD. It returns nil if the object has no status.
	// An error is returned to the client.
	Status func(kind schema.GroupKind, namespace, name string) (map[string]any, error)
	// Changed is called after a Deployment or Service is created, changed or deleted. Calls do not overlap, and
	// come in the order of the changes. If it returns an error, the client gets that error. It may call
	// SetEndpointSlices.
	Changed func(Event) error
	// Deleting is called before an object whose kind has a CRD is deleted, even if the deletion then fails. The
	// object is as a client reads it.
	Deleting func(object map[string]any)
	// Pods returns the Pods of a namespace, or of all namespaces if namespace is "".
	Pods func(namespace string) []*corev1.Pod
	// Log returns what a Pod has logged during the time since, up to now. If since is 0, it returns the whole
	// log.
	Log func(namespace, pod string, since time.Duration) []byte
}

// Event is a change of an object: created, changed or deleted.
type Event struct {
	Kind, Namespace, Name string
	// Object is the object as a client reads it. It is nil if the object was deleted.
	Object map[string]any
}

// Adapter is the API server. New creates one.
type Adapter struct {
	options   Options
	resources []*resource
	crds      []map[string]any // in the order in which they are listed

	// telling is locked from a change until Changed has returned. So Changed is called in the order of the
	// changes. It must be locked before mu.
	telling sync.Mutex

	mu        sync.Mutex
	objects   map[key]*object
	revision  int64
	generated map[key]bool // EndpointSlices from SetEndpointSlices
	deleted   map[key]bool // deleted objects that may still have a status
}

// key identifies an object, independent of its API version.
type key struct {
	resource        *resource
	namespace, name string
}

// object is a stored object. It is never modified, only replaced.
type object struct {
	// content is the submitted object without its status, and with the metadata that the server sets.
	content  map[string]any
	revision int64
}

// New reads the CRDs and returns an Adapter. Its only object is the Namespace default. The error means that a
// CRD is invalid or cannot be read, or that the Namespace cannot be stored.
func New(options Options) (*Adapter, error) {
	a := &Adapter{options: options, objects: map[key]*object{}, generated: map[key]bool{}, deleted: map[key]bool{}}
	a.resources = builtin()
	if err := a.readCRDs(); err != nil {
		return nil, fmt.Errorf("read CRDs: %w", err)
	}
	namespace := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "default"}}
	_, err := a.create(call{resource: a.kind(schema.GroupKind{Kind: "Namespace"}), version: "v1"}, namespace)
	return a, err
}

// kind returns the resource of a group and kind, or nil if it is not served.
func (a *Adapter) kind(wanted schema.GroupKind) *resource {
	for _, r := range a.resources {
		if r.group == wanted.Group && r.kind == wanted.Kind {
			return r
		}
	}
	return nil
}

// ServeHTTP answers one request of the Kubernetes API.
func (a *Adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.discover(w, r) {
		return
	}
	c, err := a.parse(r)
	if err == nil && c.subresource == "log" {
		err = a.writeLog(w, c)
		if err == nil {
			return
		}
	}
	var body any
	code := http.StatusOK
	if err == nil {
		body, code, err = a.do(c, r)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, code, body)
}
