package server_test

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy"
	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
)

// gatewaysAt is a folder of Gateways with one listener each: "eg http 3,4" binds 127.9.200.3 and
// 127.9.200.4, and "all" is 0.0.0.0. A request is redirected to the Gateway's name; a TCP listener
// leads to a backend of that name.
func gatewaysAt(port int, gateways ...string) cases.Step {
	files := map[string]string{}
	for i, words := range gateways {
		fields := strings.Fields(words)
		var addresses []string
		for _, last := range strings.Split(fields[2], ",") {
			if last == "all" {
				addresses = append(addresses, "{value: 0.0.0.0}")
			} else {
				addresses = append(addresses, "{value: 127.9.200."+last+"}")
			}
		}
		text := fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: %s}\nspec:\n  gatewayClassName: gatefold\n  addresses: [%s]\n"+
			"  listeners: [{name: l, port: %d, protocol: %s}]\n---\n", fields[0], strings.Join(addresses, ", "), port, strings.ToUpper(fields[1]))
		const route = "apiVersion: gateway.networking.k8s.io/v1\nkind: %sRoute\nmetadata: {name: %[2]s}\nspec:\n  parentRefs: [{name: %[2]s}]\n  rules:\n"
		switch fields[1] {
		case "http":
			text += fmt.Sprintf(route+"  - filters: [{type: RequestRedirect, requestRedirect: {hostname: %[2]s}}]\n", "HTTP", fields[0])
		case "tcp":
			text += fmt.Sprintf(route+"  - backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: %[2]s}]\n---\n"+
				"apiVersion: gateway.kgateway.dev/v1alpha1\nkind: Backend\nmetadata: {name: %[2]s}\nspec: {type: Static, static: {hosts: [{host: 127.9.1.%[3]d, port: 80}]}}\n", "TCP", fields[0], i+1)
		}
		files[fields[0]+".yaml"] = text
	}
	return cases.Step{Files: files}
}

// leads waits until each address is answered by its Gateway; "" is nobody.
func (run *caseRun) leads(port int, gateways map[string]string) {
	run.t.Helper()
	for _, last := range slices.Sorted(maps.Keys(gateways)) {
		want, address := gateways[last], fmt.Sprintf("%s200.%s:%d", run.network, last, port)
		envoytest.Wait(run.t, fmt.Sprintf("address %s to be %q's", last, want), func() error {
			response, err := envoytest.Try(envoytest.Request{Address: address, Host: "x.example", Path: "/"})
			switch {
			case err != nil && want == "":
				return nil
			case err != nil:
				return err
			case response.Backend != want && !strings.Contains(response.Headers.Get("Location"), fmt.Sprintf("://%s:%d/", want, port)):
				return fmt.Errorf("status %d, backend %q, %s", response.Status, response.Backend, response.Headers.Get("Location"))
			}
			return nil
		})
	}
}

// clean waits until Envoy holds all of the folder and rejects nothing of it.
func (run *caseRun) clean() {
	run.t.Helper()
	run.until("Envoy to accept the folder", func() bool {
		streams := run.audience("default/eg")
		return len(streams) == 1 && streams[0].settled() && len(streams[0].rejected()) == 0
	})
}

// Addresses move between the listeners of an Envoy in one edit: the new state serves, without a restart
// and without an edit more. No time of waiting can end here by itself: a bind that failed is tried again
// after an hour.
func TestAddressesMoveBetweenListeners(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	for _, move := range []struct {
		name          string
		before, after []string
		leads         map[string]string
	}{
		{"a swap", []string{"eg http 3", "two http 4"}, []string{"eg http 4", "two http 3"}, map[string]string{"3": "two", "4": "eg"}},
		{"a circle of three", []string{"eg http 3", "two http 4", "three http 5"}, []string{"eg http 4", "two http 5", "three http 3"}, map[string]string{"3": "three", "4": "eg", "5": "two"}},
		{"a chain", []string{"eg http 3", "two http 4"}, []string{"eg http 4", "two http 5"}, map[string]string{"3": "", "4": "eg", "5": "two"}},
		{"a part of two lists", []string{"eg http 3,4", "two http 5,6"}, []string{"eg http 3,6", "two http 4,5"}, map[string]string{"3": "eg", "4": "two", "5": "two", "6": "eg"}},
		{"from a Gateway that is gone", []string{"eg http 3", "two http 4"}, []string{"eg http 4"}, map[string]string{"3": "", "4": "eg"}},
		{"another protocol", []string{"eg http 3"}, []string{"eg tcp 3"}, map[string]string{"3": "eg"}},
		{"a swap with another protocol", []string{"eg http 3", "two tcp 4"}, []string{"eg tcp 4", "two http 3"}, map[string]string{"3": "two", "4": "eg"}},
		{"from TCP to UDP", []string{"eg tcp 3", "two http 4"}, []string{"eg udp 3", "two http 4"}, map[string]string{"3": "", "4": "two"}},
		{"UDP beside TCP", []string{"eg udp 3", "two http 4"}, []string{"eg udp 4", "two http 3"}, map[string]string{"3": "two", "4": ""}},
		{"all addresses in place of one", []string{"eg http 3"}, []string{"eg http all"}, map[string]string{"3": "eg", "4": "eg"}},
		{"one address in place of all", []string{"eg http all"}, []string{"eg http 3"}, map[string]string{"3": "eg", "4": ""}},
		{"some addresses in place of all", []string{"eg http all"}, []string{"eg http 3", "two http 4"}, map[string]string{"3": "eg", "4": "two"}},
		{"one address more", []string{"eg http 3"}, []string{"eg http 3,4"}, map[string]string{"3": "eg", "4": "eg"}},
	} {
		for _, exclusive := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, exclusive %t", move.name, exclusive), func(t *testing.T) {
				run := startMoves(t, exclusive)
				port := envoytest.FreePort(t)
				run.apply(gatewaysAt(port, move.before...))
				run.apply(gatewaysAt(port, move.after...))
				run.clean()
				run.leads(port, move.leads)
			})
		}
	}
}

// startMoves is startCase where nothing is tried again after a while.
func startMoves(t *testing.T, exclusive bool) *caseRun {
	t.Helper()
	return startCaseOf(t, &cases.Case{Options: translate.Options{ExclusivePorts: exclusive}}, server.Options{BindRetry: time.Hour, Folder: askedFolder{}},
		func(xds string) envoytest.Options { return envoytest.Options{XDSAddress: xds} })
}

// The same for an Envoy that speaks the state-of-the-world protocol.
func TestAddressesMoveInTheStateOfTheWorld(t *testing.T) {
	run := startCaseOf(t, &cases.Case{}, server.Options{BindRetry: time.Hour}, func(xds string) envoytest.Options {
		config, err := envoy.Bootstrap(envoy.Options{XDSAddress: xds, AdminAddress: "127.0.0.1:0", NodeID: "world", NodeCluster: "test"})
		if err != nil {
			t.Fatal(err)
		}
		return envoytest.Options{Config: []byte(strings.ReplaceAll(string(config), "DELTA_GRPC", "GRPC"))}
	})
	port := envoytest.FreePort(t)
	run.apply(gatewaysAt(port, "eg http 3", "two http 4", "three http 5"))
	run.apply(gatewaysAt(port, "eg http 4", "two http 5", "three http 3"))
	run.clean()
	run.leads(port, map[string]string{"3": "three", "4": "eg", "5": "two"})
}

// Addresses that were swapped while gatefold was away: what an Envoy binds that comes back is not known.
func TestAddressesMoveWhileGatefoldIsAway(t *testing.T) {
	run, port := startMoves(t, false), envoytest.FreePort(t)
	run.apply(gatewaysAt(port, "eg http 3", "two http 4", "three http 5"))
	run.leads(port, map[string]string{"3": "eg", "4": "two", "5": "three"})
	run.restart(server.Options{BindRetry: time.Hour})
	run.apply(gatewaysAt(port, "eg http 4", "two http 5", "three http 3"))
	run.clean()
	run.leads(port, map[string]string{"3": "three", "4": "eg", "5": "two"})
}

// A listener in its own way comes back with its older form if another program has an address of the new
// one. The status says so, and `gatefold reload` tries again.
func TestAListenerThatMadeWayInVainComesBack(t *testing.T) {
	run, port := startMoves(t, true), envoytest.FreePort(t)
	run.apply(gatewaysAt(port, "eg http 3"))
	run.leads(port, map[string]string{"3": "eg"})
	other, err := net.Listen("tcp", fmt.Sprintf("%s200.4:%d", run.network, port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	run.apply(gatewaysAt(port, "eg http 3,4"))
	run.until("the listener to be rejected", func() bool { return run.one("default/eg", func(st seen) bool { return len(st.rejected()) == 1 }) })
	run.leads(port, map[string]string{"3": "eg"})
	want := fmt.Sprintf("cannot bind %s: Address already in use; its older form is served); free it and run `gatefold reload`, or change spec.listeners[0].port", other.Addr())
	envoytest.Wait(t, "the status", func() error {
		if c := run.programmedOf("default/eg", "l"); !strings.Contains(c.Message, want) {
			return fmt.Errorf("%+v", c)
		}
		return nil
	})
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	(&folded{running: run.running}).reload()
	run.clean()
	run.leads(port, map[string]string{"3": "eg", "4": "eg"})
}
