package pods

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
)

// Sources return the data of Secrets and ConfigMaps that volumes mount, or false if the object does not exist.
// They are called at each TLS handshake, from any goroutine, because the suite creates Secrets after
// Deployments. A nil function means that there are no objects.
type Sources struct {
	Secret, ConfigMap func(namespace, name string) (map[string][]byte, bool)
}

// World has the pods of all Deployments, and the Services that select them. It is safe for concurrent use.
type World struct {
	sources Sources
	changed func([]*discoveryv1.EndpointSlice)

	mu        sync.Mutex
	closed    bool
	pods      map[types.NamespacedName][]*pod // by Deployment
	services  map[types.NamespacedName]*corev1.Service
	addresses addresses
	serial    int // counts pods, so that each has another name

	out  sync.Mutex // locked while changed is called, so that the newest list comes last
	last []*discoveryv1.EndpointSlice
}

// New returns a World without pods. The World ends with ctx or with Close. The World calls the function changed with
// the sorted list of all EndpointSlices whenever Deploy, Remove, Service or RemoveService changes the list. The call
// is complete before that method returns. The function changed must not call any of these methods, and must not
// modify the list. New returns an error if this machine has no address 127.0.2.1.
func New(ctx context.Context, sources Sources, changed func([]*discoveryv1.EndpointSlice)) (*World, error) {
	probe, err := net.Listen("tcp4", "127.0.2.1:0")
	if err != nil {
		return nil, fmt.Errorf("pods need the addresses 127.0.2.0/24, which Linux has by itself: %w", err)
	}
	if err := probe.Close(); err != nil {
		return nil, err
	}
	w := &World{
		sources:  sources,
		changed:  changed,
		pods:     map[types.NamespacedName][]*pod{},
		services: map[types.NamespacedName]*corev1.Service{},
	}
	context.AfterFunc(ctx, w.Close)
	return w, nil
}

// Deploy starts, replaces or stops pods until the Deployment has the requested number of pods with its current
// template. When it returns, the pods accept connections. If a port is not available, or if no program can run
// the template, Deploy returns an error and the previous pods keep running.
func (w *World) Deploy(d *appsv1.Deployment) error {
	gone, err := w.deploy(d)
	if err != nil {
		return fmt.Errorf("deployment %s/%s: %w", d.Namespace, d.Name, err)
	}
	w.publish()
	stop(gone)
	return nil
}

// deploy starts the missing pods of a Deployment and returns the pods to stop. The errors are those of Deploy.
func (w *World) deploy(d *appsv1.Deployment) (gone []*pod, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, errors.New("the world is closed")
	}
	revision, err := templateHash(&d.Spec.Template)
	if err != nil {
		return nil, err
	}
	replicas := 1
	if d.Spec.Replicas != nil {
		replicas = int(*d.Spec.Replicas)
	}
	key := types.NamespacedName{Namespace: d.Namespace, Name: d.Name}
	var kept, fresh []*pod
	for _, p := range w.pods[key] {
		if p.revision == revision && len(kept) < replicas {
			kept = append(kept, p)
		} else {
			gone = append(gone, p)
		}
	}
	for len(kept)+len(fresh) < replicas {
		p, err := w.start(d, revision)
		if err != nil {
			stop(fresh)
			return nil, err
		}
		fresh = append(fresh, p)
	}
	w.pods[key] = append(kept, fresh...)
	return gone, nil
}

// templateHash returns a hash of a template, which identifies the revision of a Deployment. The hash is the
// second last part of a pod's name.
func templateHash(template *corev1.PodTemplateSpec) (string, error) {
	text, err := json.Marshal(template)
	if err != nil {
		return "", err
	}
	return hash(text), nil
}

// hash returns a short hash of text, in hexadecimal digits.
func hash(text []byte) string {
	sum := fnv.New32a()
	_, _ = sum.Write(text) // it never fails
	return fmt.Sprintf("%08x", sum.Sum32())
}

// Remove stops the pods of a Deployment. It does nothing if the Deployment is unknown.
func (w *World) Remove(namespace, name string) {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	w.mu.Lock()
	gone := w.pods[key]
	delete(w.pods, key)
	w.mu.Unlock()
	w.publish()
	stop(gone)
}

// Service maintains EndpointSlices for a new or changed Service. A Service without a selector, or of type
// ExternalName, gets no EndpointSlices: its author writes them.
func (w *World) Service(s *corev1.Service) {
	w.mu.Lock()
	w.services[types.NamespacedName{Namespace: s.Namespace, Name: s.Name}] = s.DeepCopy()
	w.mu.Unlock()
	w.publish()
}

// RemoveService deletes the EndpointSlices of a Service.
func (w *World) RemoveService(namespace, name string) {
	w.mu.Lock()
	delete(w.services, types.NamespacedName{Namespace: namespace, Name: name})
	w.mu.Unlock()
	w.publish()
}

// Pods returns copies of the Pods of a namespace, sorted by namespace and name. For the namespace "", it
// returns the Pods of all namespaces. All Pods are running and ready.
func (w *World) Pods(namespace string) []*corev1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*corev1.Pod
	for _, p := range w.sorted() {
		if namespace == "" || namespace == p.object.Namespace {
			out = append(out, p.object.DeepCopy())
		}
	}
	return out
}

// Log returns the latest lines of a pod's log. The parameter since is how far back in time they go; 0 means all
// lines. It returns nil if the pod does not exist.
func (w *World) Log(namespace, pod string, since time.Duration) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.sorted() {
		if p.object.Namespace == namespace && p.object.Name == pod {
			return p.container.log.since(since)
		}
	}
	return nil
}

// Close stops all pods. After Close, Deploy returns an error.
func (w *World) Close() {
	w.mu.Lock()
	gone := w.sorted()
	w.closed = true
	clear(w.pods)
	w.mu.Unlock()
	stop(gone)
}

// sorted returns all pods, sorted by namespace and name. w.mu must be locked.
func (w *World) sorted() []*pod {
	var out []*pod
	for _, pods := range w.pods {
		out = append(out, pods...)
	}
	slices.SortFunc(out, func(a, b *pod) int {
		return cmp.Or(cmp.Compare(a.object.Namespace, b.object.Namespace), cmp.Compare(a.object.Name, b.object.Name))
	})
	return out
}

// publish calls w.changed with the EndpointSlices of all Services, if they differ from those of the last call.
func (w *World) publish() {
	w.out.Lock()
	defer w.out.Unlock()
	w.mu.Lock()
	list := generate(w.services, w.sorted())
	w.mu.Unlock()
	if equality.Semantic.DeepEqual(list, w.last) {
		return
	}
	w.last = list
	w.changed(list)
}
