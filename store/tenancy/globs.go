package tenancy

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Globs are patterns of file paths with slashes, relative to the root of the folder. Between two slashes, *
// matches any characters, ? matches one character, and [a-z] matches one character of a range. A ** between two
// slashes matches any number of directories, also none. A pattern that ends in ** also matches all files in the
// matched directories.
type Globs []string

// anyParts is the pattern between slashes that matches any number of parts of a path.
const anyParts = "**"

// Parse parses patterns that are separated by commas, spaces or line breaks. It returns an error if a pattern
// is invalid or there is none. The error says which pattern, and what to write.
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

// check returns an error if a pattern is invalid.
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

// MatchBelow reports whether one of the patterns may match a path below the directory, at any depth.
func (g Globs) MatchBelow(directory string) bool {
	parts := strings.Split(directory, "/")
	return slices.ContainsFunc(g, func(glob string) bool { return fitsBelow(strings.Split(glob, "/"), parts) })
}

// fitsBelow reports whether a pattern may match a path below a directory, at any depth. The pattern (glob) and
// the directory are split at slashes.
func fitsBelow(glob, directory []string) bool {
	for i, part := range directory {
		switch {
		case i == len(glob), glob[i] != anyParts && !fitsPart(glob[i], part):
			return false
		case glob[i] == anyParts:
			return true // ** matches the rest of the directory, and more
		}
	}
	return len(glob) > len(directory)
}

// fits reports whether a pattern matches a path. The pattern (glob) and the path (parts) are split at slashes. If
// a part does not match, fits goes back to the last ** in the pattern, lets it match one more part of the path,
// and tries again. It need not go back to an earlier **, because that would find no other match.
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

// fitsPart reports whether a pattern without slashes matches one part of a path.
func fitsPart(glob, part string) bool {
	fits, err := path.Match(glob, part)
	return fits && err == nil
}

// String returns the patterns in a form that Parse can read.
func (g Globs) String() string { return strings.Join(g, ", ") }
