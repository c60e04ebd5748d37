// Package pods replaces the kubelet, the scheduler and the EndpointSlice controller of a cluster for the
// Gateway API conformance suite. It runs the backends of the suite's Deployments, with a loopback address
// (127.0.2.N) for each pod. It also maintains EndpointSlices for the suite's Services.
//
// No images are run. A program of this package replaces each image:
//
//	echo-basic                       HTTP on 3000, h2c on 3001, HTTPS on 8443    http.go
//	echo-basic, GRPC_ECHO_SERVER     gRPC on 3000, with TLS on 8443              grpc.go
//	echo-basic, TCP_ECHO_SERVER      lines on 3000, with TLS on 8443             tcp.go
//	echo-basic, UDP_ECHO_SERVER      datagrams on 8080                           udp.go
//	coredns                          DNS on 53                                   dns.go
//
// A program gets its address, environment, mounted files and log from its container (container.go). Everything
// that it opens through the container is closed with the pod. Linux allows listening on 127.0.2.N without
// configuration. Port 53 requires root or CAP_NET_BIND_SERVICE.
package pods
