// Package adapter answers like a small Kubernetes API server and keeps a folder
// of YAML in step with what it is told. The conformance suite speaks to it as it
// would to a cluster; gatefold sees nothing but the folder, and what gatefold
// says of an object is that object's status.
//
// It does what the suite and its clients ask for: discovery, get, list, create,
// update, JSON merge patch, delete, label selectors, logs of Pods. There is no
// watch, no server-side apply and nobody to keep out.
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
	// CRDs holds the CustomResourceDefinitions to serve, one or more YAML documents
	// a file; documents of other kinds are passed over.
	CRDs fs.FS
	// Folder receives a file per object. It exists.
	Folder string
	// Status returns the status that is published for an object of a CRD's kind, or nil. An
	// error is returned to the client.
	Status func(kind schema.GroupKind, namespace, name string) (map[string]any, error)
	// Changed is called for each Deployment and Service that is created, changed or deleted,
	// one at a time, after it is stored. An error fails the write. It may call
	// SetEndpointSlices.
	Changed func(Event) error
	// Deleting is called with each object of a CRD's kind, as a client reads it, before it is
	// deleted.
	Deleting func(object map[string]any)
	// Pods returns the Pods of a namespace, or of all namespaces for "".
	Pods func(namespace string) []*corev1.Pod
	// Log returns what a Pod wrote in the last duration; zero returns everything.
	Log func(namespace, pod string, since time.Duration) []byte
}

// Event is a change of an object.
type Event struct {
	Kind, Namespace, Name string
	// Object is the object as a client reads it; nil when it is gone.
	Object map[string]any
}

// Adapter is the API server. Use New.
type Adapter struct {
	options   Options
	resources []*resource
	crds      []map[string]any // as they are listed

	// telling is held from a change until Changed returns, so that Changed sees
	// changes in their order. It is taken before mu.
	telling sync.Mutex

	mu        sync.Mutex
	objects   map[key]*object
	revision  int64
	generated map[key]bool // EndpointSlices that SetEndpointSlices gave
	deleted   map[key]bool // what may have a status from before
}

// key names an object, whichever version it is spoken of in.
type key struct {
	resource        *resource
	namespace, name string
}

// object is what is stored: never changed, only replaced.
type object struct {
	// content is what was submitted, without status, with the metadata that the
	// server sets.
	content  map[string]any
	revision int64
}

// New reads the CRDs and serves no objects but the Namespace default.
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

// kind gives the resource of a kind that is served, nil otherwise.
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
