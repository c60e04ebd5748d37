package server_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/examples/echo/handler"
	"github.com/gatefold/gatefold/translate/cases"
)

// streamFolder serves connections by their names, and datagrams. one and three are
// the backends of the routes a and c.
func streamFolder(one, three string) cases.Step {
	const routes = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  listeners:
  - {name: tls, port: 8443, protocol: TLS, tls: {mode: Passthrough}}
  - {name: udp, port: 8443, protocol: UDP}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TLSRoute
metadata: {name: a}
spec: {parentRefs: [{name: eg}], hostnames: [a.example.com], rules: [{backendRefs: [ONE]}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TLSRoute
metadata: {name: b}
spec: {parentRefs: [{name: eg}], hostnames: [b.example.com], rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: two}]}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: UDPRoute
metadata: {name: c}
spec: {parentRefs: [{name: eg}], rules: [{backendRefs: [THREE]}]}
`
	files := map[string]string{"routes.yaml": strings.NewReplacer("ONE", one, "THREE", three).Replace(routes)}
	for i, name := range []string{"one", "two", "other"} {
		files[name+".yaml"] = fmt.Sprintf("apiVersion: gateway.kgateway.dev/v1alpha1\nkind: Backend\nmetadata: {name: %s}\nspec: {type: Static, static: {hosts: [{host: 127.9.0.%d, port: 443}]}}\n", name, i+1)
		files[name+"-udp.yaml"] = fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: %[1]s}\nspec: {ports: [{port: 53, protocol: UDP}]}\n---\n"+
			"apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: %[1]s, labels: {kubernetes.io/service-name: %[1]s}}\naddressType: IPv4\n"+
			"ports: [{port: 53, protocol: UDP}]\nendpoints: [{addresses: [127.9.1.%[2]d]}]\n", name, i+1)
	}
	return cases.Step{Files: files}
}

// An edit of a route of streams touches its own connections alone, which Envoy closes
// when its time to drain ends: those of another route of the listener go on, and so does a session of datagrams while its route gets
// another backend.
func TestAnEditOfAStreamLeavesOthersAlone(t *testing.T) {
	backends := map[string]cases.TLSBackend{}
	for i := range 3 {
		backends[fmt.Sprintf("127.9.0.%d:443", i+1)] = cases.TLSBackend{Authority: "one", Names: []string{"x.example"}}
	}
	run := startCase(t, &cases.Case{TLS: backends}, "--drain-time-s", "1")
	const toOne, toOther = "{group: gateway.kgateway.dev, kind: Backend, name: one}", "{group: gateway.kgateway.dev, kind: Backend, name: other}"
	run.apply(streamFolder(toOne, "{name: one, port: 53}"))
	at := run.address + ":8443"
	a, b, c := run.open(at, "a.example.com"), run.open(at, "b.example.com"), dialUDP(t, at)
	run.leadTo(a, "one")
	run.leadTo(b, "two")
	envoytest.Wait(t, "an answer of one", c.answers("one"))
	run.apply(streamFolder(toOther, "{name: one, port: 53, weight: 1}, {name: other, port: 53, weight: 99}"))
	envoytest.Wait(t, "new connections to reach other", func() error {
		answer, err := envoytest.Try(envoytest.Request{Address: at, TLS: &envoytest.TLS{ServerName: "a.example.com"}})
		if err == nil && answer.Backend != "other" {
			err = fmt.Errorf("%s answers", answer.Backend)
		}
		return err
	})
	envoytest.Wait(t, "new sessions to reach other", func() error {
		if seen := envoytest.Sessions(t, at, 50, requestLimit); seen["other"] == 0 {
			return fmt.Errorf("answers: %v", seen)
		}
		return nil
	})
	if _, err := a.reader.ReadByte(); err == nil { // it is of the chain that changed, and drained
		t.Error("a sends something by itself")
	}
	run.leadTo(b, "two")
	if err := c.answers("one")(); err != nil {
		t.Error(err)
	}
}

// An edit of the hostnames of a route closes the connections of those that it takes away, and no others.
func TestAnEditOfHostnamesLeavesTheOthersAlone(t *testing.T) {
	run := startCase(t, &cases.Case{TLS: map[string]cases.TLSBackend{"127.9.0.1:443": {Authority: "one", Names: []string{"x.example"}}, "127.9.0.2:443": {Authority: "one", Names: []string{"x.example"}}}}, "--drain-time-s", "1")
	folder := func(hostnames string) cases.Step {
		step := streamFolder("{group: gateway.kgateway.dev, kind: Backend, name: one}", "{name: one, port: 53}")
		step.Files["routes.yaml"] = strings.Replace(step.Files["routes.yaml"], "hostnames: [a.example.com]", "hostnames: ["+hostnames+"]", 1)
		return step
	}
	run.apply(folder("a.example.com, gone.example.com"))
	at := run.address + ":8443"
	a, gone := run.open(at, "a.example.com"), run.open(at, "gone.example.com")
	run.leadTo(a, "one")
	run.leadTo(gone, "one")
	run.apply(folder("a.example.com, new.example.com"))
	if _, err := gone.reader.ReadByte(); err == nil {
		t.Error("gone sends something by itself")
	}
	run.leadTo(a, "one")
	run.leadTo(run.open(at, "new.example.com"), "one")
}

// An edit of an acl of streams closes the connections of its route alone, when Envoy's time to drain
// ends: also those of clients that may no longer come.
func TestAnEditOfAStreamsACLLeavesOthersAlone(t *testing.T) {
	backends := map[string]cases.TLSBackend{}
	for i := range 2 {
		backends[fmt.Sprintf("127.9.0.%d:443", i+1)] = cases.TLSBackend{Authority: "one", Names: []string{"x.example"}}
	}
	run := startCase(t, &cases.Case{TLS: backends}, "--drain-time-s", "1")
	folder := func(acl string) cases.Step {
		step := streamFolder("{group: gateway.kgateway.dev, kind: Backend, name: one}", "{name: one, port: 53}")
		step.Files["acl.yaml"] = "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata: {name: acl}\n" +
			"spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: TLSRoute, name: a}], acl: " + acl + "}\n"
		return step
	}
	run.apply(folder("{defaultAction: deny, rules: [{cidrs: [127.0.0.0/8], action: allow}]}"))
	at := run.address + ":8443"
	a, b := run.open(at, "a.example.com"), run.open(at, "b.example.com")
	run.leadTo(a, "one")
	run.leadTo(b, "two")
	run.apply(folder("{defaultAction: deny, rules: [{cidrs: [127.0.0.9], action: allow}]}"))
	envoytest.Wait(t, "new connections to be denied", func() error {
		if answer, err := envoytest.Try(envoytest.Request{Address: at, TLS: &envoytest.TLS{ServerName: "a.example.com"}}); err == nil {
			return fmt.Errorf("%s answers", answer.Backend)
		}
		return nil
	})
	if _, err := a.reader.ReadByte(); err == nil {
		t.Error("a sends something by itself")
	}
	run.leadTo(b, "two")
}

// An edit of an acl reaches open connections only when Envoy's time to drain is over: until then, a client that may no longer come is
// served on them, for TCPRoute and TLSRoute alike. It ends the sessions of a UDPRoute at once.
func TestWhatAnEditOfAnACLDoesToWhatIsOpen(t *testing.T) {
	backends := map[string]cases.TLSBackend{}
	for i := range 2 {
		backends[fmt.Sprintf("127.9.0.%d:443", i+1)] = cases.TLSBackend{Authority: "one", Names: []string{"x.example"}}
	}
	run := startCase(t, &cases.Case{TLS: backends}, "--drain-time-s", "1000")
	folder := func(acl string) cases.Step {
		step := streamFolder("{group: gateway.kgateway.dev, kind: Backend, name: one}", "{name: one, port: 53}")
		step.Files["routes.yaml"] = strings.Replace(step.Files["routes.yaml"], "  - {name: udp,", "  - {name: tcp, port: 9443, protocol: TCP}\n  - {name: udp,", 1) + `---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: d}
spec: {parentRefs: [{name: eg, sectionName: tcp}], rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: two}]}]}
`
		step.Files["acl.yaml"] = "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata: {name: acl}\nspec: {targetRefs: [" +
			"{group: gateway.networking.k8s.io, kind: TLSRoute, name: a}, {group: gateway.networking.k8s.io, kind: UDPRoute, name: c}, {group: gateway.networking.k8s.io, kind: TCPRoute, name: d}], acl: " + acl + "}\n"
		return step
	}
	run.apply(folder("{defaultAction: deny, rules: [{cidrs: [127.0.0.0/8], action: allow}]}"))
	tlsAt, tcpAt := run.address+":8443", run.address+":9443"
	a, d, c := run.open(tlsAt, "a.example.com"), run.open(tcpAt, "x.example"), dialUDP(t, tlsAt)
	run.leadTo(a, "one")
	run.leadTo(d, "two")
	envoytest.Wait(t, "an answer of one", c.answers("one"))

	run.apply(folder("{defaultAction: deny, rules: [{cidrs: [127.0.0.9], action: allow}]}"))
	for at, name := range map[string]string{tlsAt: "a.example.com", tcpAt: "x.example"} {
		envoytest.Wait(t, "new connections to be denied", func() error {
			if answer, err := envoytest.Try(envoytest.Request{Address: at, TLS: &envoytest.TLS{ServerName: name}}); err == nil {
				return fmt.Errorf("%s answers", answer.Backend)
			}
			return nil
		})
	}
	envoytest.Wait(t, "the session of datagrams to end", func() error {
		if c.answers("one")() == nil {
			return errors.New("it is answered")
		}
		return nil
	})
	run.leadTo(a, "one")
	run.leadTo(d, "two")
}

// kept is a connection that stays open.
type kept struct {
	net.Conn
	reader *bufio.Reader
}

// open opens a connection for a name, with HTTP/1.1.
func (run *caseRun) open(address, name string) *kept {
	run.t.Helper()
	return run.openTLS(address, name, "http/1.1")
}

// openTLS opens a connection for a name, with this protocol.
func (run *caseRun) openTLS(address, name, protocol string) *kept {
	run.t.Helper()
	run.envoy.WaitListener(address)
	var c *tls.Conn
	envoytest.Wait(run.t, "a handshake for "+name, func() (err error) {
		c, err = tls.Dial("tcp", address, &tls.Config{ServerName: name, InsecureSkipVerify: true, NextProtos: []string{protocol}})
		return err
	})
	run.t.Cleanup(func() { _ = c.Close() })
	return &kept{c, bufio.NewReader(c)}
}

// leadTo sends a request on the connection, which a backend has to answer.
func (run *caseRun) leadTo(c *kept, name string) {
	run.t.Helper()
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		run.t.Fatal(err)
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		run.t.Fatalf("the connection to %s: %v", name, err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	if got := response.Header.Get(handler.BackendHeader); got != name {
		run.t.Errorf("%s answers, not %s", got, name)
	}
}

// datagrams is a socket that sends datagrams.
type datagrams struct{ net.Conn }

func dialUDP(t *testing.T, address string) datagrams {
	t.Helper()
	c, err := net.Dial("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return datagrams{c}
}

// requestLimit bounds the wait for a datagram.
const requestLimit = 5 * time.Second

// answers asks the socket's backend for its name.
func (s datagrams) answers(want string) func() error {
	return func() error {
		_, _ = io.WriteString(s, "hello") // nobody may be there yet
		_ = s.SetReadDeadline(time.Now().Add(requestLimit))
		buffer := make([]byte, 100)
		n, err := s.Read(buffer)
		if err == nil && string(buffer[:n]) != want {
			err = fmt.Errorf("%s answers, not %s", buffer[:n], want)
		}
		return err
	}
}
