package tenancy

import (
	"maps"
	"slices"
	"strings"
)

// Owners says which namespaces a file belongs to: those whose annotation AnnotationPaths names the file. A Namespace
// without that annotation owns no file, although any file may define its objects. Owners is immutable.
type Owners struct {
	cluster Globs
	// claims has the patterns of all namespaces, by the part of a pattern before its first part with a wildcard.
	claims map[string][]claim
}

// claim is one pattern of a namespace. Of a Namespace with several definitions, further has the patterns of the other
// definitions, which must match as well.
type claim struct {
	namespace string
	glob      Globs
	further   []Globs
}

// Owners returns the owners of all files, as the policies are now.
func (p *Policy) Owners() *Owners {
	o := &Owners{cluster: p.cluster, claims: map[string][]claim{}}
	for _, namespace := range slices.Sorted(maps.Keys(p.declared)) {
		var paths []Globs
		for _, grant := range p.declared[namespace] {
			if grant.Paths != nil {
				paths = append(paths, grant.Paths)
			}
		}
		if len(paths) == 0 {
			continue
		}
		for _, glob := range paths[0] {
			at := literal(glob)
			o.claims[at] = append(o.claims[at], claim{namespace, Globs{glob}, paths[1:]})
		}
	}
	return o
}

// Cluster reports whether a file is one of the cluster paths.
func (o *Owners) Cluster(file string) bool { return o.cluster.Match(file) }

// Of returns the namespaces that a file belongs to, sorted. It returns nil if the file belongs to nobody.
func (o *Owners) Of(file string) (namespaces []string) {
	for end := 0; end >= 0; {
		for _, c := range o.claims[strings.TrimSuffix(file[:end], "/")] {
			if c.glob.Match(file) && !slices.ContainsFunc(c.further, func(g Globs) bool { return !g.Match(file) }) {
				namespaces = append(namespaces, c.namespace)
			}
		}
		next := strings.IndexByte(file[end:], '/')
		switch {
		case next >= 0:
			end += next + 1
		case end < len(file):
			end = len(file)
		default:
			end = -1
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

// literal returns the parts of a pattern before the first part with a wildcard, joined by slashes.
func literal(glob string) string {
	parts := strings.Split(glob, "/")
	i := slices.IndexFunc(parts, func(part string) bool { return strings.ContainsAny(part, `*?[\`) })
	if i < 0 {
		i = len(parts)
	}
	return strings.Join(parts[:i], "/")
}
