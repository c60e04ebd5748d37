package policy

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/translate/ir"
)

func headerModifiers() Field {
	return single[api.HeaderModifiers]{
		name: "headerModifiers",
		get:  func(s *api.TrafficPolicySpec) *api.HeaderModifiers { return s.HeaderModifiers },
		put:  func(s *api.TrafficPolicySpec, mods *api.HeaderModifiers) { s.HeaderModifiers = mods },
		lower: func(from *api.HeaderModifiers, extras *ir.Extras) []store.Problem {
			extras.RequestHeaders = headerMods(from.Request)
			extras.ResponseHeaders = headerMods(from.Response)
			return nil
		},
	}
}

func headerMods(from *gwv1.HTTPHeaderFilter) ir.HeaderMods {
	if from == nil {
		return ir.HeaderMods{}
	}
	mods := ir.HeaderMods{Remove: from.Remove}
	for _, h := range from.Set {
		mods.Set = append(mods.Set, ir.Header{Name: string(h.Name), Value: h.Value})
	}
	for _, h := range from.Add {
		mods.Add = append(mods.Add, ir.Header{Name: string(h.Name), Value: h.Value})
	}
	return mods
}
