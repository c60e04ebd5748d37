package store

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatefold/gatefold/store/manifest"
)

// unnamed is what harmlessName makes of no name.
const unnamed = "_"

// nameAfter names a policy without a readable name after its file, so that the policies of two
// files have two names.
func (r *rejectedObject) nameAfter(path string) {
	if r.invalid != nil && r.invalid.Key.Name == unnamed {
		r.invalid.Key.Name, _ = harmlessName("in " + path)
		r.key = r.invalid.Key
	}
}

// isNameless reports whether a key has a name that no object can have, made by harmlessName.
func isNameless(key manifest.Key) bool { return strings.HasPrefix(key.Name, unnamed) }

// harmlessName returns a name that is safe in a key and in a file name. nameless is true if no
// object can have the original name.
func harmlessName(name string) (harmless string, nameless bool) {
	if len(validation.IsDNS1123Subdomain(name)) == 0 {
		return name, false
	}
	harmless = strings.Map(func(r rune) rune {
		if r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, cut(name))
	return "_" + harmless, true
}
