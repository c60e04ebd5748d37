package translate

import (
	"maps"
	"net/netip"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
)

type addressIn struct {
	class       *memo.Rule[string, classOut]
	gateways    *objects
	AddressPool netip.Prefix
	Bind        []string
}

// addressRules assign addresses to Gateways whose specs leave the choice to gatefold: a spec without addresses,
// or with entries without a value.
type addressRules struct {
	in addressIn
	// assigned has the addresses of each Gateway from the pool. It is nil without a pool.
	assigned *memo.Rule[manifest.Key, []string]
}

// newAddressRules declares the rules that assign addresses of the pool to Gateways. Without a pool it declares
// none.
func newAddressRules(e *memo.Engine, in addressIn) *addressRules {
	r := &addressRules{in: in}
	if !in.AddressPool.IsValid() {
		return r
	}
	request := memo.NewRule(e, "addressrequest", r.runRequest, deepEqual)
	memo.Each(request, in.gateways)
	requests := memo.NewFold[struct{}, manifest.Key, *listen.AddressRequest](e, "addressrequests", gather[manifest.Key](listen.CompareAddressRequests), ordered.Set[*listen.AddressRequest].Same)
	memo.From(requests, request, func(key manifest.Key, w *listen.AddressRequest, yield func(memo.Place[struct{}, manifest.Key], *listen.AddressRequest)) {
		if w != nil {
			yield(memo.Place[struct{}, manifest.Key]{ID: key}, w)
		}
	}, identical)
	pool := memo.NewRule(e, "pool", func(c *memo.Ctx, _ struct{}) map[manifest.Key][]string {
		all, _ := requests.Get(c, struct{}{})
		return listen.AssignAddresses(in.AddressPool, all.All())
	}, func(a, b map[manifest.Key][]string) bool { return maps.EqualFunc(a, b, slices.Equal[[]string]) })
	r.assigned = memo.NewRule(e, "assigned", func(c *memo.Ctx, key manifest.Key) []string {
		return pool.Get(c, struct{}{})[key]
	}, slices.Equal[[]string])
	return r
}

// runRequest returns the addresses that a Gateway requests. It returns nil for a Gateway that gatefold does not
// serve.
func (r *addressRules) runRequest(c *memo.Ctx, key manifest.Key) *listen.AddressRequest {
	object, ok := r.in.gateways.Get(c, key)
	if !ok {
		return nil
	}
	gateway, _ := manifest.As[*gwv1.Gateway](object)
	if !r.in.class.Get(c, string(gateway.Spec.GatewayClassName)).Ours {
		return nil
	}
	return listen.AddressRequestOf(object)
}

// addresses returns the addresses that gatefold chooses for a Gateway: addresses from the pool, or Options.Bind
// if there is no pool. If the pool is exhausted, the result has fewer addresses than the Gateway requests, or
// none.
func (r *addressRules) addresses(c *memo.Ctx, key manifest.Key) []string {
	if r.assigned == nil {
		return r.in.Bind
	}
	return r.assigned.Get(c, key)
}
