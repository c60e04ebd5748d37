package listen

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"iter"
	"net/netip"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
)

// AddressRequest is what AssignAddresses must know about one Gateway: the addresses that it names, and how many it
// requests from the pool.
type AddressRequest struct {
	Origin *ir.Origin
	// Static are the IP addresses in the Gateway's spec. AssignAddresses assigns none of them to another Gateway. If
	// this Gateway is outside (see AssignAddresses), that holds only for other outside Gateways of the same namespace.
	Static []netip.Addr
	// Open is how many addresses the Gateway requests. It is one if the spec has no addresses. Otherwise it is one
	// for each entry without a value (Gateway API, GatewaySpecAddress.value).
	Open int
}

// AddressRequestOf returns the AddressRequest of a Gateway.
func AddressRequestOf(object *manifest.Object) *AddressRequest {
	gateway, _ := manifest.As[*gwv1.Gateway](object)
	w := &AddressRequest{Origin: route.OriginOf(object)}
	for _, address := range gateway.Spec.Addresses {
		if isOpen(address) {
			w.Open++
		} else if ip, err := netip.ParseAddr(address.Value); err == nil {
			w.Static = append(w.Static, ip.Unmap())
		}
	}
	if len(gateway.Spec.Addresses) == 0 {
		w.Open = 1
	}
	return w
}

// CompareAddressRequests orders requests by the conflict resolution order.
func CompareAddressRequests(a, b *AddressRequest) int {
	return route.CompareOrigins(a.Origin, b.Origin)
}

// isOpen reports whether an entry of spec.addresses leaves the choice of the address to gatefold.
func isOpen(a gwv1.GatewaySpecAddress) bool {
	return a.Value == "" && (a.Type == nil || *a.Type == gwv1.IPAddressType)
}

// CheckPool returns an error for a prefix that cannot be a pool: it has bits after its length, or Envoy cannot
// bind its addresses.
func CheckPool(pool netip.Prefix) error {
	switch addr := pool.Addr(); {
	case pool != pool.Masked():
		return fmt.Errorf("%s has bits behind the prefix; write %s", pool, pool.Masked())
	case addr.IsMulticast(), addr.IsUnspecified(), addr.Is4In6():
		return fmt.Errorf("%s: nothing can listen on such addresses", pool)
	}
	return nil
}

// AssignAddresses returns the addresses of the pool that each Gateway gets, by the Gateway's key. If the pool is
// exhausted, a Gateway gets fewer addresses than it requests. The requests must be in conflict resolution order. An
// address depends on the Gateway's name, so that Gateways keep their addresses when others are added or removed. If
// two names lead to the same address, the first Gateway gets this address, and the other Gateway gets the next free
// address.
//
// If path policies are in force, a Gateway is outside (Origin.Outside) if its file is not one that --cluster-paths
// names. An address of an outside Gateway is taken only for the other outside Gateways of the same namespace. All
// other Gateways may get the same address, so that no team can use up the pool. Two Gateways with the same address
// are no conflict, because path policies give each port to only one namespace.
func AssignAddresses(pool netip.Prefix, requests iter.Seq[*AddressRequest]) map[manifest.Key][]string {
	l := assignment{pool: pool, first: 1, size: usable(pool), taken: map[takenAddress]bool{}, full: map[string]bool{}}
	if pool.Addr().BitLen()-pool.Bits() < 2 {
		l.first = 0
	}
	for w := range requests {
		for _, ip := range w.Static {
			l.reserve(ip, w)
		}
	}
	out := map[manifest.Key][]string{}
	for w := range requests {
		for i := range w.Open {
			if ip, ok := l.next(fmt.Sprintf("%s/%s#%d", w.Origin.Key.Namespace, w.Origin.Key.Name, i), w); ok {
				l.reserve(ip, w)
				out[w.Origin.Key] = append(out[w.Origin.Key], ip.String())
			}
		}
	}
	return out
}

// usable returns how many addresses of a pool can be assigned. The first and the last address of an IPv4
// network, and the first of an IPv6 network, are reserved. A pool of one or two addresses has no reserved
// address. The result is less than 1<<62, even if the pool is larger.
func usable(pool netip.Prefix) uint64 {
	bits := pool.Addr().BitLen() - pool.Bits()
	switch {
	case bits < 2:
		return 1 << bits
	case pool.Addr().Is4():
		return 1<<bits - 2
	}
	return 1<<min(bits, 62) - 1
}

// assignment is the state of AssignAddresses. The field first is the index of the first assignable address of the
// pool, and size is the number of these addresses.
type assignment struct {
	pool        netip.Prefix
	first, size uint64
	taken       map[takenAddress]bool
	// full has the namespaces, as in takenAddress, to whose Gateways no address is free any more. Their requests
	// then end at once.
	full map[string]bool
}

// takenAddress is an address that is taken for the outside Gateways (see AssignAddresses) of a namespace. If the
// namespace is "", the address is taken for all Gateways.
type takenAddress struct {
	namespace string
	ip        netip.Addr
}

// takenFor returns the namespace of a takenAddress that the Gateway of the request uses: the Gateway's namespace if
// the Gateway is outside (see AssignAddresses), and "" otherwise.
func (w *AddressRequest) takenFor() string {
	if w.Origin.Outside {
		return w.Origin.Key.Namespace
	}
	return ""
}

// reserve makes an address unavailable to later requests. The parameter w is the request of the Gateway that uses
// the address. If that Gateway is outside (see AssignAddresses), the address becomes unavailable only to outside
// Gateways of the same namespace.
func (l *assignment) reserve(ip netip.Addr, w *AddressRequest) {
	l.taken[takenAddress{w.takenFor(), ip}] = true
}

// next returns an address that is free for the Gateway of the request w. The search begins at an address that is
// computed from name, so that the same name usually leads to the same address. The bool is false if no address is
// free.
func (l *assignment) next(name string, w *AddressRequest) (netip.Addr, bool) {
	namespace := w.takenFor()
	if l.full[namespace] {
		return netip.Addr{}, false
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(name)) // it does not fail
	for step := range l.size {
		ip := l.address((sum.Sum64()%l.size + step) % l.size)
		if !l.taken[takenAddress{"", ip}] && !l.taken[takenAddress{namespace, ip}] {
			return ip, true
		}
	}
	l.full[namespace] = true
	return netip.Addr{}, false
}

// address returns the assignable address with index n.
func (l *assignment) address(n uint64) netip.Addr {
	bytes := l.pool.Addr().As16()
	low := bytes[8:]
	binary.BigEndian.PutUint64(low, binary.BigEndian.Uint64(low)+l.first+n)
	return netip.AddrFrom16(bytes).Unmap()
}
