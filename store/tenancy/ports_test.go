package tenancy

import (
	"strings"
	"testing"
)

func TestPorts(t *testing.T) {
	for text, want := range map[string]string{
		"8443": "8443", "8443, 9000-9100": "8443, 9000-9100", " 80\n443,,1-1 ": "80, 443, 1", "1-65535": "1-65535",
		"9000-9100 9050-9200": "9000-9100, 9050-9200", "080": "80",
	} {
		ports, err := ParsePorts(text)
		if err != nil || ports.String() != want {
			t.Errorf("%q: %s, %v", text, ports, err)
		}
	}
	ports, _ := ParsePorts("8443, 9000-9100")
	for port, has := range map[int32]bool{8443: true, 9000: true, 9050: true, 9100: true, 8442: false, 8999: false, 9101: false, 0: false} {
		if ports.Has(port) != has {
			t.Errorf("%d: %v", port, !has)
		}
	}
	if (Ports)(nil).Has(80) {
		t.Error("no ports have one")
	}
}

func TestPortsThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"": "the value is empty", " ,": "the value is empty",
		"0": "is not a port", "70000": "is not a port", "65536": "is not a port", "-1": "is not a port", "+80": "is not a port",
		"http": "is not a port", "80-": "is not a port", "-": "is not a port", "9000 - 9100": "is not a port", "1-2-3": "is not a port", "0-80": "is not a port",
		"8O80": "is not a port", "０８０": "is not a port", "0x50": "is not a port", "8_0": "is not a port", "80;81": "is not a port", "*": "is not a port", "80/udp": "is not a port",
		"80.0": "is not a port", "9000–9100": "is not a port", "80, 9100-9000": "write 9000-9100",
		"99999999999999999999": "is not a port",
	} {
		if ports, err := ParsePorts(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %s, %v, want %q", text, ports, err, want)
		}
	}
}

func TestRead(t *testing.T) {
	grant, faults := Read(map[string]string{AnnotationPaths: "a/**", AnnotationPorts: "80", "example.com/x": "y"})
	if len(faults) > 0 || grant.Paths.String() != "a/**" || grant.Ports.String() != "80" {
		t.Error(grant, faults)
	}
	if grant, faults = Read(nil); len(faults) > 0 || grant.Paths != nil || grant.Ports != nil {
		t.Error(grant, faults)
	}
	if _, faults = Read(map[string]string{AnnotationPaths: "", AnnotationPorts: "0"}); len(faults) != 2 || faults[1].Annotation != AnnotationPorts {
		t.Error(faults)
	}
}
