package backend

import (
	"testing"

	"github.com/gatefold/gatefold/translate/ir"
)

func guard(t *testing.T, refuse, allow []string) Guard {
	t.Helper()
	parse := func(texts []string) (out []Endpoints) {
		for _, text := range texts {
			e, err := ParseEndpoints(text)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, e)
		}
		return out
	}
	return Guard{Refuse: parse(refuse), Allow: parse(allow)}
}

func TestGuardRefuses(t *testing.T) {
	g := guard(t, []string{"127.0.0.1:19000", ":18000", "10.9.0.5:9901", "control:7000", "192.0.2.0/24"}, nil)
	g.Hosts = ReadHosts("127.0.0.1 localhost\n127.0.1.1\tbox.example Box # mine\n::1 ip6-loopback\n169.254.169.254 cloud\n10.0.0.1 both\nfe80::1%lo0 both\n10.0.0.2 near\nbroken\n")
	for _, endpoint := range []ir.Endpoint{
		{Host: "169.254.169.254", Port: 80}, {Host: "169.254.0.1", Port: 1}, {Host: "::ffff:169.254.169.254", Port: 80},
		{Host: "::ffff:a9fe:a9fe", Port: 80}, {Host: "64:ff9b::a9fe:a9fe", Port: 80}, {Host: "fd00:ec2::254", Port: 80}, {Host: "fd20:ce::254", Port: 80},
		{Host: "2852039166", Port: 80}, {Host: "0xa9fea9fe", Port: 80}, {Host: "0XA9.0xfe.0251.254", Port: 80}, {Host: "169.16689662", Port: 80},
		{Host: "0251.0376.0251.0376", Port: 80}, {Host: "169.254.169.254.", Port: 80}, {Host: "Metadata.Google.internal.", Port: 80},
		{Host: "127.0.0.1", Port: 19000}, {Host: "127.0.0.2", Port: 19000}, {Host: "127.1", Port: 19000}, {Host: "2130706433", Port: 19000},
		{Host: "0", Port: 19000}, {Host: "0.0.0.0", Port: 19000}, {Host: "::", Port: 19000}, {Host: "::1", Port: 19000}, {Host: "::ffff:127.0.0.1", Port: 19000},
		{Host: "localhost", Port: 19000}, {Host: "LOCALHOST.", Port: 19000}, {Host: "a.localhost", Port: 18000}, {Host: "127.0.0.1", Port: 18000},
		{Host: "10.9.0.5", Port: 9901}, {Host: "CONTROL.", Port: 7000}, {Host: "192.0.2.77", Port: 1},
		{Host: "168.63.129.16", Port: 80}, {Host: "0xa83f8110", Port: 32526}, {Host: "100.100.100.200", Port: 80}, {Host: "192.0.0.192", Port: 80},
		{Host: "fe80::a9fe:a9fe", Port: 80}, {Host: "fe80::1%eth0", Port: 80}, {Host: "fd00:c1::a9fe:a9fe", Port: 80}, {Host: "fd00:42::42", Port: 80},
		{Host: "metadata", Port: 80}, {Host: "METADATA.", Port: 80}, {Host: "metadata.goog", Port: 80}, {Host: "instance-data", Port: 80}, {Host: "metadata.azure.internal", Port: 80},
		{Host: "::169.254.169.254", Port: 80}, {Host: "::a9fe:a9fe", Port: 80}, {Host: "2002:a9fe:a9fe::", Port: 80}, {Host: "2002:a9fe:a9fe::1", Port: 80},
		{Host: "::ffff:0:169.254.169.254", Port: 80}, {Host: "64:ff9b:1::a9fe:a9fe", Port: 80}, {Host: "2001:0:a9fe:a9fe::", Port: 80},
		{Host: "2001:0:4136:e378:8000:63bf:5601:5601", Port: 80}, {Host: "2001:db8::5efe:169.254.169.254", Port: 80}, {Host: "2001:db8::200:5efe:a9fe:a9fe", Port: 80},
		{Host: "2002:7f00:1::", Port: 19000}, {Host: "::127.0.0.1", Port: 19000}, {Host: "64:ff9b::127.0.0.1", Port: 19000},
		{Host: "ip6-loopback", Port: 19000}, {Host: "IP6-localhost", Port: 19000}, {Host: "localhost6.localdomain6", Port: 19000}, {Host: "a.b.LOCALHOST.", Port: 19000},
		{Host: "box", Port: 19000}, {Host: "BOX.", Port: 18000}, {Host: "cloud", Port: 80}, {Host: "both", Port: 80},
	} {
		if len(g.RemoveRefused(&ir.Cluster{Endpoints: []ir.Endpoint{endpoint}})) == 0 {
			t.Errorf("%v may be used", endpoint)
		}
	}
	for _, endpoint := range []ir.Endpoint{
		{Host: "127.0.0.1", Port: 19001}, {Host: "localhost", Port: 3000}, {Host: "::1", Port: 80}, {Host: "169.253.0.1", Port: 80}, {Host: "169.255.0.1", Port: 80},
		{Host: "10.9.0.5", Port: 9902}, {Host: "10.9.0.6", Port: 9901}, {Host: "10.9.0.5", Port: 19000}, {Host: "control", Port: 7001}, {Host: "example.com", Port: 19000},
		{Host: "fd00:ec3::254", Port: 80}, {Host: "1.2.3.4.5", Port: 80}, {Host: "127.1.a", Port: 19000}, {Host: "256.1.1.1", Port: 19000}, {Host: "4294967296", Port: 19000},
		{Host: "localhost.example.com", Port: 19000}, {Host: "box", Port: 80}, {Host: "near", Port: 80}, {Host: "metadata.example.com", Port: 80}, {Host: "notlocalhost", Port: 19000},
		{Host: "2002:a00:1::", Port: 80}, {Host: "::10.0.0.1", Port: 80}, {Host: "2001:db8::1", Port: 80}, {Host: "168.63.129.17", Port: 80}, {Host: "fd00::1", Port: 80},
	} {
		if len(g.RemoveRefused(&ir.Cluster{Endpoints: []ir.Endpoint{endpoint}})) > 0 {
			t.Errorf("%v must not be used", endpoint)
		}
	}
}

func TestGuardAllows(t *testing.T) {
	g := guard(t, []string{"127.0.0.1:19000", "127.0.0.1:9901"}, []string{"169.254.169.0/24", "localhost:9901", "169.254.7.7:80"})
	for endpoint, refused := range map[ir.Endpoint]bool{
		{Host: "169.254.169.254", Port: 80}: false, {Host: "169.254.1.1", Port: 80}: true,
		{Host: "127.0.0.1", Port: 9901}: false, {Host: "127.0.0.1", Port: 19000}: true,
		{Host: "169.254.7.7", Port: 80}: false, {Host: "169.254.7.7", Port: 81}: true,
	} {
		if got := len(g.RemoveRefused(&ir.Cluster{Endpoints: []ir.Endpoint{endpoint}})) > 0; got != refused {
			t.Errorf("%v: %v", endpoint, got)
		}
	}
}

// TestGuardNamesAllows holds that an operator opens what is meant, by any of its names.
func TestGuardNamesAllows(t *testing.T) {
	g := guard(t, nil, []string{"fe80::5/128", "metadata:8080", "2002:a9fe:a9fe::/48", "169.254.8.0/24"})
	for endpoint, refused := range map[ir.Endpoint]bool{
		{Host: "fe80::5", Port: 80}: false, {Host: "fe80::5%eth0", Port: 80}: false, {Host: "fe80::6", Port: 80}: true,
		{Host: "metadata", Port: 8080}: false, {Host: "metadata", Port: 80}: true,
		{Host: "2002:a9fe:a9fe::1", Port: 80}: false, {Host: "169.254.169.254", Port: 80}: true, {Host: "::169.254.8.1", Port: 80}: false,
	} {
		if got := len(g.RemoveRefused(&ir.Cluster{Endpoints: []ir.Endpoint{endpoint}})) > 0; got != refused {
			t.Errorf("%v: %v", endpoint, got)
		}
	}
}

func TestParseEndpointsRefuses(t *testing.T) {
	for _, text := range []string{"", "host", "10.0.0.0/33", "10.0.0.1:0", "10.0.0.1:99999", "[::1]:x", "unix:/run/x"} {
		if e, err := ParseEndpoints(text); err == nil {
			t.Errorf("%q: %+v", text, e)
		}
	}
}

func TestSift(t *testing.T) {
	g := guard(t, nil, nil)
	c := &ir.Cluster{Discovery: ir.DNS, Endpoints: []ir.Endpoint{{Host: "a.example.com", Port: 1}, {Host: "169.254.1.1", Port: 2}}}
	if refused := g.RemoveRefused(c); len(refused) != 1 || len(c.Endpoints) != 1 || c.Discovery != ir.DNS {
		t.Errorf("%v of %+v", refused, c)
	}
	c = &ir.Cluster{Discovery: ir.DNS, Endpoints: []ir.Endpoint{{Host: "metadata.google.internal", Port: 2}}}
	if g.RemoveRefused(c); len(c.Endpoints) != 0 || c.Discovery != ir.Static {
		t.Errorf("%+v", c)
	}
}
