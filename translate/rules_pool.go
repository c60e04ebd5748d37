package translate

import (
	"maps"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
)

type addressIn struct {
	class    *memo.Rule[string, classOut]
	gateways *objects
	Options
}

// addressRules give Gateways addresses for what their specs leave open.
type addressRules struct {
	in addressIn
	// leased are addresses of the pool; nil without one.
	leased *memo.Rule[manifest.Key, []string]
}

// newAddressRules shares the address pool out among the Gateways of ours; without a
// pool there is nothing to declare.
func newAddressRules(e *memo.Engine, in addressIn) *addressRules {
	r := &addressRules{in: in}
	if !in.AddressPool.IsValid() {
		return r
	}
	wish := memo.NewRule(e, "wish", r.runWish, deepEqual)
	memo.Each(wish, in.gateways)
	wishes := memo.NewFold[struct{}, manifest.Key, *listen.Wish](e, "wishes", gather[manifest.Key](listen.CompareWishes), memo.Ordered[*listen.Wish].Same)
	memo.From(wishes, wish, func(key manifest.Key, w *listen.Wish, yield func(memo.Place[struct{}, manifest.Key], *listen.Wish)) {
		if w != nil {
			yield(memo.Place[struct{}, manifest.Key]{ID: key}, w)
		}
	}, identical)
	pool := memo.NewRule(e, "pool", func(c *memo.Ctx, _ struct{}) map[manifest.Key][]string {
		all, _ := wishes.Get(c, struct{}{})
		return listen.Lease(in.AddressPool, all.All())
	}, func(a, b map[manifest.Key][]string) bool { return maps.EqualFunc(a, b, slices.Equal[[]string]) })
	r.leased = memo.NewRule(e, "leased", func(c *memo.Ctx, key manifest.Key) []string {
		return pool.Get(c, struct{}{})[key]
	}, slices.Equal[[]string])
	return r
}

// runWish returns nil for a Gateway that is not ours.
func (r *addressRules) runWish(c *memo.Ctx, key manifest.Key) *listen.Wish {
	object, ok := r.in.gateways.Get(c, key)
	if !ok {
		return nil
	}
	gateway, _ := manifest.As[*gwv1.Gateway](object)
	if !r.in.class.Get(c, string(gateway.Spec.GatewayClassName)).Ours {
		return nil
	}
	return listen.WishOf(object)
}

// given are the addresses of a Gateway for what its spec leaves open.
func (r *addressRules) given(c *memo.Ctx, key manifest.Key) []string {
	if r.leased == nil {
		return r.in.Bind
	}
	return r.leased.Get(c, key)
}
