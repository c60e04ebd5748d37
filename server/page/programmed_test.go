package page_test

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// A port that is not programmed is marked in the tree, and in explain, with the reason that the status has: no Envoy is connected, or
// another program has the port. Nothing else is published meanwhile.
func TestAPortThatIsNotProgrammedIsMarked(t *testing.T) {
	occupied, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", envoytest.FreePort(t)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = occupied.Close() })
	port := occupied.Addr().(*net.TCPAddr).Port
	s := serve(t, map[string]string{"edge.yaml": fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: platform}
spec:
  gatewayClassName: gatefold
  addresses: [{value: 127.0.0.1}]
  listeners: [{name: http, protocol: HTTP, port: %d}]
`, port)})
	drawn := func() string { return words(s.get("/page/routes")) }
	line := fmt.Sprintf("not programmed Gateway platform/edge, port %d, listener http, not programmed: ", port)
	shows(t, drawn(), line+"Pending: No Envoy is connected for this Gateway. edge.yaml:2")

	envoytest.Start(t, envoytest.Options{XDSAddress: s.xds, NodeCluster: "platform/edge"})
	taken := fmt.Sprintf("%sPortUnavailable: port %d is in use by another program", line, port)
	s.until("the port is taken", func() bool { return strings.Contains(drawn(), taken) })
	asked := fmt.Sprintf("url=http://shop.example.com:%d/", port)
	shows(t, s.get("/api/v1/explain?"+asked), fmt.Sprintf(`"notProgrammed": "PortUnavailable: port %d is in use`, port))
	shows(t, words(s.get("/page/explain?"+asked)), fmt.Sprintf("not programmed PortUnavailable: port %d is in use", port))
	shows(t, s.get("/api/v1/tree"), fmt.Sprintf(`"why": "PortUnavailable: port %d is in use`, port))

	if err := occupied.Close(); err != nil {
		t.Fatal(err)
	}
	s.until("the port is served", func() bool { return !strings.Contains(drawn(), "not programmed") })
	if strings.Contains(s.get("/api/v1/explain?"+asked), "notProgrammed") {
		t.Error("explain says that the port is not programmed")
	}
}
