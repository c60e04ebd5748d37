package store

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatefold/gatefold/store/manifest"
)

// unnamed is the name that harmlessName returns for "". Every name that harmlessName returns for an invalid name
// begins with unnamed. No valid name does.
const unnamed = "_"

// nameAfter sets the name of a policy that has no readable name. The new name is made from the path of the
// policy's file, so that policies of two files have different names.
func (r *rejectedObject) nameAfter(path string) {
	if r.invalid != nil && r.invalid.Key.Name == unnamed {
		r.invalid.Key.Name, _ = harmlessName("in " + path)
		r.key = r.invalid.Key
	}
}

// isNameless reports whether harmlessName made the name of a key, because the object's name is invalid.
func isNameless(key manifest.Key) bool { return strings.HasPrefix(key.Name, unnamed) }

// harmlessName returns name and false if name is valid. Otherwise it returns a similar name, which is safe in a
// key and in a file name, and true.
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
