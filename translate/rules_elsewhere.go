package translate

import (
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate/memo"
)

// inAnyNamespace asks for the objects of a kind and name, wherever they are.
func inAnyNamespace(key store.Key) store.Key {
	key.Namespace = ""
	return key
}

// declareElsewhere finds parents by name, for the hint to a reference that lacks
// their namespace. Of however many there are, a route hears of the first.
func (n *network) declareElsewhere(e *memo.Engine) {
	named := memo.NewFold[store.Key, store.Key, store.Key](e, gather[store.Key](store.CompareKeys), memo.Ordered[store.Key].Same)
	for _, kind := range []*objects{n.in.gateways, n.in.listenerSets, n.in.routes} {
		memo.From(named, kind, func(key store.Key, _ *store.Object, yield func(memo.Place[store.Key, store.Key], store.Key)) {
			yield(memo.Place[store.Key, store.Key]{Key: inAnyNamespace(key), ID: key}, key)
		}, identical)
	}
	n.elsewhere = memo.NewRule(e, "elsewhere", func(c *memo.Ctx, key store.Key) store.Key {
		all, _ := named.Get(c, key)
		for first := range all.All() {
			return first
		}
		return store.Key{}
	}, identical)
}
