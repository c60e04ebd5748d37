package health

import (
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
)

// Address is the admin address of an Envoy from which gatefold may request pages. Only Admit returns one.
type Address struct {
	network, address string
}

// maxClaim bounds the length, in bytes, of the admin address that an Envoy claims in its node metadata.
const maxClaim = 200

// Admit decides whether gatefold may request pages from claim, the admin address in an Envoy's node metadata. peer
// is the address of the Envoy's xDS stream. socket is the path of gatefold's own xDS socket, "" if xDS is served on
// TCP. If gatefold may request pages, the Unknown is nil. Otherwise the Unknown has the reason.
//
// A client can claim any address. So gatefold must not send requests for the client to an address that the client
// itself cannot reach. An Envoy on another host is never queried. An Envoy on this host may claim a port on
// loopback. If it connects over the socket, it may also claim a socket in the same directory. Only users with whom
// the directory is shared on purpose can create sockets there. Every Envoy gets the same two GET requests, which
// contain nothing from the client.
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

// admitSocket does the same as Admit for a claimed admin address that is a unix socket at path. The path must be
// absolute and clean, and in the directory of gatefold's own socket.
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
			fmt.Sprintf("its admin socket %q is not in the folder of the socket of gatefold's xDS, and gatefold queries no other", path),
			fmt.Sprintf("gatefold bootstrap --envoy-admin-address unix:%s", filepath.Join(folder, "envoy-admin.sock")),
		}
	}
	return Address{"unix", path}, nil
}
