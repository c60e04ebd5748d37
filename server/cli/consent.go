package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
)

// consents returns a line for each annotation that lets the objects of a reading do what they ask of other namespaces:
// to delegate to their routes, and to use their GatewayExtensions (docs/guides/teams.md#consent). Each line is the
// whole annotation, with the names that it has already. It returns "" if there are none.
func consents(read reading) string {
	asked := map[manifest.Field][]string{} // namespaces, by annotation
	for _, p := range read.Problems {
		if strings.Contains(p.Cause.Path, tenancy.AnnotationDelegation) || strings.Contains(p.Cause.Path, tenancy.AnnotationUsers) {
			asked[p.Cause] = append(asked[p.Cause], p.Object.Namespace)
		}
	}
	text := ""
	compare := func(a, b manifest.Field) int { return manifest.CompareKeys(a.Object, b.Object) }
	for _, at := range slices.SortedFunc(maps.Keys(asked), compare) {
		name := strings.TrimSuffix(strings.TrimPrefix(at.Path, "metadata.annotations["), "]")
		slices.Sort(asked[at])
		before, _ := tenancy.ParseNamespaces(annotationOf(read.Objects, at.Object, name))
		text += fmt.Sprintf("\n  %s: %s: %q", at.Object, name, before.With(asked[at]...))
	}
	if text == "" {
		return ""
	}
	return "\nannotations to add, if these namespaces are to have what they ask for:" + text
}

// annotationOf returns an annotation of one of the objects, "" if there is none.
func annotationOf(objects []*manifest.Object, key manifest.Key, name string) string {
	for _, object := range objects {
		if object.Key == key {
			return object.Value.GetAnnotations()[name]
		}
	}
	return ""
}
