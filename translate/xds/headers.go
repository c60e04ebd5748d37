package xds

import (
	"slices"

	"github.com/gatefold/gatefold/translate/ir"
)

// pushDown moves the request header changes of a rule to its backends, if at least one backend changes request
// headers, too. Without this, Envoy would apply the backend's changes first and the rule's last. But the backend's
// changes are more specific and must win. Response headers need no move, because Envoy applies their changes in
// the right order.
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
