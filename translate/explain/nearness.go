package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

const (
	// maxSuggestions bounds the Suggestions of a Report.
	maxSuggestions = 10
	// maxCompared bounds how many names, rules or paths are compared for one list.
	maxCompared = 10_000
)

// maxComparedText is how many bytes of a name or path are compared with others. The cost grows with the product
// of both lengths.
const maxComparedText = 128

// distance returns how different two texts are (see manifest.Distance). Only their first maxComparedText bytes
// are compared.
func distance(a, b string) int {
	return manifest.Distance(a[:min(len(a), maxComparedText)], b[:min(len(b), maxComparedText)])
}

// nearPath is the path of a rule as text, and how similar it is to the requested path.
type nearPath struct {
	words    string
	shared   int // the number of segments that both paths begin with
	distance int // manifest.Distance of the other segments
}

// pathsOf returns suggestions for a path that no rule has: the paths of rules, as texts, the most similar first
// (see nearPath), at most maxSuggestions. It skips rules for which the parameter pick returns false, and compares
// at most maxCompared paths.
func pathsOf(host *ir.HostView, path string, pick func(*ir.Rule) bool) []string {
	var near []nearPath
	seen, asked := map[string]bool{}, segmentsOf(path[:min(len(path), maxComparedText)])
	for rule := range host.Rules {
		words := pathWords(rule.Match.Path)
		if seen[words] || !pick(rule) {
			continue
		}
		if seen[words] = true; len(seen) > maxCompared {
			break
		}
		near = append(near, compared(words, rule.Match.Path, asked))
	}
	slices.SortFunc(near, func(a, b nearPath) int {
		return cmp.Or(cmp.Compare(b.shared, a.shared), cmp.Compare(a.distance, b.distance), strings.Compare(a.words, b.words))
	})
	var words []string
	for _, n := range near[:min(len(near), maxSuggestions)] {
		words = append(words, n.words)
	}
	return words
}

// compared returns how similar a rule's path is to the requested path. The parameter words is the rule's path as
// text. The parameter asked has the segments of the requested path.
func compared(words string, path ir.Path, asked []string) nearPath {
	own := segmentsOf(path.Value[:min(len(path.Value), maxComparedText)])
	shared := 0
	for shared < min(len(own), len(asked)) && own[shared] == asked[shared] {
		shared++
	}
	rest := asked[shared:]
	if path.Kind == ir.PathPrefix { // only as many segments as the prefix has are compared
		rest = rest[:min(len(rest), len(own)-shared)]
	}
	return nearPath{words, shared, distance(strings.Join(own[shared:], "/"), strings.Join(rest, "/"))}
}

// segmentsOf splits a path, or a regular expression for paths, at its slashes.
func segmentsOf(path string) []string { return strings.Split(strings.Trim(path, "/"), "/") }

// nearest returns the names that are most similar to name, at most maxSuggestions. The most similar name comes
// first. It compares only the first maxCompared names.
func nearest(name string, names []string) []string {
	distances := map[string]int{}
	for _, candidate := range names[:min(len(names), maxCompared)] {
		distances[candidate] = distance(candidate, name)
	}
	return byDistance(distances)
}

// byDistance returns the names with the smallest distances, at most maxSuggestions, sorted by distance.
func byDistance(distance map[string]int) []string {
	var names []string
	for name := range distance {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(distance[a], distance[b]), strings.Compare(a, b))
	})
	return names[:min(len(names), maxSuggestions)]
}

// unique removes duplicates from the names, and returns the first of the remaining names, at most maxSuggestions.
func unique(names []string) []string {
	var out []string
	for _, name := range names {
		if !slices.Contains(out, name) && len(out) < maxSuggestions {
			out = append(out, name)
		}
	}
	return out
}
