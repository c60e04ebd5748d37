package backend

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/gatefold/gatefold/store/manifest"
)

// CheckEndpoints returns a warning if the port of a Service has no endpoint, and nil if it has one. The warning
// names the cause: no EndpointSlice exists, or none has endpoints, or none has the port, or no endpoint is ready. An
// ExternalName Service always has its endpoint. The parameter key is the port of the Service.
func CheckEndpoints(key Key, service *corev1.Service, sliceList []*discoveryv1.EndpointSlice) []manifest.Problem {
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	port := servicePort(service, key)
	written, ofPort := 0, false
	for _, slice := range sliceList {
		if len(sliceEndpoints(slice, port.Name, key.UDP)) > 0 {
			return nil
		}
		ofPort = ofPort || hasPort(slice, port.Name, key.UDP)
		written += len(slice.Endpoints)
	}
	problem := manifest.Problem{Code: "NoEndpoints", Severity: manifest.Warning, Object: key.Object, Field: "spec"}
	if i := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p == port }); len(sliceList) > 0 && i >= 0 {
		problem.Field = fmt.Sprintf("spec.ports[%d]", i)
	}
	what, hint := endpointFault(service, port, sliceList, written, ofPort)
	problem.Message, problem.Hint = what+": "+unanswered(key), hint
	return []manifest.Problem{problem}
}

// endpointFault returns why a Service port has no endpoint (what), and what to do (hint). The parameter written is
// the number of endpoints in all EndpointSlices of the Service, ready or not. The parameter ofPort is true if one
// of the EndpointSlices has the port.
func endpointFault(service *corev1.Service, port corev1.ServicePort, sliceList []*discoveryv1.EndpointSlice, written int, ofPort bool) (what, hint string) {
	switch {
	case len(sliceList) == 0:
		hint = fmt.Sprintf("write an EndpointSlice with the label %s: %s, or use a Backend", discoveryv1.LabelServiceName, service.Name)
		if len(service.Spec.Selector) > 0 {
			hint += "; gatefold does not look for Pods, so spec.selector has no effect"
		}
		return "the Service has no EndpointSlice", hint
	case written == 0:
		return "the EndpointSlices of the Service have no endpoints", "add endpoints to EndpointSlice " + sliceList[0].Name
	case !ofPort:
		return "no EndpointSlice of the Service has a port " + portWords(port),
			fmt.Sprintf("correct ports of EndpointSlice %s: a port belongs to the Service port that has its name and protocol", sliceList[0].Name)
	}
	return "no endpoint of the Service is ready", "correct conditions.ready of the endpoints of EndpointSlice " + sliceList[0].Name + ", or add one that is ready"
}

// portWords returns, as text, the name and protocol that a port of an EndpointSlice must have to belong to the given
// port of a Service.
func portWords(port corev1.ServicePort) string {
	words := "without a name"
	if port.Name != "" {
		words = fmt.Sprintf("named %q", port.Name)
	}
	if port.Protocol == corev1.ProtocolUDP {
		words += " of protocol UDP"
	}
	return words
}

// hasPort reports whether an EndpointSlice has a port with the given name, which may be "". The protocol of the port
// must be UDP if udp is true, and TCP if it is false.
func hasPort(slice *discoveryv1.EndpointSlice, name string, udp bool) bool {
	return slices.ContainsFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool {
		return p.Port != nil && zero(p.Name) == name && carries(zero(p.Protocol), udp)
	})
}

// unanswered returns, as text, what happens to traffic to a backend without endpoints.
func unanswered(key Key) string {
	switch {
	case key.UDP:
		return "Envoy drops datagrams to it"
	case key.Raw:
		return "Envoy closes connections to it"
	}
	return "Envoy answers 503 (and closes TCP connections)"
}
