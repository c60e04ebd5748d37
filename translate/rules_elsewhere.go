package translate

import (
	"cmp"
	"hash/fnv"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate/memo"
)

// inAnyNamespace asks for the objects of a kind and name, wherever they are.
func inAnyNamespace(key store.Key) store.Key {
	key.Namespace = ""
	return key
}

// drawer holds the objects of a kind whose names share a hash: a cell for each name
// would be kept for every object, and hardly a reference is ever wrong.
type drawer struct {
	Kind   string
	Number uint32
}

const drawers = 1024 // of each kind

func drawerOf(key store.Key) drawer {
	hash := fnv.New32a()
	hash.Write([]byte(key.Name))
	return drawer{key.Kind, hash.Sum32() % drawers}
}

// called is an object in its drawer.
type called struct{ Name, Namespace string }

func compareCalled(a, b called) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace))
}

// declareElsewhere finds parents by name, for the hint to a reference that lacks
// their namespace. Of however many there are, a route hears of the first.
func (n *network) declareElsewhere(e *memo.Engine) {
	type place = memo.Place[drawer, store.Key]
	named := memo.NewFold[drawer, store.Key](e, gather[store.Key](compareCalled), memo.Ordered[called].Same)
	for _, kind := range []*objects{n.in.gateways, n.in.listenerSets, n.in.routes} {
		memo.From(named, kind, func(key store.Key, _ *store.Object, yield func(place, called)) {
			yield(place{Key: drawerOf(key), ID: key}, called{key.Name, key.Namespace})
		}, identical)
	}
	n.elsewhere = memo.NewRule(e, "elsewhere", func(c *memo.Ctx, key store.Key) store.Key {
		all, _ := named.Get(c, drawerOf(key))
		for one := range all.All() {
			if one.Name == key.Name {
				key.Namespace = one.Namespace
				return key
			}
		}
		return store.Key{}
	}, identical)
}
