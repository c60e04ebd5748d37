package cli

import (
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestOwnNamesAreGuarded holds that the machine's own name leads back to it, whatever its hosts
// file says.
func TestOwnNamesAreGuarded(t *testing.T) {
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	guard, err := new(guardOptions).guard()
	if err != nil {
		t.Fatal(err)
	}
	if addresses := guard.Hosts[strings.ToLower(name)]; !slices.ContainsFunc(addresses, netip.Addr.IsLoopback) {
		t.Errorf("%s leads to %v", name, addresses)
	}
}
