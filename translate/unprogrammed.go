package translate

import (
	"fmt"
	"slices"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
)

// newUnprogrammed declares the fold that counts, by namespace, the policies that are not served and because of which
// listeners accept no connections (store.Invalid.Unprogrammed). Mostly there are none, so that nothing more is read.
func newUnprogrammed(e *memo.Engine, invalid *memo.Input[manifest.Key, *store.Invalid]) *memo.Fold[string, manifest.Key, struct{}, int] {
	f := memo.NewFold[string, manifest.Key](e, "unprogrammed", count[manifest.Key], identical[int])
	memo.From(f, invalid, func(key manifest.Key, from *store.Invalid, yield func(memo.Place[string, manifest.Key], struct{})) {
		if from.Unprogrammed {
			yield(memo.Place[string, manifest.Key]{Key: key.Namespace, ID: key}, struct{}{})
		}
	}, identical)
	return f
}

// policiesAgainst returns a function that returns why a listener of a Gateway must accept no connections: the policies
// that are not served and demand it, "" if there are none. A policy that names a section which its target does not have
// counts for all of its listeners.
func (r *gatewayRules) policiesAgainst(c *memo.Ctx, g *listen.Gateway) func(*listen.Listener) string {
	byOwner := map[manifest.Key][]*policyTarget{}
	return func(l *listen.Listener) string {
		against, known := byOwner[l.Owner]
		if !known {
			against = r.against(c, l.Owner)
			byOwner[l.Owner] = against
		}
		for _, one := range against {
			for _, target := range one.Targets {
				if target.Section == "" || target.Section == l.Name || !slices.ContainsFunc(g.ListenersOf(l.Owner), func(o *listen.Listener) bool { return o.Name == target.Section }) {
					return fmt.Sprintf("gatefold does not serve %s, which may limit who can connect", one.Policy)
				}
			}
		}
		return ""
	}
}

// against returns the policies that are not served, that target a Gateway or ListenerSet, or one of its listeners, and
// because of which listeners accept no connections.
func (r *gatewayRules) against(c *memo.Ctx, owner manifest.Key) (found []*policyTarget) {
	if some, _ := r.in.unprogrammed.Get(c, owner.Namespace); some == 0 {
		return nil
	}
	for _, one := range r.in.aims.at.Get(c, owner).Aims {
		if from, ok := r.in.invalid.Get(c, one.Policy); ok && from.Unprogrammed {
			found = append(found, one)
		}
	}
	return found
}
