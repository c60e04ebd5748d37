package tenancy

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Globs are patterns of file paths, relative to the root of the folder, with slashes. Within a
// part, * matches any characters, ? one, and [a-z] one of a range; the part ** matches any
// number of parts, also none.
type Globs []string

// anyParts is the part of a pattern that stands for any number of parts.
const anyParts = "**"

// Parse parses patterns that commas, spaces or line breaks separate. The error says which is
// invalid, and what to write.
func Parse(text string) (Globs, error) {
	globs, err := entries(text, "a path, such as teams/shop/**")
	if err != nil {
		return nil, err
	}
	for _, glob := range globs {
		if err := check(glob); err != nil {
			return nil, err
		}
	}
	return globs, nil
}

func check(glob string) error {
	for part := range strings.SplitSeq(glob, "/") {
		_, err := path.Match(part, "")
		switch {
		case part == "":
			return fmt.Errorf("%q: paths count from the folder: write no / at the begin or the end, and none twice; all below teams/shop is teams/shop/**", glob)
		case part == "." || part == "..":
			return fmt.Errorf("%q: leave . and .. out of the path", glob)
		case strings.Contains(part, anyParts) && part != anyParts:
			return fmt.Errorf("%q: ** stands alone between slashes: write dir/** or dir/*.yaml", glob)
		case err != nil:
			return fmt.Errorf("%q: %w: a [ wants its ], a \\ a character behind it", glob, err)
		}
	}
	return nil
}

// Match reports whether one of the patterns matches the whole path.
func (g Globs) Match(file string) bool {
	parts := strings.Split(file, "/")
	return slices.ContainsFunc(g, func(glob string) bool { return fits(strings.Split(glob, "/"), parts) })
}

// MatchBelow reports whether one of the patterns may match a path below the directory, at any
// depth.
func (g Globs) MatchBelow(directory string) bool {
	parts := strings.Split(directory, "/")
	return slices.ContainsFunc(g, func(glob string) bool { return fitsBelow(strings.Split(glob, "/"), parts) })
}

func fitsBelow(glob, directory []string) bool {
	for i, part := range directory {
		switch {
		case i == len(glob), glob[i] != anyParts && !fitsPart(glob[i], part):
			return false
		case glob[i] == anyParts:
			return true // it takes in the rest of the directory, and more
		}
	}
	return len(glob) > len(directory)
}

// fits compares part by part. When a part does not fit, the last ** before it
// takes in one part more: an earlier one need never be tried again.
func fits(glob, parts []string) bool {
	g, p := 0, 0
	star, taken := -1, 0
	for p < len(parts) {
		switch {
		case g < len(glob) && glob[g] == anyParts:
			star, taken = g, p
			g++
		case g < len(glob) && fitsPart(glob[g], parts[p]):
			g, p = g+1, p+1
		case star >= 0:
			taken++
			g, p = star+1, taken
		default:
			return false
		}
	}
	for g < len(glob) && glob[g] == anyParts {
		g++
	}
	return g == len(glob)
}

func fitsPart(glob, part string) bool {
	fits, err := path.Match(glob, part)
	return fits && err == nil
}

// String returns the patterns in a form that Parse reads.
func (g Globs) String() string { return strings.Join(g, ", ") }
