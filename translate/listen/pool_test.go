package listen

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

func request(name string, open int, static ...string) *AddressRequest {
	w := &AddressRequest{Origin: &ir.Origin{Key: manifest.Key{Kind: "Gateway", Namespace: "default", Name: name}}, Open: open}
	for _, address := range static {
		w.Static = append(w.Static, netip.MustParseAddr(address))
	}
	return w
}

func assign(pool string, requests ...*AddressRequest) map[manifest.Key][]string {
	slices.SortFunc(requests, CompareAddressRequests)
	return AssignAddresses(netip.MustParsePrefix(pool), slices.Values(requests))
}

// TestLeaseGivesEachItsOwn fills pools to the last address: nobody shares one, nobody
// is given what a spec names, or what lies outside; and who is too many gets none.
func TestLeaseGivesEachItsOwn(t *testing.T) {
	for pool, size := range map[string]int{
		"127.0.1.0/24": 254, "127.0.1.0/29": 6, "127.0.1.4/30": 2, "127.0.1.4/31": 2, "127.0.1.4/32": 1,
		"fd00::/120": 255, "fd00::/127": 2, "fd00::/64": 1 << 20,
	} {
		prefix := netip.MustParsePrefix(pool)
		named := prefix.Addr()
		if size > 2 {
			named, size = named.Next(), size-1
		} else {
			named = named.Prev()
		}
		requests := []*AddressRequest{request("named", 0, named.String())}
		for i := range min(size, 300) + 3 {
			requests = append(requests, request(fmt.Sprint("g", i), 1))
		}
		seen := map[string]bool{named.String(): true}
		for key, addresses := range assign(pool, requests...) {
			for _, address := range addresses {
				if seen[address] || !prefix.Contains(netip.MustParseAddr(address)) {
					t.Errorf("%s: %s for %s is taken, or outside", pool, address, key)
				}
				seen[address] = true
			}
		}
		if given, want := len(seen)-1, min(size, 303); given != want {
			t.Errorf("%s: %d addresses were given, of %d", pool, given, want)
		}
	}
}

// TestLeaseOfTeams has a team ask for all addresses, of the platform and of another team.
func TestLeaseOfTeams(t *testing.T) {
	const pool = "127.0.1.0/29"
	platform, other := request("platform", 1), request("zz", 1)
	other.Origin.Outside = true
	before := assign(pool, platform, other)
	requests := []*AddressRequest{platform, other}
	for i := range 20 {
		greedy := request(fmt.Sprint("a", i), 1)
		greedy.Origin.Key.Namespace = "greedy"
		greedy.Origin.Outside, greedy.Static = true, []netip.Addr{netip.MustParseAddr(fmt.Sprint("127.0.1.", i%8))}
		requests = append(requests, greedy)
	}
	after := assign(pool, requests...)
	for _, w := range []*AddressRequest{platform, other} {
		if !slices.Equal(before[w.Origin.Key], after[w.Origin.Key]) || len(after[w.Origin.Key]) != 1 {
			t.Errorf("%s had %s, and has %s", w.Origin.Key, before[w.Origin.Key], after[w.Origin.Key])
		}
	}
}

// TestLeaseOfOneTeam has a team ask for as many addresses as there are: its Gateways share none.
func TestLeaseOfOneTeam(t *testing.T) {
	var requests []*AddressRequest
	for i := range 3 {
		w := request(fmt.Sprint("g", i), 2)
		w.Origin.Outside = true
		requests = append(requests, w)
	}
	seen := map[string]bool{}
	for _, addresses := range assign("127.0.1.0/29", requests...) {
		for _, address := range addresses {
			seen[address] = true
		}
	}
	if len(seen) != 6 {
		t.Errorf("%d addresses for 3 Gateways that want 2 each", len(seen))
	}
}

// TestLeaseSeldomMoves adds Gateways to a pool that is a fifth full: of those that are
// there, few move, and no one that is older.
func TestLeaseSeldomMoves(t *testing.T) {
	const pool, kept = "127.0.1.0/24", 50
	r := rand.New(rand.NewPCG(1, 2))
	moved := 0
	for round := range 100 {
		var requests []*AddressRequest
		for i := range kept {
			requests = append(requests, request(fmt.Sprintf("g%d-%d", r.IntN(1000), i), 1))
		}
		before := assign(pool, requests...)
		newcomer := request(fmt.Sprint("new-", round), 1)
		after := assign(pool, append(requests, newcomer)...)
		for _, w := range requests {
			if slices.Equal(before[w.Origin.Key], after[w.Origin.Key]) {
				continue
			}
			moved++
			if CompareAddressRequests(w, newcomer) < 0 {
				t.Errorf("%s moved, and goes before the newcomer", w.Origin.Key)
			}
		}
	}
	if moved > kept {
		t.Errorf("%d of %d Gateways moved", moved, 100*kept)
	}
}
