package route

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// SameRequests reports whether two rules match the same requests of a host: path, method, headers and query
// parameters are equal.
func SameRequests(a, b *ir.Rule) bool {
	x, y := &a.Match, &b.Match
	return x.Path == y.Path && x.Within == y.Within && x.Method == y.Method &&
		slices.Equal(x.Headers, y.Headers) && slices.Equal(x.Query, y.Query)
}

// SumOfRequests returns a hash that is equal for two rules if SameRequests is true for them. The secret seed
// prevents users from writing two different rules with the same hash.
func SumOfRequests(seed maphash.Seed, rule *ir.Rule) uint64 {
	m := &rule.Match
	var hash maphash.Hash
	hash.SetSeed(seed)
	add := func(kind byte, words ...string) {
		head := [5]byte{kind}
		for _, word := range words {
			binary.LittleEndian.PutUint32(head[1:], uint32(len(word)))
			_, _ = hash.Write(head[:])
			_, _ = hash.WriteString(word)
		}
	}
	add(byte(m.Path.Kind), m.Path.Value, m.Path.RPC.Service, m.Path.RPC.Method, m.Within, m.Method)
	for _, values := range [][]ir.ValueMatch{m.Headers, m.Query} {
		for _, v := range values {
			kind := byte(0)
			if v.Regex {
				kind = 1
			}
			add(kind, v.Name, v.Value)
		}
		add(2, "")
	}
	return hash.Sum64()
}

// IsBelow reports whether rule belongs to a child below the delegating match to which guard belongs (see
// ir.Rule.Guard). It returns false if guard is not a guard.
func IsBelow(rule, guard *ir.Rule) bool {
	return guard.Guard && strings.HasPrefix(rule.Name, guard.Name+">")
}

// Parting returns the first step at which the ways from the root to two rules differ in route, rule or match. x
// is the step of a, and y that of b. The last step is the rule itself. If the shorter way ends before they
// differ, x and y are the steps at its end.
func Parting(a, b *ir.Rule) (x, y ir.Hop) {
	for i := 0; ; i++ {
		x, y = hopOf(a, i), hopOf(b, i)
		if i >= len(a.Chain) || i >= len(b.Chain) || x.Route != y.Route || x.Rule != y.Rule || x.Match != y.Match {
			return x, y
		}
	}
}
