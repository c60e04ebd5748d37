package tenancy

import (
	"net/netip"
	"strings"
	"testing"
)

func TestBackends(t *testing.T) {
	for text, want := range map[string]string{
		"10.3.0.0/16:8000-8999, [fd00::/8]:443, *.Svc.example:8080": "10.3.0.0/16:8000-8999, [fd00::/8]:443, *.svc.example:8080",
		"10.0.0.1 fd00::1\nfd00::/8,db.example":                     "10.0.0.1, fd00::1, fd00::/8, db.example",
		"[fd00::1]:80 [fd00::1] 10.0.0.1:80-81":                     "[fd00::1]:80, fd00::1, 10.0.0.1:80-81", "localhost:3000": "localhost:3000", "my_app:80 *._tcp.a_b": "my_app:80, *._tcp.a_b", "0.0.0.0/0, ::/0": "0.0.0.0/0, ::/0",
	} {
		got, err := ParseBackends(text)
		if err != nil || got.String() != want {
			t.Errorf("%q: %s, %v", text, got, err)
		}
		if again, err := ParseBackends(got.String()); err != nil || again.String() != want {
			t.Errorf("%q: %s, %v", got, again, err)
		}
	}
}

func TestBackendsThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"": "the value is empty", " ,": "the value is empty", "*": "is no network", "*:80": "is no network", "10.0.0.1/8": "write 10.0.0.0/8", "10.0.0.0/33": "is not a network",
		"10.0.0.0/8:": "no port behind", "10.0.0.0/8:0": "is not a port", "10.0.0.0/8:90-80": "write 80-90", "10.0.0.0/8:x": "is not a port", "10.0.0.0/8:80-": "is not a port",
		"010.0.0.1": "is no network", "127.1": "is no network", "2130706433": "is no network", "10.0.0.256": "is no network", "[10.0.0.1]:80": "brackets are for IPv6",
		"[fd00::1]80": "brackets are for IPv6", "[fd00::1": "brackets are for IPv6", "[fd00::1]:": "brackets are for IPv6", "fd00::/8:443": "is not a network", "::ffff:10.0.0.1": "an IPv4 address as such",
		"::ffff:10.0.0.0/104": "is not a network", "fe80::1%eth0": "without a zone", "a_-": "is no network", "unix:/run/x": "is not a port", "/run/x": "is not a network", "http://x": "is not a port", "a.*.b": "is no network",
		"db.example.": "is no network", "10.0.0.0/8:80:81": "is not a network", strings.Repeat("a ", 257): "more than 256",
	} {
		if got, err := ParseBackends(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %s, %v, want %q", text, got, err, want)
		}
	}
}

func TestBackendsHas(t *testing.T) {
	b, err := ParseBackends("10.3.0.0/16:8000-8999, [fd00::/8]:443, *.svc.example:8080, db.example, 127.0.0.1:3000")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name      string
		addresses string
		port      uint32
		want      bool
	}{
		{"", "10.3.0.1", 8000, true}, {"", "10.3.255.255", 8999, true}, {"", "10.3.0.1", 7999, false}, {"", "10.3.0.1", 9000, false}, {"", "10.4.0.1", 8000, false},
		{"", "fd00::1", 443, true}, {"", "fd00::1", 80, false}, {"", "fe00::1", 443, false}, {"a.svc.example", "", 8080, true}, {"a.b.svc.example", "", 8080, true},
		{"svc.example", "", 8080, false}, {"asvc.example", "", 8080, false}, {"a.svc.example", "", 80, false}, {"db.example", "", 1, true}, {"xdb.example", "", 1, false},
		{"box", "10.3.0.1 10.3.0.2", 8000, true}, {"box", "10.3.0.1 10.4.0.2", 8000, false}, {"db.example", "10.4.0.2", 8000, true}, {"", "", 8000, false}, {"box", "", 8000, false},
		{"/run/x.sock", "", 0, false},
	} {
		var addresses []netip.Addr
		for text := range strings.FieldsSeq(test.addresses) {
			addresses = append(addresses, netip.MustParseAddr(text))
		}
		if got := b.Has(test.name, addresses, test.port); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}
