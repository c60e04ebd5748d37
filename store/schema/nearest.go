package schema

import (
	"maps"
	"slices"
	"strings"
)

// nearest says what an unknown field at path may have been meant as: a sibling
// of a similar name, a field of that name elsewhere in the kind (places), or
// else one of the siblings.
func nearest(name string, siblings map[string]*node, places map[string][]string, path []step) string {
	names := slices.Sorted(maps.Keys(siblings))
	like, distance := closest(name, names)
	if like != "" && distance <= 1 {
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

// didYouMean proposes the value that name is most like in its letters or, of the values
// that people write for one another, in its meaning.
func didYouMean(name string, candidates []string) string {
	like, _ := closest(name, candidates)
	if like == "" {
		like = alternative(name, candidates, valueWords())
	}
	if like == "" {
		return ""
	}
	return "did you mean " + shown(like) + "?"
}

// Nearest gives the candidate most like name, "" when none is alike.
func Nearest(name string, candidates []string) string {
	like, _ := closest(name, candidates)
	return like
}

// closest gives the candidate with the smallest distance to name; "" when all
// differ in more than a third of the letters.
func closest(name string, candidates []string) (best string, distance int) {
	name = strings.ToLower(name)
	if len(name) > shownLength {
		return "", 0
	}
	for _, candidate := range candidates {
		d := Distance(name, strings.ToLower(candidate))
		if d <= max(1, min(len(name), len(candidate))/3) && (best == "" || d < distance) {
			best, distance = candidate, d
		}
	}
	return best, distance
}

// Distance counts the letters to insert, remove, replace or swap with their
// neighbour to make b of a; it is 100 for texts longer than that.
func Distance(a, b string) int {
	if len(a) > 100 || len(b) > 100 {
		return 100
	}
	var before []int // the row before the last
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// pattern is the path without indexes: spec.rules[].matches[].
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

// closestPlaces gives the at most two places that share most with here; of
// equals the shorter.
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

// shared counts the leading parts that two patterns have in common.
func shared(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	n := 0
	for n < len(as) && n < len(bs) && as[n] == bs[n] {
		n++
	}
	return n
}

// collectPlaces lists for each field name of n's spec where it may stand.
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

func fieldNames(n *node) string {
	if len(n.fields) > 12 {
		return ""
	}
	return strings.Join(slices.Sorted(maps.Keys(n.fields)), ", ")
}
