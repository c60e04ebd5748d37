// Package pods is what a cluster's kubelet, scheduler and EndpointSlice
// controller are to the Gateway API conformance suite: it runs the backends of
// the suite's Deployments, each pod on a loopback address of its own
// (127.0.2.N), and keeps EndpointSlices for the suite's Services.
//
// There are no images. A program of this package stands in for each of them:
//
//	echo-basic                       HTTP on 3000, h2c on 3001, HTTPS on 8443    http.go
//	echo-basic, GRPC_ECHO_SERVER     gRPC on 3000, with TLS on 8443              grpc.go
//	echo-basic, TCP_ECHO_SERVER      lines on 3000, with TLS on 8443             tcp.go
//	echo-basic, UDP_ECHO_SERVER      datagrams on 8080                           udp.go
//	coredns                          DNS on 53                                   dns.go
//
// A program sees its container (container.go): address, environment, mounted
// files, log. Whatever it opens through that container closes with the pod.
// Binding 127.0.2.N works on Linux without further ado, port 53 takes root or
// CAP_NET_BIND_SERVICE.
package pods
