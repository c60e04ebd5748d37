package cli

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// addDatagrams gives the Gateway a UDP listener on the port of its HTTP listener, with a route.
func (m *machine) addDatagrams() {
	m.t.Helper()
	host, port, _ := strings.Cut(m.address, ":")
	backend := fmt.Sprintf("%s:%d", envoytest.LoopbackAddress(), envoytest.FreePort(m.t))
	envoytest.EchoUDP(m.t, "udp", backend)
	backendHost, backendPort, _ := strings.Cut(backend, ":")
	m.write("gateway.yaml", fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  addresses: [{value: %s}]
  listeners:
  - {name: http, port: %s, protocol: HTTP}
  - {name: udp, port: %[2]s, protocol: UDP}
---
apiVersion: gateway.networking.k8s.io/v1
kind: UDPRoute
metadata: {name: udp}
spec: {parentRefs: [{name: eg}], rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: udp}]}]}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: udp}
spec: {type: Static, static: {hosts: [{host: %s, port: %s}]}}
`, host, port, backendHost, backendPort))
}

// answersDatagrams waits until a datagram of a new session is answered.
func (m *machine) answersDatagrams() {
	m.t.Helper()
	envoytest.Wait(m.t, "an answer to a datagram", func() error {
		if answers := envoytest.Sessions(m.t, m.address, 1, time.Second); answers["udp"] != 1 {
			return fmt.Errorf("answers: %v", answers)
		}
		return nil
	})
}

// UDP routes are served while an Envoy of today is replaced by another one. One before 1.40 does not pass
// datagrams on: the log says so, and they are served when it has ended.
func TestHostModeUpgradesUDP(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	const silent = "UDP routes of the Gateway are not served until the former one ends"
	const today = "1.40.0" // also where the tests run on an older one
	for before, test := range map[string]struct {
		drain  string
		silent bool
	}{
		today:    {drain: forever},
		"1.39.3": {drain: "5s", silent: true},
	} {
		t.Run("from "+before, func(t *testing.T) {
			m := newMachine(t, "one")
			m.binary = envoytest.BinaryOf(t, before)
			m.addDatagrams()
			m.start("--envoy-keep", "--envoy-drain", test.drain)
			m.waitFor("one", "a")
			m.answersDatagrams()
			old := m.pid()
			m.stop(syscall.SIGTERM)
			m.binary = another(t, envoytest.BinaryOf(t, today))
			m.start("--envoy-keep", "--envoy-drain", test.drain)
			m.logs("the new epoch of Envoy serves")
			if !test.silent {
				m.shows("default/eg", "the former epoch, pid "+strconv.Itoa(old))
			}
			m.answersDatagrams()
			if said := strings.Contains(m.log.String(), silent); said != test.silent {
				t.Errorf("the log says that datagrams are lost: %t", said)
			}
			if !test.silent {
				m.destroy()
			}
		})
	}
}
