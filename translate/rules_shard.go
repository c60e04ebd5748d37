package translate

import (
	"fmt"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/xds"
)

// shardKey is a RouteConfiguration of a chain: shard Number-1 of its table, and the
// whole table where Number is 0.
type shardKey struct {
	chainKey
	Number int
}

func (k shardKey) String() string {
	if k.Number == 0 {
		return k.chainKey.String()
	}
	return fmt.Sprintf("%s shard %d", k.chainKey, k.Number-1)
}

// name is the name of the RouteConfiguration.
func (k shardKey) name() string {
	routes := listen.RoutesName(k.Gateway, k.Port, k.Chain)
	if k.Number == 0 {
		return routes
	}
	return xds.ShardName(routes, k.Number-1)
}

// shardsIn gives how many shards a chain has, 0 for none: one that is for a single host
// gains nothing by them.
func (n *network) shardsIn(chain string) int {
	if chain != "" && !strings.HasPrefix(chain, "*") {
		return 0
	}
	return n.Shards
}

// shardsOf gives where the virtual host of a domain stands.
func (n *network) shardsOf(key chainKey, domain string) []shardKey {
	shards := n.shardsIn(key.Chain)
	if shards == 0 {
		return []shardKey{{chainKey: key}}
	}
	var keys []shardKey
	for _, shard := range xds.Shards(domain, shards) {
		keys = append(keys, shardKey{key, shard + 1})
	}
	return keys
}

// allShards gives the shards of all chains of a Gateway, those of one host excepted.
func (n *network) allShards(_ manifest.Key, g *listen.Gateway) []shardKey {
	var keys []shardKey
	if g == nil {
		return nil
	}
	seen := map[chainKey]bool{}
	for _, place := range g.Places() {
		key := tableOf(g.Name, place).chainKey
		if shards := n.shardsIn(key.Chain); !seen[key] {
			seen[key] = true
			for number := 1; number <= shards; number++ {
				keys = append(keys, shardKey{key, number})
			}
		}
	}
	return keys
}

// declareShards gathers the hosts of each RouteConfiguration. Each shard is there, with
// hosts or without: Envoy waits for all of them before it opens the port.
func (n *network) declareShards(e *memo.Engine) {
	step := gather[string](compareDomains)
	n.hosts = memo.NewFold[shardKey, string](e, func(set memo.Ordered[*hostOut], members []memo.Member[string, *hostOut]) memo.Ordered[*hostOut] {
		return step(set, withoutMarks(members))
	}, memo.Ordered[*hostOut].Same)
	memo.From(n.hosts, n.host, func(key tableKey, host *hostOut, yield func(memo.Place[shardKey, string], *hostOut)) {
		if host != nil {
			for _, shard := range n.shardsOf(key.chainKey, key.Domain) {
				yield(memo.Place[shardKey, string]{Key: shard, ID: key.Domain}, host)
			}
		}
	}, identical)
	memo.From(n.hosts, n.gateway, func(key manifest.Key, g *listen.Gateway, yield func(memo.Place[shardKey, string], *hostOut)) {
		for _, shard := range n.allShards(key, g) {
			yield(memo.Place[shardKey, string]{Key: shard, ID: mark}, nil)
		}
	}, identical)
	n.shardScope = memo.NewRule(e, "scope", func(_ *memo.Ctx, key shardKey) xds.Resource { return xds.ShardScope(key.name()) }, sameResource)
	memo.EachOf(n.shardScope, n.gateway, n.allShards)
}
