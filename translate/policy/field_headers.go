package policy

import (
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// lowerHeaderModifiers converts the policy field headerModifiers (see Field.lower).
func lowerHeaderModifiers(from *api.TrafficPolicySpec, extras *ir.Extras) []manifest.Problem {
	extras.RequestHeaders = headerMods(from.HeaderModifiers.Request)
	extras.ResponseHeaders = headerMods(from.HeaderModifiers.Response)
	return nil
}

// headerMods converts header changes. nil means no changes.
func headerMods(from *api.HeaderFilter) ir.HeaderMods {
	if from == nil {
		return ir.HeaderMods{}
	}
	mods := ir.HeaderMods{Remove: from.Remove}
	for _, h := range from.Set {
		mods.Set = append(mods.Set, ir.Header{Name: h.Name, Value: h.Value})
	}
	for _, h := range from.Add {
		mods.Add = append(mods.Add, ir.Header{Name: h.Name, Value: h.Value})
	}
	return mods
}
