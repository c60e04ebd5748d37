package tenancy

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Namespaces are names of namespaces. The name "*" means every namespace.
type Namespaces []string

// everyNamespace is the name that means every namespace.
const everyNamespace = "*"

// maxNamespaces is how many names an annotation may have.
const maxNamespaces = 1024

// ParseNamespaces parses names of namespaces that are separated by commas, spaces or line breaks, such as "team-a,
// team-b". The name * means every namespace. ParseNamespaces returns an error if a name is invalid, if there is none,
// or if there are more than maxNamespaces. The error says what to write.
func ParseNamespaces(text string) (Namespaces, error) {
	list, err := entries(text, `names of namespaces, such as "team-a, team-b", or "*" for all`)
	if err != nil {
		return nil, err
	}
	if len(list) > maxNamespaces {
		return nil, fmt.Errorf("%d namespaces are more than %d: write \"*\" for all", len(list), maxNamespaces)
	}
	for _, name := range list {
		if name != everyNamespace && len(validation.IsDNS1123Label(name)) > 0 {
			return nil, fmt.Errorf("%q is not the name of a namespace: write names such as team-a, or \"*\" for all", name)
		}
	}
	return list, nil
}

// Has reports whether n has a namespace, by its name or by "*".
func (n Namespaces) Has(namespace string) bool {
	return slices.Contains(n, namespace) || slices.Contains(n, everyNamespace)
}

// With returns n with more names, in a form that ParseNamespaces can read. Names that n has are not repeated.
func (n Namespaces) With(more ...string) string {
	all := slices.Clone(n)
	for _, name := range more {
		if !all.Has(name) {
			all = append(all, name)
		}
	}
	return strings.Join(all, ", ")
}
