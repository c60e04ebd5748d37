package backend

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// FromService returns the cluster of one port of a Service. The parameter sliceList has the EndpointSlices of the
// Service (docs/design/inputs.md). Discovery is DNS for an ExternalName Service, and for EndpointSlices with host
// names, which Envoy does not accept by EDS. In all other cases it is EDS. The cluster's protocol is that of
// appProtocol, even if key.GRPC is true.
func FromService(key Key, service *corev1.Service, sliceList []*discoveryv1.EndpointSlice) *ir.Cluster {
	cluster := &ir.Cluster{Name: key.Cluster(), Discovery: ir.EDS, Objects: []manifest.Key{key.Object}}
	port := servicePort(service, key)
	if port.AppProtocol != nil {
		cluster.HTTP2 = speaksHTTP2(*port.AppProtocol)
	}
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		cluster.Discovery = ir.DNS
		cluster.Endpoints = []ir.Endpoint{{Host: service.Spec.ExternalName, Port: uint32(key.Port)}}
		return cluster
	}
	for _, slice := range sliceList {
		endpoints := sliceEndpoints(slice, port.Name, key.UDP)
		if len(endpoints) == 0 {
			continue
		}
		cluster.Endpoints = append(cluster.Endpoints, endpoints...)
		cluster.Objects = append(cluster.Objects, manifest.Key{
			Group: discoveryv1.GroupName, Kind: "EndpointSlice", Namespace: slice.Namespace, Name: slice.Name,
		})
	}
	return finish(cluster)
}

// servicePort returns the port of a Service with the port number and protocol of a Key. It returns the zero value if
// the Service has no such port.
func servicePort(service *corev1.Service, key Key) corev1.ServicePort {
	for _, port := range service.Spec.Ports {
		if port.Port == key.Port && carries(port.Protocol, key.UDP) {
			return port
		}
	}
	return corev1.ServicePort{}
}

// sliceEndpoints returns the endpoints of an EndpointSlice for the Service port with the name portName. The
// protocol of the port is UDP if udp is true, and TCP if it is false. The result has ready endpoints, and endpoints
// that are terminating but still serving, which are marked as draining. Other endpoints are left out.
func sliceEndpoints(slice *discoveryv1.EndpointSlice, portName string, udp bool) []ir.Endpoint {
	var out []ir.Endpoint
	for _, port := range slice.Ports {
		if port.Port == nil || zero(port.Name) != portName || !carries(zero(port.Protocol), udp) {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			ready, draining := endpointState(endpoint.Conditions)
			if !ready && !draining {
				continue
			}
			for _, address := range endpoint.Addresses {
				out = append(out, ir.Endpoint{Host: address, Port: uint32(*port.Port), Draining: draining})
			}
		}
	}
	return out
}

// endpointState reports whether an endpoint gets requests (ready), or is terminating and still serves
// (draining). It uses the defaults of Kubernetes for missing conditions: ready is true, serving is the value of
// ready, and terminating is false.
func endpointState(c discoveryv1.EndpointConditions) (ready, draining bool) {
	ready = c.Ready == nil || *c.Ready
	serving := c.Serving == nil && ready || c.Serving != nil && *c.Serving
	terminating := c.Terminating != nil && *c.Terminating
	return ready && !terminating, serving && terminating
}

// carries reports whether the protocol of a port (the parameter p) is UDP if udp is true, or TCP if udp is false. ""
// counts as TCP. The check is needed because a Service may have the same port number for both protocols.
func carries(p corev1.Protocol, udp bool) bool {
	if udp {
		return p == corev1.ProtocolUDP
	}
	return p == "" || p == corev1.ProtocolTCP
}

// speaksHTTP2 reports whether an appProtocol means HTTP/2 (Kubernetes KEP-3726, and gRPC, which needs HTTP/2).
func speaksHTTP2(protocol string) bool {
	return slices.Contains([]string{"kubernetes.io/h2c", "http2", "h2c", "grpc"}, protocol)
}

// speaksWebSocket reports whether an appProtocol means WebSockets, which need HTTP/1.1.
func speaksWebSocket(protocol string) bool {
	return protocol == "kubernetes.io/ws" || protocol == "kubernetes.io/wss"
}

// finish sorts the endpoints of a cluster, removes duplicates, and returns the cluster. It sets Discovery to
// DNS if an endpoint is a host name.
func finish(cluster *ir.Cluster) *ir.Cluster {
	cluster.Endpoints = unique(cluster.Endpoints)
	for _, endpoint := range cluster.Endpoints {
		if _, err := netip.ParseAddr(endpoint.Host); err != nil {
			cluster.Discovery = ir.DNS
		}
	}
	return cluster
}

// unique sorts endpoints, and keeps one endpoint of those with equal address and port. It prefers endpoints
// that are not draining.
func unique(endpoints []ir.Endpoint) []ir.Endpoint {
	slices.SortFunc(endpoints, func(a, b ir.Endpoint) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port), ir.TrueFirst(!a.Draining, !b.Draining))
	})
	return slices.CompactFunc(endpoints, func(a, b ir.Endpoint) bool { return a.Host == b.Host && a.Port == b.Port })
}
