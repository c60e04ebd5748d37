package route

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// SameRequests reports whether two rules have equal conditions for path, method, headers and query parameters. It
// does not compare the hosts (ir.Match.Hosts).
func SameRequests(a, b *ir.Rule) bool {
	x, y := &a.Match, &b.Match
	return x.Path == y.Path && x.Within == y.Within && x.Method == y.Method &&
		slices.Equal(x.Headers, y.Headers) && slices.Equal(x.Query, y.Query)
}

// SumOfRequests returns a hash of a rule's match, without its hosts. Rules for which SameRequests is true have equal
// hashes. The seed is secret, so that users cannot write different rules with equal hashes.
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

// IsBelow reports whether a rule belongs to a child route below a delegating match. The parameter guard is the guard
// of that match: the rule for the requests that no child matches (ir.Rule.Guard). IsBelow returns false if guard is
// an ordinary rule.
func IsBelow(rule, guard *ir.Rule) bool {
	return guard.Guard && strings.HasPrefix(rule.Name, guard.Name+">")
}

// Parting finds where the ways from the root route to the rules a and b part. The way to a rule is a list of steps:
// the delegating matches from the root route down (ir.Rule.Chain), and then the match of the rule itself. Parting
// returns the first pair of steps that differ in route, rule or match: x is the step of a's way, and y is the step
// of b's way. If there is no such pair, x and y are the steps at the end of the shorter way.
func Parting(a, b *ir.Rule) (x, y ir.Hop) {
	for i := 0; ; i++ {
		x, y = hopOf(a, i), hopOf(b, i)
		if i >= len(a.Chain) || i >= len(b.Chain) || x.Route != y.Route || x.Rule != y.Rule || x.Match != y.Match {
			return x, y
		}
	}
}
