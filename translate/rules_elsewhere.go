package translate

import (
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate/memo"
)

// declareElsewhere finds Gateways by name, for the hint to a route that names one
// without its namespace. Of however many there are a route hears of the first.
func (n *network) declareElsewhere(e *memo.Engine) {
	named := memo.NewFold[string, store.Key, store.Key](e, gather[store.Key](store.CompareKeys), memo.Ordered[store.Key].Same)
	memo.From(named, n.in.gateways, func(key store.Key, _ *store.Object, yield func(memo.Place[string, store.Key], store.Key)) {
		yield(memo.Place[string, store.Key]{Key: key.Name, ID: key}, key)
	}, identical)
	n.elsewhere = memo.NewRule(e, "elsewhere", func(c *memo.Ctx, name string) store.Key {
		gateways, _ := named.Get(c, name)
		for key := range gateways.All() {
			return key
		}
		return store.Key{}
	}, identical)
}
