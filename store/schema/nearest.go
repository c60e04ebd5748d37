package schema

import (
	"maps"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
)

// nearest returns the hint for an unknown field. The parameter siblings has the fields that the object can
// have, and path is the path of the unknown field. The hint names a sibling with a similar name or the same
// meaning, or the objects that can have a field with this name (places), or else lists all siblings. It is ""
// if nothing fits, or if it would list more than 12 siblings.
func nearest(name string, siblings map[string]*node, places map[string][]string, path []step) string {
	names := slices.Sorted(maps.Keys(siblings))
	like := manifest.Nearest(name, names)
	if like != "" && manifest.Distance(strings.ToLower(name), strings.ToLower(like)) <= 1 {
		return "did you mean " + shown(like) + "?"
	}
	if meant := alternative(name, names, fieldWords()); meant != "" {
		return "did you mean " + shown(meant) + "?"
	}
	if where := places[name]; len(where) > 0 {
		return name + " belongs in " + strings.Join(closestPlaces(where, pattern(path[:len(path)-1])), " or ")
	}
	if like != "" {
		return "did you mean " + shown(like) + "?"
	}
	if len(names) == 0 || len(names) > 12 {
		return ""
	}
	return "the fields here are " + strings.Join(names, ", ")
}

// didYouMean returns a hint with the candidate that the user probably meant by a wrong value (name). It chooses
// a candidate that is spelled similarly, or else one with the same meaning. It returns "" if no candidate fits.
func didYouMean(name string, candidates []string) string {
	like := manifest.Nearest(name, candidates)
	if like == "" {
		like = alternative(name, candidates, valueWords())
	}
	if like == "" {
		return ""
	}
	return "did you mean " + shown(like) + "?"
}

// pattern returns a path without indexes, such as spec.rules[].matches[].
func pattern(path []step) string {
	var text strings.Builder
	for i, s := range path {
		switch {
		case s.index >= 0:
			text.WriteString("[]")
			continue
		case i > 0:
			text.WriteByte('.')
		}
		text.WriteString(s.name)
	}
	return text.String()
}

// closestPlaces returns at most two of the paths in places: those closest to the path in the parameter here. A
// path is closer if it has more leading field names in common with that path. If two paths have equally many,
// the shorter path is closer. The paths have no indexes (see pattern).
func closestPlaces(places []string, here string) []string {
	best := slices.Clone(places)
	slices.SortFunc(best, func(a, b string) int {
		if d := shared(b, here) - shared(a, here); d != 0 {
			return d
		}
		if d := strings.Count(a, ".") - strings.Count(b, "."); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return best[:min(2, len(best))]
}

// shared returns how many leading field names two paths have in common.
func shared(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	n := 0
	for n < len(as) && n < len(bs) && as[n] == bs[n] {
		n++
	}
	return n
}

// collectPlaces records where each field name occurs in the schema n. The parameter into is a map for the
// result: the key is the name of a field, and the value is the list of paths of the objects that can have this
// field. The parameter at is the path of n; it is "" for a whole object.
func collectPlaces(n *node, at string, into map[string][]string) {
	for name, child := range n.fields {
		where := at
		if where == "" {
			where = "the object itself"
		}
		into[name] = append(into[name], where)
		below := name
		if at != "" {
			below = at + "." + name
		}
		for child.items != nil {
			child, below = child.items, below+"[]"
		}
		collectPlaces(child, below, into)
	}
}

// fieldNames returns the names of the fields of n as text. It returns "" if there are more than 12.
func fieldNames(n *node) string {
	if len(n.fields) > 12 {
		return ""
	}
	return strings.Join(slices.Sorted(maps.Keys(n.fields)), ", ")
}
