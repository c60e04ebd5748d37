package translate

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/memo"
)

// The problem of a reference that leads nowhere has suggestions: an object of the name in
// another namespace, or one of a similar name in its own. They are searched for only where a
// reference fails.

// inAnyNamespace returns a key for the objects of a kind and name in any namespace.
func inAnyNamespace(key manifest.Key) manifest.Key {
	key.Namespace = ""
	return key
}

// drawer holds the objects of a kind whose names share a hash. A cell for each name would cost
// memory for every object, while wrong references are rare.
type drawer struct {
	Kind   string
	Number uint32
}

const drawers = 1024 // of each kind

func drawerOf(key manifest.Key) drawer {
	hash := fnv.New32a()
	hash.Write([]byte(key.Name))
	return drawer{key.Kind, hash.Sum32() % drawers}
}

// called is an object in a drawer.
type called struct{ Name, Namespace string }

func compareCalled(a, b called) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace))
}

// kindIn is a kind in a namespace. Namespace is "" for kinds without namespaces.
type kindIn struct{ Kind, Namespace string }

// hintRules suggest which object a failing reference may have meant.
type hintRules struct {
	elsewhere *memo.Rule[manifest.Key, manifest.Key]
	near      *memo.Rule[manifest.Key, string]
}

// newHintRules declares the rules. inAny are kinds that are looked for in other namespaces: their
// names are no secrets. inOwn are kinds whose similar names are looked for in the same namespace.
func newHintRules(e *memo.Engine, inAny, inOwn []*objects) *hintRules {
	type place = memo.Place[drawer, manifest.Key]
	named := memo.NewFold[drawer, manifest.Key](e, "named", gather[manifest.Key](compareCalled), memo.Ordered[called].Same)
	for _, kind := range inAny {
		memo.From(named, kind, func(key manifest.Key, _ *manifest.Object, yield func(place, called)) {
			yield(place{Key: drawerOf(key), ID: key}, called{key.Name, key.Namespace})
		}, identical)
	}
	r := &hintRules{}
	r.elsewhere = memo.NewRule(e, "elsewhere", func(c *memo.Ctx, key manifest.Key) manifest.Key {
		all, _ := named.Get(c, drawerOf(key))
		for one := range all.From(called{Name: key.Name}) {
			if one.Name != key.Name {
				break
			}
			key.Namespace = one.Namespace
			return key
		}
		return manifest.Key{}
	}, identical)
	r.near = nearRule(e, inOwn)
	return r
}

// nearRule declares the rule that finds similar names in a namespace.
func nearRule(e *memo.Engine, kinds []*objects) *memo.Rule[manifest.Key, string] {
	names := memo.NewFold[kindIn, string](e, "names", gather[string](strings.Compare), memo.Ordered[string].Same)
	for _, kind := range kinds {
		memo.From(names, kind, func(key manifest.Key, _ *manifest.Object, yield func(memo.Place[kindIn, string], string)) {
			yield(memo.Place[kindIn, string]{Key: kindIn{key.Kind, key.Namespace}, ID: key.Name}, key.Name)
		}, identical)
	}
	return memo.NewRule(e, "near", func(c *memo.Ctx, key manifest.Key) string {
		all, _ := names.Get(c, kindIn{key.Kind, key.Namespace})
		return nearName(key.Name, around(all, key.Name))
	}, identical)
}

// maxAround bounds the names that a failing reference is compared with, so that ten
// thousand of them in a namespace of ten thousand names cost no more than their number.
const maxAround = 64

// around returns all names if they are few, else the neighbours of name in alphabetical order.
// Neighbours have the same first letters.
func around(all memo.Ordered[string], name string) []string {
	var names []string
	for one := range all.Before(name) {
		if len(names) == maxAround/2 && all.Len() > maxAround {
			break
		}
		names = append(names, one)
	}
	for one := range all.From(name) {
		if len(names) >= maxAround {
			break
		}
		names = append(names, one)
	}
	return names
}

// nearName returns the name that was likely meant: the most similar one, else one that differs by
// missing letters; "" if there is none.
func nearName(name string, names []string) string {
	if like := manifest.Nearest(name, names); like != "" {
		return like
	}
	best, least := "", 0
	for _, one := range names {
		gap := len(one) - len(name)
		if gap < 0 {
			gap = -gap
		}
		if shortens(name, one) && (best == "" || gap < least) {
			best, least = one, gap
		}
	}
	return best
}

// shortens reports whether one name is the other with letters left out after its first half, as
// cart-svc and cart-service.
func shortens(a, b string) bool {
	short, long := a, b
	if len(short) > len(long) {
		short, long = long, short
	}
	begin := max(2, len(short)/2)
	if len(short) < begin || !strings.HasPrefix(long, short[:begin]) {
		return false
	}
	rest := long[begin:]
	for _, letter := range []byte(short[begin:]) {
		at := strings.IndexByte(rest, letter)
		if at < 0 {
			return false
		}
		rest = rest[at+1:]
	}
	return true
}

// absent returns a hint for a reference to an object that does not exist. from is what has the
// reference.
func (r *hintRules) absent(c *memo.Ctx, key manifest.Key, from string) string {
	if other := r.elsewhere.Get(c, inAnyNamespace(key)); other.Name != "" {
		return fmt.Sprintf("there is %s: add namespace: %s to the %s", other, other.Namespace, from)
	}
	if like := r.near.Get(c, key); like != "" {
		return didYouMean(key, like)
	}
	return fmt.Sprintf("create %s, fix it if it has errors, or fix the name or namespace of the %s", key, from)
}

// absentHere is absent for a reference without a namespace: the object must be in the namespace of
// the object that refers to it.
func (r *hintRules) absentHere(c *memo.Ctx, key manifest.Key) string {
	if like := r.near.Get(c, key); like != "" {
		return didYouMean(key, like)
	}
	return fmt.Sprintf("create %s, fix it if it has errors, or fix the name; the reference leads to its own namespace only", key)
}

// meant returns the beginning of a hint with the most similar one of names.
func meant(name string, names []string) string {
	if like := nearName(name, names); like != "" {
		return fmt.Sprintf("did you mean %q? ", like)
	}
	return ""
}

func didYouMean(key manifest.Key, like string) string {
	return fmt.Sprintf("create %s, or fix the name; did you mean %q?", key, like)
}
