package store

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatefold/gatefold/store/manifest"
)

// Ignored counts the objects of one kind that gatefold does not use, such as manifests of other programs. Such
// objects are no mistake. A document without apiVersion and kind counts as one object.
type Ignored struct {
	// Kind is KIND.GROUP, such as Deployment.apps. It is "" for documents without apiVersion and kind.
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

// foreign is an object of a kind that gatefold does not read. The kind is zero if the document is no Kubernetes
// object.
type foreign struct {
	kind  apischema.GroupKind
	place place
	// If the object is a policy of another program, opens says which targets are served without it, such as
	// "HTTPRoute shop/cart is served without it", and unserved is the record of the policy. opens is "" and
	// unserved is nil for other objects, and for a policy without targets of the kinds in foreignTargets.
	opens    string
	unserved *manifest.Unserved
}

// remedies returns kinds that people use by mistake and gatefold does not read. The values are hints what to
// write instead.
func remedies() map[apischema.GroupKind]string {
	const ingress = "convert it to a Gateway and HTTPRoutes, for example with ingress2gateway"
	return map[apischema.GroupKind]string{
		{Group: "networking.k8s.io", Kind: "Ingress"}:      ingress,
		{Group: "extensions", Kind: "Ingress"}:             ingress,
		{Group: "networking.k8s.io", Kind: "IngressClass"}: "write a GatewayClass, or name gatewayClassName gatefold",
		{Group: "", Kind: "Endpoints"}:                     "write an EndpointSlice, or a Backend with static hosts",
	}
}

// sight is what foreignKinds knows about one kind that gatefold does not read.
type sight struct {
	// file and place say where the first object of the kind is in the folder.
	file  string
	place place
	// count is the number of objects of the kind.
	count int
	// opens says which targets are served without one of these objects, a policy (see foreign.opens). If several
	// policies have such a text, opens is the first text in alphabetical order. It is "" if no object has such a
	// text.
	opens string
	// unserved has the policies of this kind that have a target of one of the kinds in foreignTargets.
	unserved []placedUnserved
}

// placedUnserved is a policy of a kind that gatefold does not serve, with its place.
type placedUnserved struct {
	file string
	place
	manifest.Unserved
}

// foreignKinds counts the objects of kinds that gatefold does not use. The parameter flawed has the files to search,
// by path: at least all files with such objects. Each kind is either in problems or in ignored. The result problems
// has one warning for each of these kinds:
//
//   - a kind that is a key in the map of the function remedies
//   - a kind of policy, if a policy of this kind has a target of one of the kinds in foreignTargets
//
// The warning is at the first object of the kind. The result ignored has each other kind, with the number of its
// objects. Documents without a kind in gatefold's own settings files do not count.
func foreignKinds(flawed map[string]*file) (ignored []Ignored, problems []manifest.Problem) {
	seen := map[apischema.GroupKind]sight{}
	for _, f := range flawed {
		for _, o := range f.oddities().foreign {
			if o.kind.Empty() && path.Base(f.path) == SettingsFile {
				continue // gatefold's own settings file
			}
			at, known := seen[o.kind]
			if !known || f.path < at.file || f.path == at.file && o.place.line < at.place.line {
				at.file, at.place = f.path, o.place
			}
			at.count++
			if at.opens == "" || o.opens != "" && o.opens < at.opens { // the map has no order
				at.opens = o.opens
			}
			if o.unserved != nil {
				at.unserved = append(at.unserved, placedUnserved{f.path, o.place, *o.unserved})
			}
			seen[o.kind] = at
		}
	}
	hints := remedies()
	for kind, at := range seen {
		hint, ours := hints[kind]
		words := ""
		switch {
		case at.opens != "":
			words, hint = ": "+at.opens, cmp.Or(hint, "write a TrafficPolicy for the targets")
		case !ours:
			ignored = append(ignored, Ignored{clean(kind.String()), at.count})
			continue
		}
		problems = append(problems, manifest.Problem{
			Code: "KindIgnored", Severity: manifest.Warning, File: at.file, Line: at.place.line, Column: at.place.column, Field: "kind",
			Message: fmt.Sprintf("gatefold does not serve the kind %s (%d in the folder)%s", clean(kind.String()), at.count, words), Hint: hint,
			Unserved: at.first(),
		})
	}
	slices.SortFunc(ignored, func(a, b Ignored) int { return strings.Compare(a.Kind, b.Kind) })
	return ignored, problems
}

// first sorts s.unserved by file and line. It returns the policies at the beginning of the sorted list, at most
// maxUnserved, with their places. It returns nil if s.unserved is empty.
func (s *sight) first() *[]manifest.Unserved {
	if len(s.unserved) == 0 {
		return nil
	}
	slices.SortFunc(s.unserved, func(a, b placedUnserved) int {
		return cmp.Or(strings.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	var list []manifest.Unserved
	for _, one := range s.unserved[:min(len(s.unserved), maxUnserved)] {
		one.File, one.Line, one.Column = one.file, one.line, one.column
		list = append(list, one.Unserved)
	}
	return &list
}

// isForeign reports whether a document is no Kubernetes object. Such a document has neither apiVersion nor
// kind, not even misspelt. It also has no field that shows an incomplete Kubernetes object, such as
// metadata.name or spec.rules.
func isForeign(object map[string]any) bool {
	for key, value := range object {
		items, isList := value.([]any)
		if key == "apiVersion" || key == "kind" || looksLikeHead(key, value) || ownField(key) || key == "items" && isList && !isForeignList(items) {
			return false
		}
	}
	metadata, _ := object["metadata"].(map[string]any)
	spec, hasSpec := object["spec"].(map[string]any)
	if metadata["name"] != nil || metadata != nil && hasSpec {
		return false
	}
	for key := range spec {
		if ownField(key) || key == "hostnames" || key == "rules" || key == "listeners" {
			return false
		}
	}
	return true
}

// looksLikeHead reports whether a field is probably meant as apiVersion or kind: its key is similar to
// apiVersion, or its key is similar to kind and its value is similar to a known kind. The result is false if the
// value is not a text.
func looksLikeHead(key string, value any) bool {
	text, isText := value.(string)
	if len(key) > 2*len("apiVersion") || !isText {
		return false
	}
	if isLikeAPIVersion(key) {
		return true
	}
	return manifest.Distance(strings.ToLower(key), "kind") <= 2 && manifest.Nearest(text, allKindNames()) != ""
}

// isLikeAPIVersion reports whether a key is apiVersion or similar to apiVersion.
func isLikeAPIVersion(key string) bool {
	return manifest.Distance(strings.ToLower(key), "apiversion") <= 2
}

// misspeltHead returns a key that is similar to apiVersion, "" if there is none.
func misspeltHead(object map[string]any) string {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if key != "apiVersion" && isLikeAPIVersion(key) {
			return key
		}
	}
	return ""
}

// ownField reports whether a field of this name shows that an object is meant for gatefold, even if the object
// has no kind.
func ownField(key string) bool {
	switch key {
	case "parentRefs", "parentRef", "targetRefs", "targetSelectors", "backendRefs", "gatewayClassName":
		return true
	}
	return false
}

func allKindNames() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// isForeignList reports whether no item of a list looks like a Kubernetes object. It is true for an empty list.
func isForeignList(list []any) bool {
	return !slices.ContainsFunc(list, func(item any) bool {
		object, ok := item.(map[string]any)
		return ok && !isForeign(object)
	})
}

// maxIgnoredShown is how many kinds IgnoredWords names.
const maxIgnoredShown = 10

// IgnoredWords returns texts for a log or a summary: "4 Deployment.apps", "1 Pod", "2 documents without
// apiVersion and kind". After maxIgnoredShown kinds, the last text is the number of the other kinds.
func IgnoredWords(ignored []Ignored) []string {
	var words []string
	for _, o := range ignored[:min(len(ignored), maxIgnoredShown)] {
		if o.Kind == "" {
			words = append(words, plural(o.Count, "document")+" without apiVersion and kind")
		} else {
			words = append(words, fmt.Sprintf("%d %s", o.Count, o.Kind))
		}
	}
	if more := len(ignored) - len(words); more > 0 {
		words = append(words, plural(more, "more kind"))
	}
	return words
}

// plural returns the number and the noun, with an "s" unless n is 1.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
