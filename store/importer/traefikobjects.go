package importer

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
)

// traefikNamespace is the namespace of all objects that the import of Traefik's files writes.
const traefikNamespace = "traefik"

// traefikObjects are the objects that the import of Traefik's files writes.
type traefikObjects struct {
	collection *collection
	names      map[string]bool // names in use, as KIND/NAME
}

// name returns a new name for an object of a kind, as similar as possible to the parameter wanted. Characters that a
// name cannot have become "-". Each call with the same kind returns a different name.
func (o *traefikObjects) name(kind, wanted string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, wanted)
	if len(plain) > 50 {
		plain = plain[:50]
	}
	plain = cmp.Or(strings.Trim(plain, "-"), "unnamed")
	name := plain
	for i := 2; o.names[kind+"/"+name]; i++ {
		name = fmt.Sprintf("%s-%d", plain, i)
	}
	o.names[kind+"/"+name] = true
	return name
}

// put adds an object to the objects that import writes, in the namespace traefik, and returns it.
func (o *traefikObjects) put(apiVersion, kind, name string, spec map[string]any) *item {
	group, _, _ := strings.Cut(apiVersion, "/")
	return o.collection.put(manifest.Key{Group: group, Kind: kind, Namespace: traefikNamespace, Name: name}, apiVersion, spec)
}
