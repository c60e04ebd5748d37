package health_test

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/server/health"
)

const ownSocket = "/run/gatefold/xds.sock"

// The peers of xDS streams.
func onLoopback() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 40000} }
func onSocket() net.Addr   { return &net.UnixAddr{Name: "@", Net: "unix"} }
func elsewhere() net.Addr  { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 40000} }

func TestOnlyNearbyAdminAddressesAreAdmitted(t *testing.T) {
	const far, foreignSocket, remote = "is not a port on loopback", "is not in the folder of", "on another host"
	for _, c := range []struct {
		claim string
		peer  net.Addr
		want  string // in the message; "" admits
	}{
		{"127.0.0.1:9901", onLoopback(), ""},
		{"127.9.8.7:1", onLoopback(), ""},
		{"[::1]:9901", onLoopback(), ""},
		{"[::ffff:127.0.0.1]:9901", onLoopback(), ""},
		{"127.0.0.1:9901", onSocket(), ""},
		{"unix:/run/gatefold/envoy-admin.sock", onSocket(), ""},

		{"", onLoopback(), "does not tell gatefold"},
		{"127.0.0.1:0", onLoopback(), far},
		{"127.0.0.1", onLoopback(), far},
		{"10.0.0.1:9901", onLoopback(), far},
		{"10.0.0.1:9901", onSocket(), far},
		{"169.254.169.254:80", onLoopback(), far},
		{"[::ffff:10.0.0.1]:80", onLoopback(), far},
		{"0.0.0.0:9901", onLoopback(), far},
		{"[::]:9901", onLoopback(), far},
		{"[::1%lo]:9901", onLoopback(), far},
		{"localhost:9901", onLoopback(), far},
		{"127.0.0.1.example:80", onLoopback(), far},
		{"http://127.0.0.1:9901", onLoopback(), far},
		{"127.0.0.1:9901/quitquitquit?", onLoopback(), far},
		{strings.Repeat("1", 10_000), onLoopback(), "too long"},

		{"127.0.0.1:9901", elsewhere(), remote},
		{"192.0.2.7:9901", elsewhere(), remote},
		{"unix:/run/gatefold/envoy-admin.sock", elsewhere(), remote},
		{"", nil, remote},

		{"unix:/run/gatefold/envoy-admin.sock", onLoopback(), "does not come over a socket"},
		{"unix:/run/docker.sock", onSocket(), foreignSocket},
		{"unix:/run/gatefold/../docker.sock", onSocket(), foreignSocket},
		{"unix:/run/gatefold/below/admin.sock", onSocket(), foreignSocket},
		{"unix:run/gatefold/admin.sock", onSocket(), foreignSocket},
		{"unix:/run/gatefold/", onSocket(), foreignSocket},
		{"unix:@abstract", onSocket(), foreignSocket},
		{"unix:" + ownSocket, onSocket(), foreignSocket},
	} {
		_, unknown := health.Admit(c.claim, c.peer, ownSocket)
		switch {
		case unknown == nil && c.want != "":
			t.Errorf("%q of %v is admitted", c.claim, c.peer)
		case unknown != nil && (c.want == "" || !strings.Contains(unknown.Message, c.want) || unknown.Hint == ""):
			t.Errorf("%q of %v: %+v, want %q", c.claim, c.peer, *unknown, c.want)
		}
	}
	if _, unknown := health.Admit("unix:/run/gatefold/envoy-admin.sock", onSocket(), ""); unknown == nil {
		t.Error("a socket is admitted where gatefold has none itself")
	}
}

// admit is for addresses that have to be admitted.
func admit(t *testing.T, claim string, peer net.Addr, socket string) health.Address {
	t.Helper()
	at, unknown := health.Admit(claim, peer, socket)
	if unknown != nil {
		t.Fatal(unknown.Message)
	}
	return at
}

// Whatever is admitted on TCP is loopback.
func FuzzAdmit(f *testing.F) {
	for _, seed := range []string{"127.0.0.1:9901", "[::1]:1", "[::ffff:7f00:1]:1", "0177.0.0.1:1", "127.1:1", "unix:/run/gatefold/a", "10.1.2.3:9901", "0.0.0.0:1", "[::]:1", "169.254.169.254:80"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, claim string) {
		if _, unknown := health.Admit(claim, onLoopback(), ownSocket); unknown != nil {
			return
		}
		at, err := netip.ParseAddrPort(claim)
		if err != nil || !net.IP(at.Addr().AsSlice()).IsLoopback() {
			t.Errorf("%q is admitted", claim)
		}
	})
}
