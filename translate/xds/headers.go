package xds

import (
	"slices"

	"github.com/gatefold/gatefold/translate/ir"
)

// pushDown moves the rule's request headers to its backends if one of them changes headers as well.
// Envoy would apply the backend's changes first and the rule's last, but the more specific ones
// must win. For responses Envoy's order is right: the backend's changes, then the rule's.
func pushDown(action ir.Action) ir.Action {
	if action.Forward == nil || action.RequestHeaders.IsZero() ||
		!slices.ContainsFunc(action.Forward.Backends, func(b ir.Backend) bool { return !b.RequestHeaders.IsZero() }) {
		return action
	}
	backends := slices.Clone(action.Forward.Backends)
	for i := range backends {
		backends[i].RequestHeaders = action.RequestHeaders.Then(backends[i].RequestHeaders)
	}
	action.Forward, action.RequestHeaders = &ir.Forward{Backends: backends}, nil
	return action
}
