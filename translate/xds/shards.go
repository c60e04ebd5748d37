package xds

import (
	"fmt"
	"math/bits"
	"strings"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	earlyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/early_header_mutation/header_mutation/v3"
	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

// A chain with shards has several RouteConfigurations in place of one, so that an edit
// of one host has Envoy build that host's shard anew and no other (docs/scale.md). Envoy
// chooses among them by scoped routes, whose only key is a header. The header is made of
// the host before a route is looked for, and whatever the client sent under its name is
// overwritten:
//
//   - Bit b of the number of a shard is 1 where the letters of the host that stand in
//     shardLetters(b) are odd in number. That much a regular expression can tell, which
//     is all that Envoy has there; it costs 4 µs for 64 shards.
//   - A host name stands in the shard of its number. A wildcard stands in every shard,
//     so that a host without a virtual host of its own finds it wherever it looks.
//   - The number comes after the name of the chain: all listeners of an Envoy share the
//     keys.

// shardHeader carries the name of the shard within Envoy. Tables
// take it off before a request is passed on.
const shardHeader = "x-gatefold-shard"

// MaxShards is the largest number of shards: each of shardLetters halves a table.
const MaxShards = 64

// shardLetters gives the letters that bit b of a shard's number counts; all others that
// a host name may have are shardOthers. They are runs of few letters, as Envoy takes no
// regular expression of more than 100 instructions there.
func shardLetters(b int) string {
	return [...]string{
		"02468abcdefghijklm", "014589abcdefgopqrst", "02367abcdhijkopqr",
		"056789defghmnopvwx", "0178bcdijkpqrwxyz", "034679efghijstuvwx",
	}[b]
}

func shardOthers(b int) string {
	return strings.Map(func(letter rune) rune {
		if strings.ContainsRune(shardLetters(b), letter) {
			return -1
		}
		return letter
	}, "-.0123456789abcdefghijklmnopqrstuvwxyz")
}

// Shards gives the shards, of so many, that hold the virtual host of a domain, such as
// "shop.example.com", "*.example.com" or "*". shards is a power of two.
func Shards(domain string, shards int) []int {
	if strings.HasPrefix(domain, "*") {
		all := make([]int, shards)
		for i := range all {
			all[i] = i
		}
		return all
	}
	number := 0
	for b := range bits.Len(uint(shards - 1)) {
		for i := range len(domain) {
			if strings.IndexByte(shardLetters(b), domain[i]) >= 0 {
				number ^= 1 << b
			}
		}
	}
	return []int{number}
}

// shardMark stands between the name of a chain's RouteConfiguration and a number. No
// name of a Gateway or host has it.
const shardMark = "#"

// ShardName names the RouteConfiguration of a shard, and the scope that leads to it.
func ShardName(routes string, shard int) string {
	return fmt.Sprintf("%s%s%d", routes, shardMark, shard)
}

// Unsharded gives the name of the whole table that a RouteConfiguration is of.
func Unsharded(name string) string {
	routes, _, _ := strings.Cut(name, shardMark)
	return routes
}

func isShard(name string) bool { return strings.Contains(name, shardMark) }

// ShardScope makes the resource that leads requests to the RouteConfiguration of a shard
// (ShardName).
func ShardScope(name string) Resource {
	return newResource(resourcev3.ScopedRouteType, name, marshal(&routev3.ScopedRouteConfiguration{
		Name:                   name,
		RouteConfigurationName: name,
		Key: &routev3.ScopedRouteConfiguration_Key{Fragments: []*routev3.ScopedRouteConfiguration_Key_Fragment{{
			Type: &routev3.ScopedRouteConfiguration_Key_Fragment_StringKey{StringKey: name},
		}}},
	}))
}

// shardRoutes has a connection manager choose among the shards of a chain.
func shardRoutes(manager *hcmv3.HttpConnectionManager, routes string, shards int) {
	manager.EarlyHeaderMutationExtensions = []*corev3.TypedExtensionConfig{{
		Name: "gatefold/shard",
		TypedConfig: pack(&earlyv3.HeaderMutation{Mutations: []*mutationv3.HeaderMutation{{
			Action: &mutationv3.HeaderMutation_Append{Append: &corev3.HeaderValueOption{
				Header:       &corev3.HeaderValue{Key: shardHeader, Value: routes + shardMark + "%CEL(" + shardNumber(shards) + ")%"},
				AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
			}},
		}}}),
	}}
	type builder = hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder
	type extractor = hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor
	manager.RouteSpecifier = &hcmv3.HttpConnectionManager_ScopedRoutes{ScopedRoutes: &hcmv3.ScopedRoutes{
		Name: "shards",
		ScopeKeyBuilder: &hcmv3.ScopedRoutes_ScopeKeyBuilder{Fragments: []*builder{{
			Type: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_{HeaderValueExtractor: &extractor{
				Name:        shardHeader,
				ExtractType: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_Index{},
			}},
		}}},
		RdsConfigSource: adsSource(),
		ConfigSpecifier: &hcmv3.ScopedRoutes_ScopedRds{ScopedRds: &hcmv3.ScopedRds{ScopedRdsConfigSource: adsSource()}},
	}}
}

// shardNumber is the CEL expression of a shard's number.
func shardNumber(shards int) string {
	terms := []string{"0"}
	for b := range bits.Len(uint(shards - 1)) {
		terms = append(terms, fmt.Sprintf("(request.host.matches(r'%s')?%d:0)", shardPattern(b), 1<<b))
	}
	return strings.Join(terms, "+")
}

// shardPattern matches a host, in any case and with or without port, with an odd number
// of shardLetters.
func shardPattern(b int) string {
	counted, other := letterClass(shardLetters(b)), letterClass(shardOthers(b))
	return fmt.Sprintf("(?i)^(?:%[1]s%[2]s*%[1]s|%[2]s)*%[1]s%[2]s*(?:$|:)", counted, other)
}

// letterClass writes letters, in the order of their codes, as a class of runs.
func letterClass(letters string) string {
	class := "["
	for from := 0; from < len(letters); {
		to := from
		for to+1 < len(letters) && letters[to+1] == letters[to]+1 {
			to++
		}
		class += strings.ReplaceAll(letters[from:from+1], "-", `\-`)
		if to > from {
			class += "-" + letters[to:to+1]
		}
		from = to + 1
	}
	return class + "]"
}
