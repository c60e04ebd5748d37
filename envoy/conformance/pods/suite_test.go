package pods

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/gateway-api/conformance"
	"sigs.k8s.io/yaml"
)

// manifests gives the Deployments and Services that the suite's gateway tests
// create: those of all its YAML but the mesh's.
func manifests(t *testing.T) (deployments []*appsv1.Deployment, services []*corev1.Service) {
	t.Helper()
	paths, err := fs.Glob(conformance.Manifests, "tests/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(paths, "base/manifests.yaml") {
		content, err := fs.ReadFile(conformance.Manifests, path)
		if err != nil {
			t.Fatal(err)
		}
		documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
		for {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			switch kindOf(t, document) {
			case "Deployment":
				deployments = append(deployments, decode(t, document, new(appsv1.Deployment)))
			case "Service":
				services = append(services, decode(t, document, new(corev1.Service)))
			}
		}
	}
	return deployments, services
}

func kindOf(t *testing.T, document []byte) string {
	return decode(t, document, &struct{ Kind string }{}).Kind
}

func decode[T any](t *testing.T, document []byte, into T) T {
	t.Helper()
	if err := yaml.Unmarshal(document, into); err != nil {
		t.Fatalf("%v in\n%s", err, document)
	}
	return into
}

// Every Deployment of the suite runs, all at once, and each port of each Service
// that selects pods leads to something that answers.
func TestTheSuitesServicesAnswer(t *testing.T) {
	t.Parallel()
	deployments, services := manifests(t)
	if len(deployments) < 30 || len(services) < 50 {
		t.Fatalf("%d Deployments and %d Services found", len(deployments), len(services))
	}
	w, out := newWorld(t, Sources{})
	for _, s := range services {
		w.Service(s)
	}
	for _, d := range deployments {
		if err := w.Deploy(d); errors.Is(err, os.ErrPermission) {
			t.Skip(err) // port 53
		} else if err != nil {
			t.Fatal(err)
		}
	}
	tried := 0
	for _, slice := range out.list {
		service := slice.Labels[discoveryv1.LabelServiceName]
		// The status of this one's policy is tested, and nothing is sent.
		if len(slice.Endpoints) == 0 && service != "observed-generation-bump-test" {
			t.Errorf("Service %s has no endpoint", service)
		}
		for _, port := range slice.Ports {
			for _, e := range slice.Endpoints {
				answers(t, service, &net.UDPAddr{IP: net.ParseIP(e.Addresses[0]), Port: int(*port.Port)}, *port.Protocol)
				tried++
			}
		}
	}
	if tried < len(services) {
		t.Errorf("%d endpoints tried, of %d Services", tried, len(services))
	}
}

func answers(t *testing.T, service string, address *net.UDPAddr, protocol corev1.Protocol) {
	t.Helper()
	if protocol == corev1.ProtocolUDP {
		query, err := new(dns.Msg).SetQuestion("foo.bar.com.", dns.TypeA).Pack()
		if err != nil {
			t.Fatal(err)
		}
		exchange(t, address.String(), query)
		return
	}
	to, err := net.DialTimeout(strings.ToLower(string(protocol)), address.String(), time.Minute)
	if err != nil {
		t.Errorf("Service %s: %v", service, err)
		return
	}
	to.Close()
}
