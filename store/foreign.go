package store

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatefold/gatefold/store/manifest"
)

// Ignored counts the objects of one kind that gatefold does not use, such as manifests of other programs. Such
// objects are no mistake. A document that is no object of a kind counts as one object.
type Ignored struct {
	// Kind is KIND.GROUP, such as Deployment.apps. It is "" for documents that have no kind.
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
	// makes is the Secret that another program makes of the object in a cluster. It is zero for other objects.
	makes manifest.Key
	// name is the object as text, such as "ExternalSecret shop/cert". It is set if makes is.
	name string
}

// remedies returns kinds that people use by mistake and gatefold does not read. The values are hints what to
// write instead.
func remedies() map[apischema.GroupKind]string {
	const ingress = "convert it to a Gateway and HTTPRoutes: gatefold import ingress FILE --out FOLDER"
	return map[apischema.GroupKind]string{
		{Group: "networking.k8s.io", Kind: "Ingress"}:      ingress,
		{Group: "extensions", Kind: "Ingress"}:             ingress,
		{Group: "networking.k8s.io", Kind: "IngressClass"}: "write a GatewayClass, or name gatewayClassName gatefold",
		{Group: "", Kind: "Endpoints"}:                     "write an EndpointSlice, or a Backend with static hosts",
	}
}

// sight is what foreignKinds knows about one kind that gatefold does not read.
type sight struct {
	// file and place say where the first object of the kind is in the folder. Objects with a text opens go first.
	file  string
	place place
	// count is the number of objects of the kind.
	count int
	// opens says which targets are served without the object at that place, a policy (see foreign.opens). It is "" if no
	// object of the kind has such a text.
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
// The warning is at the first object of the kind, and for policies at the first of those with such a target. The result ignored has each other kind, with the number of its
// objects. Documents without a kind in gatefold's own settings files do not count.
func foreignKinds(flawed map[string]*file) (ignored []Ignored, problems []manifest.Problem) {
	seen := map[apischema.GroupKind]sight{}
	for _, f := range flawed {
		for _, o := range f.oddities().foreign {
			if o.kind.Empty() && path.Base(f.path) == SettingsFile {
				continue // gatefold's own settings file
			}
			at := seen[o.kind]
			if at.count++; at.count == 1 || at.isAfter(f.path, &o) { // the map has no order
				at.file, at.place, at.opens = f.path, o.place, o.opens
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

// isAfter reports whether the object of the sight comes after another object of its kind: an object without a text opens
// after one with such a text, and otherwise by file and line. The parameter file is the path of the other's file.
func (s *sight) isAfter(file string, other *foreign) bool {
	if (s.opens == "") != (other.opens == "") {
		return s.opens == ""
	}
	return cmp.Or(strings.Compare(s.file, file), cmp.Compare(s.place.line, other.place.line)) > 0
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

// isForeign reports whether an object belongs to another program because of what it lacks: its apiVersion or kind is
// missing or is no text, it does not look like an object that gatefold reads (looksOwn), and it is not meant as a
// policy (meantAs, meantToClose).
func (d *documentReader) isForeign(object map[string]any) bool {
	if textOf(object["apiVersion"]) != "" && textOf(object["kind"]) != "" {
		return false
	}
	return !looksOwn(object) && len(d.meantAs(object)) == 0 && d.meantToClose(nil, object) == nil
}

// looksOwn reports whether an object is probably meant for gatefold. Its group is one of the table, or nearly one; or
// its kind is one of the table, or nearly one, or List. An object without a kind is also meant for gatefold if its
// fields say so (hasOwnFields).
func looksOwn(object map[string]any) bool {
	word := wordOfKind(object)
	if strings.EqualFold(word, kindList) || word != "" && nearestKind(word) != nil {
		return true
	}
	return word == "" && hasOwnFields(object) || slices.ContainsFunc(versionsOf(object), func(gv apischema.GroupVersion) bool { return isOwnGroup(gv.Group) })
}

// isForeignDespite reports whether the value of a document with YAML mistakes, such as a duplicate key, belongs to
// another program, so that its mistakes do not count. What exceeds a limit is an error in any file.
func (d *documentReader) isForeignDespite(value any, mistakes []finding) bool {
	if slices.ContainsFunc(mistakes, func(p finding) bool {
		return slices.Contains([]string{"AliasCycle", "TooDeep", "TooManyAliases"}, p.Code)
	}) {
		return false
	}
	object, ok := value.(map[string]any)
	if !ok {
		list, isList := value.([]any)
		return isList && isForeignList(list)
	}
	if len(writtenAs(object, "kind")) != 1 || len(writtenAs(object, "apiVersion")) != 1 {
		return d.isForeign(object) && !looksOwn(object) && isForeignText(d.text)
	}
	gvk := apischema.FromAPIVersionAndKind(textOf(object["apiVersion"]), textOf(object["kind"]))
	_, known := d.schemas.KindNotServed(gvk.GroupKind())
	_, wrong := unknownKind(gvk)
	return d.isForeign(object) && isForeignText(d.text) || gvk.Kind != "" && !gvk.GroupVersion().Empty() && !known && !wrong && !isList(object)
}

// addForeign records an object, or a document, of another program. The parameter at is its path in the document, and
// object is nil if it is no object.
func (d *documentReader) addForeign(at fieldPath, object map[string]any) {
	gv, _ := apischema.ParseGroupVersion(textOf(object["apiVersion"]))
	one := foreign{kind: gv.WithKind(kindWord(object["kind"])).GroupKind(), place: placeOf(d.root)}
	if one.kind.Kind == "" {
		one.kind.Group = ""
	} else {
		one.place = find(d.root, slices.Concat(at, parsePath("kind")))
		one.opens, one.unserved = openedBy(object)
		one.makes, one.name = secretOf(one.kind, object)
	}
	d.foreign = append(d.foreign, one)
}

// headLine matches a line with the key kind or apiVersion in a text that may be no YAML, and its value.
var headLine = regexp.MustCompile(`(?im)^[\s{,-]*["']?(kind|apiversion)["']?\s*:[ \t]*["']?([^\s"',#}]*)`)

// isForeignText reports whether a text that cannot be parsed belongs to another program. It has none of the words
// of gatefold's kinds, and each of its kinds is known to be none that gatefold reads. A text without a kind must
// have no apiVersion of Kubernetes' core either, because the kind may be misspelt.
func isForeignText(text []byte) bool {
	if containsAny(bytes.ToLower(text), "gateway.networking", "kgateway", "gatefold", "targetref", "targetselector", "parentref", "backendref") {
		return false
	}
	core, kinds := false, 0
	for _, head := range headLine.FindAllSubmatch(text, -1) {
		value := string(head[2])
		if strings.EqualFold(string(head[1]), "apiVersion") {
			core = core || value == "v1" || value == "" || strings.Contains(value, "{{")
			continue
		}
		word := kindWord(value)
		if word == "" || strings.EqualFold(word, kindList) || nearestKind(word) != nil {
			return false
		}
		kinds++
	}
	return kinds > 0 || !core
}

// nearestKind returns the kind of the table with the name, or a name that differs in at most maxMisspelt letters. It is nil if
// there is none.
func nearestKind(word string) *kind {
	for most := range maxMisspelt + 1 {
		for i := range kinds {
			if slices.ContainsFunc(kinds[i].words()[:2], func(name string) bool { return manifest.Distance(name, strings.ToLower(word)) == most }) {
				return &kinds[i]
			}
		}
	}
	return nil
}

// isOwnGroup reports whether a group that is not empty is one of the table, or nearly one.
func isOwnGroup(group string) bool {
	return group != "" && (meansKgateway(group) || slices.ContainsFunc(kinds, func(k kind) bool { return k.group != "" && nearGroup(k.group, group) }))
}

// hasOwnFields reports whether an object without a kind is probably one that gatefold reads: its spec has a field of
// routes, Gateways or policies, the object itself has the fields of a route, it has a name and an apiVersion without
// a group, or it is a list of such objects.
func hasOwnFields(object map[string]any) bool {
	spec, _ := object["spec"].(map[string]any)
	for key := range spec {
		if slices.Contains([]string{"parentRefs", "parentRef", "targetRefs", "targetSelectors", "backendRefs", "gatewayClassName", "hostnames", "rules", "listeners"}, key) {
			return true
		}
	}
	metadata, _ := object["metadata"].(map[string]any)
	items, _ := object["items"].([]any)
	return object["parentRefs"] != nil && object["rules"] != nil || metadata["name"] != nil && object["apiVersion"] == "v1" || !isForeignList(items)
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

// isForeignList reports whether no item of a list looks like an object that gatefold reads. It is true for an empty list.
func isForeignList(list []any) bool {
	return !slices.ContainsFunc(list, func(item any) bool {
		object, ok := item.(map[string]any)
		return ok && looksOwn(object)
	})
}

// maxIgnoredShown is how many kinds IgnoredWords names.
const maxIgnoredShown = 10

// IgnoredWords returns texts for a log or a summary: "4 Deployment.apps", "1 Pod", "2 documents of other
// programs". After maxIgnoredShown kinds, the last text is the number of the other kinds.
func IgnoredWords(ignored []Ignored) []string {
	var words []string
	for _, o := range ignored[:min(len(ignored), maxIgnoredShown)] {
		if o.Kind == "" {
			words = append(words, plural(o.Count, "document")+" of other programs")
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
