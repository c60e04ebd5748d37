package pods

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// pod is a running Pod: its API object, and the container of its program. The object is never modified.
type pod struct {
	revision  string // hash of its template
	object    *corev1.Pod
	container *container
}

// stop stops the programs of pods, and waits until they have ended.
func stop(pods []*pod) {
	for _, p := range pods {
		p.container.close()
	}
}

// addresses assigns 127.0.2.1 to 127.0.2.254 in turn. So an address is reused as late as possible: a client of
// a removed pod gets an error and does not reach another pod.
type addresses struct{ last byte }

// next returns the next address.
func (a *addresses) next() string {
	a.last = a.last%254 + 1
	return netip.AddrFrom4([4]byte{127, 0, 2, a.last}).String()
}

// start starts one more pod of a Deployment on the next free address. It skips an address that another pod
// uses, and an address on which another program uses a required port. It returns an error if there is no free
// address, or if no program can run the pod. w.mu must be locked.
func (w *World) start(d *appsv1.Deployment, revision string) (*pod, error) {
	used := map[string]bool{}
	for _, p := range w.sorted() {
		used[p.object.Status.PodIP] = true
	}
	w.serial++
	name := fmt.Sprintf("%s-%s-%05x", d.Name, revision, w.serial)
	failure := errors.New("all addresses of 127.0.2.0/24 are taken")
	for range 254 {
		address := w.addresses.next()
		if used[address] {
			continue
		}
		object := newObject(d, revision, name, address)
		started, err := run(object, w.sources)
		if err == nil {
			return &pod{revision: revision, object: object, container: started}, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, err
		}
		failure = err
	}
	return nil, failure
}

// newObject returns the API object of a ready Pod. The suite removes the last two parts of the name of a Pod to
// find the name of its backend.
func newObject(d *appsv1.Deployment, revision, name, address string) *corev1.Pod {
	template := d.Spec.Template.DeepCopy()
	now := metav1.Now().Rfc3339Copy()
	object := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: template.ObjectMeta,
		Spec:       template.Spec,
		Status: corev1.PodStatus{
			Phase:     corev1.PodRunning,
			PodIP:     address,
			PodIPs:    []corev1.PodIP{{IP: address}},
			HostIP:    "127.0.0.1",
			StartTime: &now,
		},
	}
	object.Namespace, object.Name = d.Namespace, name
	object.UID, object.ResourceVersion, object.CreationTimestamp = uuid.NewUUID(), "1", now
	if object.Labels == nil {
		object.Labels = map[string]string{}
	}
	object.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = revision
	object.Spec.NodeName = nodeName
	for _, condition := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		object.Status.Conditions = append(object.Status.Conditions, corev1.PodCondition{
			Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: now,
		})
	}
	return object
}

// nodeName is the name of the only node of this cluster.
const nodeName = "localhost"
