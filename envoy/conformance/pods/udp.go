package pods

import (
	"encoding/json"

	"sigs.k8s.io/gateway-api/conformance/echo-basic/udpechoserver"
)

// serveUDP replaces the image echo-basic in a pod that sets the variable UDP_ECHO_SERVER. It answers each datagram
// with a JSON object. The object has the text of the datagram, and the names of the pod, its namespace, its Service
// and its Ingress.
func serveUDP(c *container) error {
	bound, err := c.listenPacket(c.variable("UDP_PORT", "8080"))
	if err != nil {
		return err
	}
	about := udpechoserver.Context{
		Namespace: c.env["NAMESPACE"],
		Ingress:   c.env["INGRESS_NAME"],
		Service:   c.env["SERVICE_NAME"],
		Pod:       c.env["POD_NAME"],
	}
	c.serve(func() error {
		datagram := make([]byte, 1<<16)
		for {
			n, client, err := bound.ReadFrom(datagram)
			if err != nil {
				return err
			}
			c.log.printf("Echoing back datagram of %d bytes to client (%s)", n, client)
			body, err := json.Marshal(udpechoserver.EchoResponse{Request: string(datagram[:n]), Context: about})
			if err != nil {
				return err
			}
			if _, err := bound.WriteTo(body, client); err != nil {
				c.log.printf("answer to %s: %v", client, err)
			}
		}
	})
	return nil
}
