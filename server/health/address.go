package health

import (
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
)

// Address is an admin address that gatefold may request pages of. Only Admit makes one.
type Address struct {
	network, address string
}

// maxClaim bounds what is looked at, and shown, of a claimed address, in bytes.
const maxClaim = 200

// Admit decides whether gatefold asks the admin address that an Envoy claims to have.
// peer is where its xDS stream comes from, socket the path of gatefold's own xDS socket,
// "" where it serves on TCP.
//
// Whoever opens a stream can claim anything, so gatefold must not be a way to places
// that the claimant does not reach itself. An Envoy of another host is never asked. One
// of this host may name a port on loopback, and, over the socket, a socket beside it:
// who can put one there was given that folder to share with gatefold. What is sent is
// the same to all of them, two GET requests without anything of the claimant in them.
func Admit(claim string, peer net.Addr, socket string) (Address, *Unknown) {
	path, isPath := strings.CutPrefix(claim, "unix:")
	switch {
	case !IsLocal(peer):
		return Address{}, &Unknown{
			"the Envoy is on another host; only those on this one are asked",
			"look at the page /clusters of its own admin address",
		}
	case claim == "":
		return Address{}, &Unknown{
			"its bootstrap does not tell gatefold its admin address",
			"print the bootstrap anew with gatefold bootstrap, with a port other than 0 in --envoy-admin-address",
		}
	case len(claim) > maxClaim:
		return Address{}, &Unknown{"the admin address in its bootstrap is too long", "print the bootstrap anew with gatefold bootstrap"}
	case isPath:
		return admitSocket(path, peer, socket)
	}
	at, err := netip.ParseAddrPort(claim)
	if err != nil || at.Port() == 0 || at.Addr().Zone() != "" || !at.Addr().Unmap().IsLoopback() {
		return Address{}, &Unknown{
			fmt.Sprintf("its admin address %q is not a port on loopback; no other is asked", claim),
			"give its admin a loopback address: gatefold bootstrap --envoy-admin-address 127.0.0.1:9901",
		}
	}
	return Address{"tcp", at.String()}, nil
}

// admitSocket admits a socket beside gatefold's own, named by its plain path.
func admitSocket(path string, peer net.Addr, socket string) (Address, *Unknown) {
	own, err := filepath.Abs(socket)
	if _, ok := peer.(*net.UnixAddr); !ok || socket == "" || err != nil {
		return Address{}, &Unknown{
			fmt.Sprintf("its admin address is the socket %q, and its xDS connection does not come over a socket", path),
			"connect it over a socket, too, or give its admin a loopback address",
		}
	}
	folder := filepath.Dir(own)
	if filepath.Clean(path) != path || filepath.Dir(path) != folder || path == own {
		return Address{}, &Unknown{
			fmt.Sprintf("its admin socket %q does not stand beside gatefold's own; no other is asked", path),
			fmt.Sprintf("gatefold bootstrap --envoy-admin-address unix:%s", filepath.Join(folder, "envoy-admin.sock")),
		}
	}
	return Address{"unix", path}, nil
}
