package store

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatefold/gatefold/store/manifest"
)

// unnamed is what harmlessName makes of no name.
const unnamed = "_"

// nameAfter gives a policy without a readable name one that names its file, so that those of
// two files are two.
func (r *rejectedObject) nameAfter(path string) {
	if r.invalid != nil && r.invalid.Key.Name == unnamed {
		r.invalid.Key.Name, _ = harmlessName("in " + path)
		r.key = r.invalid.Key
	}
}

// isNameless reports whether a key is one that no object can have, by harmlessName.
func isNameless(key manifest.Key) bool { return strings.HasPrefix(key.Name, unnamed) }

// harmlessName returns a name as it may stand in a key; nameless is true if no object can
// have it. Nothing that is made of it leads to another file.
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
