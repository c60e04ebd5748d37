package store

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatefold/gatefold/store/manifest"
)

// valuesOf returns the values of a field in a user's mapping. The parameter name is the name of the field. The
// value under the correct key comes first, then the values under misspelt and duplicate keys (see means). Null
// values are left out.
func valuesOf(fields map[string]any, name string) (values []any) {
	if fields[name] != nil {
		values = append(values, fields[name])
	}
	var others []string
	for key := range fields {
		if key != name && means(key, name) && fields[key] != nil {
			others = append(others, key)
		}
	}
	slices.Sort(others)
	for _, key := range others {
		values = append(values, fields[key])
	}
	return values
}

// means reports whether a key in a user's text probably stands for the field with the given name. It returns
// true if the key is equal to the name, ignoring case, or if the key is a misspelling of the name. For a
// duplicate key that decoder renamed (see repeated), the key before the renaming counts.
func means(key, name string) bool {
	key, _, _ = strings.Cut(key, repeated)
	if key == name || strings.EqualFold(key, name) {
		return true
	}
	most := max(1, len(name)/4)
	return max(len(key)-len(name), len(name)-len(key)) <= most && manifest.Distance(strings.ToLower(key), strings.ToLower(name)) <= most
}

// textsIn returns the texts in a value: the value itself, or all texts in a list or mapping. It leaves out
// empty texts, and texts that are too long for a name.
func textsIn(value any) (names []string) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			names = append(names, textsIn(item)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			names = append(names, textsIn(v[key])...)
		}
	default:
		if name := strings.TrimSpace(textOf(value)); name != "" && len(name) <= validation.DNS1123SubdomainMaxLength {
			names = append(names, name)
		}
	}
	return names
}

// namesIn returns the texts in a value that are valid names of objects, in lower case.
func namesIn(value any) (names []string) {
	for _, name := range textsIn(value) {
		if name = strings.ToLower(name); len(validation.IsDNS1123Subdomain(name)) == 0 {
			names = append(names, name)
		}
	}
	return names
}

// firstText returns the first text in the value of a field, also under a misspelt name. It returns "" if the value has no
// text.
func firstText(fields map[string]any, name string) string {
	for _, value := range valuesOf(fields, name) {
		if texts := textsIn(value); len(texts) > 0 {
			return texts[0]
		}
	}
	return ""
}
