package xds

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// TestShardsAreWhereEnvoyLooks has the patterns that Envoy gets tell the same shard as
// Shards, for hosts in any case and with any port.
func TestShardsAreWhereEnvoyLooks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	patterns := make([]*regexp.Regexp, 6)
	for b := range patterns {
		patterns[b] = regexp.MustCompile(shardPattern(b))
	}
	const letters = "-.0123456789abcdefghijklmnopqrstuvwxyz"
	used := map[int]bool{}
	for range 5000 {
		host := ""
		for range 1 + r.IntN(60) {
			host += letters[r.IntN(len(letters)):][:1]
		}
		want := Shards(host, MaxShards)
		if len(want) != 1 {
			t.Fatalf("%s stands in shards %v", host, want)
		}
		used[want[0]] = true
		for _, asked := range []string{host, strings.ToUpper(host), host + ":8080"} {
			got := 0
			for b, pattern := range patterns {
				if pattern.MatchString(asked) {
					got |= 1 << b
				}
			}
			if got != want[0] {
				t.Fatalf("%s stands in shard %d, Envoy looks for %s in %d", host, want[0], asked, got)
			}
		}
		if fewer := Shards(host, 4); fewer[0] != want[0]%4 {
			t.Fatalf("of 4 shards %s stands in %v, of 64 in %d", host, fewer, want[0])
		}
	}
	if len(used) != MaxShards {
		t.Errorf("%d shards are used", len(used))
	}
}

// Names that differ in a number are spread: no shard has more than four times its share.
func TestShardsSpreadNumberedHosts(t *testing.T) {
	for _, form := range []string{"t%05d.example.com", "www.tenant-%d.com", "%x.apps.example.org"} {
		count := map[int]int{}
		for i := range 10_000 {
			count[Shards(fmt.Sprintf(form, i), MaxShards)[0]]++
		}
		for shard, n := range count {
			if n > 4*10_000/MaxShards {
				t.Errorf("%s: shard %d has %d of 10000 hosts", form, shard, n)
			}
		}
	}
}

func TestAWildcardStandsInEveryShard(t *testing.T) {
	for _, domain := range []string{"*", "*.example.com"} {
		if got := fmt.Sprint(Shards(domain, 4)); got != "[0 1 2 3]" {
			t.Errorf("%s: %s", domain, got)
		}
	}
	if got := Unsharded(ShardName("infra/eg/https-443/*.example.com", 63)); got != "infra/eg/https-443/*.example.com" {
		t.Error(got)
	}
}
