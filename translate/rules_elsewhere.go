package translate

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
)

// The problem of a reference to a missing object contains a suggestion: an object with the same name in another
// namespace, or one with a similar name in its own namespace. Suggestions are computed only for failing
// references.

// inAnyNamespace returns the key by which hintRules.elsewhere finds objects of the same kind and name in any
// namespace: key without its namespace.
func inAnyNamespace(key manifest.Key) manifest.Key {
	key.Namespace = ""
	return key
}

// nameBucket is a group of objects of one kind, in all namespaces. The names of the objects in a group have the same
// hash. The rule hintRules.elsewhere finds a name by a search in the name's group. One list for each group costs less
// memory than one list for each name. The search takes more time, but it is only for wrong references, which are
// rare.
type nameBucket struct {
	Kind   string
	Number uint32
}

const nameBuckets = 1024 // of each kind

// bucketOf returns the bucket of an object.
func bucketOf(key manifest.Key) nameBucket {
	hash := fnv.New32a()
	hash.Write([]byte(key.Name))
	return nameBucket{key.Kind, hash.Sum32() % nameBuckets}
}

// namedObject is the name and namespace of an object in a nameBucket.
type namedObject struct{ Name, Namespace string }

func compareNames(a, b namedObject) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace))
}

// kindIn is a kind in a namespace. Namespace is "" for kinds without namespaces.
type kindIn struct{ Kind, Namespace string }

// hintRules suggest an existing object for a reference to a missing one. The rule elsewhere finds an object with
// the same name in another namespace, the zero Key if there is none. The rule near finds a similar name in the
// same namespace, "" if there is none.
type hintRules struct {
	faulty    *memo.Input[manifest.Key, *store.Invalid] // the objects that are not valid
	elsewhere *memo.Rule[manifest.Key, manifest.Key]
	near      *memo.Rule[manifest.Key, string]
}

// newHintRules declares the rules that suggest an object if a reference names an object that does not exist. For the
// kinds in the parameter inAny, they suggest an object with the same name in another namespace, because the names of
// these kinds are not secret. For the kinds in the parameter inOwn, they suggest an object with a similar name in the
// same namespace. The parameter invalid has the objects that exist and are not valid.
func newHintRules(e *memo.Engine, invalid *memo.Input[manifest.Key, *store.Invalid], inAny, inOwn []*objects) *hintRules {
	type place = memo.Place[nameBucket, manifest.Key]
	named := memo.NewFold[nameBucket, manifest.Key](e, "named", gather[manifest.Key](compareNames), ordered.Set[namedObject].Same)
	for _, kind := range inAny {
		memo.From(named, kind, func(key manifest.Key, _ *manifest.Object, yield func(place, namedObject)) {
			yield(place{Key: bucketOf(key), ID: key}, namedObject{key.Name, key.Namespace})
		}, identical)
	}
	r := &hintRules{faulty: invalid}
	r.elsewhere = memo.NewRule(e, "elsewhere", func(c *memo.Ctx, key manifest.Key) manifest.Key {
		all, _ := named.Get(c, bucketOf(key))
		for one := range all.From(namedObject{Name: key.Name}) {
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

// nearRule declares the rule that returns a similar name in the same namespace, "" if there is none.
func nearRule(e *memo.Engine, kinds []*objects) *memo.Rule[manifest.Key, string] {
	names := memo.NewFold[kindIn, string](e, "names", gather[string](strings.Compare), ordered.Set[string].Same)
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

// maxAround is the number of names that the name of a failing reference is compared with. It keeps the cost low
// if a namespace has thousands of names and thousands of failing references.
const maxAround = 64

// around returns the names that are compared with a given name. The parameter all has the names of the namespace.
// If there are more than maxAround names, the result has only the neighbors of the given name in alphabetical
// order, because similar names often begin alike.
func around(all ordered.Set[string], name string) []string {
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

// nearName returns the name in names that is most similar to the given name. If none is similar, it returns a
// name that differs only by omitted letters (see shortens); of several, the one with the closest length. If
// there is no such name either, the result is "".
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

// shortens reports whether one name is the other one with letters omitted after the first half, for example
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

// wordReference is the word for a reference that needs a ReferenceGrant if it names another namespace, unless it names a
// route (see hintRules.absent).
const wordReference = "reference"

// absence says what is wrong with a reference to an object that is not served. Invalid is true if the object exists and
// has errors.
type absence struct {
	Message, Hint string
	Invalid       bool
}

// absent returns what is wrong with a reference to an object (key) that is not served, because it does not exist or is
// not valid. The hint for one that does not exist suggests an object
// with the same name in another namespace, or else an object with a similar name. If there is neither, the hint
// suggests to create the object, or to fix the object or the reference. The parameter from is the word for the
// reference in the hint, for example "parentRef".
func (r *hintRules) absent(c *memo.Ctx, key manifest.Key, from string) absence {
	if _, invalid := r.faulty.Get(c, key); invalid {
		return isInvalid(key)
	}
	return absence{Message: key.String() + " does not exist", Hint: r.absentHint(c, key, from)}
}

// isInvalid returns what is wrong with a reference to an object (key) that has errors.
func isInvalid(key manifest.Key) absence {
	return absence{Message: key.String() + " is not valid, and not served", Hint: "fix the errors of " + key.String() + " first", Invalid: true}
}

// absentHint returns the hint of absent for an object that does not exist.
func (r *hintRules) absentHint(c *memo.Ctx, key manifest.Key, from string) string {
	if other := r.elsewhere.Get(c, inAnyNamespace(key)); other.Name != "" {
		hint := fmt.Sprintf("there is %s: add namespace: %s to the %s", other, other.Namespace, from)
		if from == wordReference && key.Kind != "HTTPRoute" && key.Kind != "Gateway" {
			hint += ", and let a ReferenceGrant in namespace " + other.Namespace + " permit it"
		}
		return hint
	}
	if like := r.near.Get(c, key); like != "" {
		return didYouMean(key, like)
	}
	hint := fmt.Sprintf("create %s, fix it if it has errors, or fix the name or namespace of the %s", key, from)
	if key.Kind == "Secret" {
		hint += fmt.Sprintf("; certificates and keys may lie in --secret-dir instead of the folder: %s/%s/tls.crt and tls.key", key.Namespace, key.Name)
	}
	return hint
}

// absentHere does the same as absent for references that cannot name a namespace. It suggests only an object of the same
// namespace.
func (r *hintRules) absentHere(c *memo.Ctx, key manifest.Key) absence {
	if _, invalid := r.faulty.Get(c, key); invalid {
		return isInvalid(key)
	}
	hint := fmt.Sprintf("create %s, fix it if it has errors, or fix the name; the reference leads to its own namespace only", key)
	if like := r.near.Get(c, key); like != "" {
		hint = didYouMean(key, like)
	}
	return absence{Message: key.String() + " does not exist", Hint: hint}
}

// meant returns the question with which a hint begins, such as `did you mean "web"? `. The question suggests the
// most similar of the existing names. If no existing name is similar, the result is "".
func meant(name string, names []string) string {
	if like := nearName(name, names); like != "" {
		return fmt.Sprintf("did you mean %q? ", like)
	}
	return ""
}

// didYouMean returns the hint for a reference to an object (key) that does not exist. The parameter like is the
// similar name of an object that exists.
func didYouMean(key manifest.Key, like string) string {
	return fmt.Sprintf("create %s, or fix the name; did you mean %q?", key, like)
}
