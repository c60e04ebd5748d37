package pods

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// manager is the value of the label endpointslice.kubernetes.io/managed-by of generated EndpointSlices.
// EndpointSlices with another value belong to their author.
const manager = "conformance.gatefold"

// generate returns the EndpointSlices of all Services, sorted by namespace and name. It skips Services without
// a selector, and Services of type ExternalName.
func generate(services map[types.NamespacedName]*corev1.Service, pods []*pod) []*discoveryv1.EndpointSlice {
	var out []*discoveryv1.EndpointSlice
	for _, service := range services {
		if len(service.Spec.Selector) == 0 || service.Spec.Type == corev1.ServiceTypeExternalName {
			continue
		}
		out = append(out, sliceService(service, pods)...)
	}
	slices.SortFunc(out, func(a, b *discoveryv1.EndpointSlice) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// sliceService returns the EndpointSlices of a Service. Pods with the same ports share a slice. If the Service
// selects no pod, it returns one empty slice.
func sliceService(service *corev1.Service, pods []*pod) []*discoveryv1.EndpointSlice {
	selector := labels.SelectorFromSet(service.Spec.Selector)
	byPorts := map[string]*discoveryv1.EndpointSlice{}
	for _, p := range pods {
		if p.object.Namespace != service.Namespace || !selector.Matches(labels.Set(p.object.Labels)) {
			continue
		}
		slice := newSlice(service, resolve(service, p.object))
		if known, ok := byPorts[slice.Name]; ok {
			slice = known
		}
		slice.Endpoints = append(slice.Endpoints, endpoint(p.object))
		byPorts[slice.Name] = slice
	}
	if len(byPorts) == 0 {
		return []*discoveryv1.EndpointSlice{newSlice(service, nil)}
	}
	return slices.Collect(maps.Values(byPorts))
}

// newSlice returns an EndpointSlice without endpoints for a Service. The slice's name depends on the Service's name
// and on the ports.
func newSlice(service *corev1.Service, ports []discoveryv1.EndpointPort) *discoveryv1.EndpointSlice {
	text := ""
	for _, port := range ports {
		text += fmt.Sprintf("%s %s %d\n", *port.Name, *port.Protocol, *port.Port)
	}
	slice := &discoveryv1.EndpointSlice{
		TypeMeta: metav1.TypeMeta{APIVersion: discoveryv1.SchemeGroupVersion.String(), Kind: "EndpointSlice"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: service.Namespace,
			Name:      service.Name + "-" + hash([]byte(text)),
			Labels: map[string]string{
				discoveryv1.LabelServiceName: service.Name,
				discoveryv1.LabelManagedBy:   manager,
			},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       ports,
	}
	if service.Spec.ClusterIP == corev1.ClusterIPNone {
		slice.Labels[corev1.IsHeadlessService] = ""
	}
	return slice
}

// resolve returns the ports of a Service on one pod, with the numbers of targetPort. It leaves out a port for
// which targetPort returns false.
func resolve(service *corev1.Service, object *corev1.Pod) []discoveryv1.EndpointPort {
	var out []discoveryv1.EndpointPort
	for _, port := range service.Spec.Ports {
		protocol := cmp.Or(port.Protocol, corev1.ProtocolTCP)
		number, ok := targetPort(port, protocol, object)
		if !ok {
			continue
		}
		name := port.Name
		out = append(out, discoveryv1.EndpointPort{Name: &name, Protocol: &protocol, Port: &number, AppProtocol: port.AppProtocol})
	}
	return out
}

// targetPort returns the number of a target port on a pod. An unset target port means the port of the Service.
// It returns false if the pod has no container port with that name and protocol.
func targetPort(port corev1.ServicePort, protocol corev1.Protocol, object *corev1.Pod) (int32, bool) {
	if port.TargetPort.Type == intstr.Int {
		return cmp.Or(port.TargetPort.IntVal, port.Port), true
	}
	for _, c := range object.Spec.Containers {
		for _, p := range c.Ports {
			if p.Name == port.TargetPort.StrVal && cmp.Or(p.Protocol, corev1.ProtocolTCP) == protocol {
				return p.ContainerPort, true
			}
		}
	}
	return 0, false
}

// endpoint returns the endpoint of a ready pod.
func endpoint(object *corev1.Pod) discoveryv1.Endpoint {
	yes, no, node := true, false, object.Spec.NodeName
	return discoveryv1.Endpoint{
		Addresses:  []string{object.Status.PodIP},
		Conditions: discoveryv1.EndpointConditions{Ready: &yes, Serving: &yes, Terminating: &no},
		NodeName:   &node,
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: object.Namespace, Name: object.Name, UID: object.UID},
	}
}
