package translate

import (
	"maps"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
)

// declarePool shares the address pool out among the Gateways of ours; without a
// pool there is nothing to declare.
func (n *network) declarePool(e *memo.Engine) {
	if !n.AddressPool.IsValid() {
		return
	}
	wish := memo.NewRule(e, "wish", n.runWish, deepEqual)
	memo.Each(wish, n.in.gateways)
	wishes := memo.NewFold[struct{}, manifest.Key, *listen.Wish](e, "wishes", gather[manifest.Key](listen.CompareWishes), memo.Ordered[*listen.Wish].Same)
	memo.From(wishes, wish, func(key manifest.Key, w *listen.Wish, yield func(memo.Place[struct{}, manifest.Key], *listen.Wish)) {
		if w != nil {
			yield(memo.Place[struct{}, manifest.Key]{ID: key}, w)
		}
	}, identical)
	pool := memo.NewRule(e, "pool", func(c *memo.Ctx, _ struct{}) map[manifest.Key][]string {
		all, _ := wishes.Get(c, struct{}{})
		return listen.Lease(n.AddressPool, all.All())
	}, func(a, b map[manifest.Key][]string) bool { return maps.EqualFunc(a, b, slices.Equal[[]string]) })
	n.leased = memo.NewRule(e, "leased", func(c *memo.Ctx, key manifest.Key) []string {
		return pool.Get(c, struct{}{})[key]
	}, slices.Equal[[]string])
}

// runWish gives nil for a Gateway that is not ours.
func (n *network) runWish(c *memo.Ctx, key manifest.Key) *listen.Wish {
	object, ok := n.in.gateways.Get(c, key)
	if !ok {
		return nil
	}
	gateway, _ := manifest.As[*gwv1.Gateway](object)
	if !n.class.Get(c, string(gateway.Spec.GatewayClassName)).Ours {
		return nil
	}
	return listen.WishOf(object)
}

// given are the addresses of a Gateway for what its spec leaves open.
func (n *network) given(c *memo.Ctx, key manifest.Key) []string {
	if n.leased == nil {
		return n.Bind
	}
	return n.leased.Get(c, key)
}
