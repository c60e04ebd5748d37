package xds

import (
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// pushDown moves the rule's request headers into its back ends when one of them
// changes headers as well. Envoy would apply the back end's first and let the
// rule have the last word; the more specific one shall have it. On the way back
// Envoy's order is right: the back end's changes, then the rule's.
func pushDown(action ir.Action) ir.Action {
	if action.Forward == nil || action.RequestHeaders.IsZero() ||
		!slices.ContainsFunc(action.Forward.Backends, func(b ir.Backend) bool { return !b.RequestHeaders.IsZero() }) {
		return action
	}
	backends := slices.Clone(action.Forward.Backends)
	for i := range backends {
		backends[i].RequestHeaders = then(action.RequestHeaders, backends[i].RequestHeaders)
	}
	action.Forward, action.RequestHeaders = &ir.Forward{Backends: backends}, ir.HeaderMods{}
	return action
}

// then gives one change that does what first and next do one after the other.
func then(first, next ir.HeaderMods) ir.HeaderMods {
	replaced := func(header ir.Header) bool {
		same := func(name string) bool { return strings.EqualFold(name, header.Name) }
		return slices.ContainsFunc(next.Remove, same) ||
			slices.ContainsFunc(next.Set, func(h ir.Header) bool { return same(h.Name) })
	}
	return ir.HeaderMods{
		Set:    append(slices.DeleteFunc(slices.Clone(first.Set), replaced), next.Set...),
		Add:    append(slices.DeleteFunc(slices.Clone(first.Add), replaced), next.Add...),
		Remove: slices.Concat(first.Remove, next.Remove),
	}
}
