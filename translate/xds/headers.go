package xds

import (
	"slices"

	"github.com/gatefold/gatefold/translate/ir"
)

// pushDown moves the rule's request headers into its backends when one of them
// changes headers as well. Envoy would apply the backend's first and let the
// rule have the last word; the more specific one shall have it. On the way back
// Envoy's order is right: the backend's changes, then the rule's.
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
