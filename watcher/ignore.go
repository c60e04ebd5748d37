package watcher

import (
	"fmt"
	"path"
	"strings"
)

// IgnoreFile is the name of a file in the root. Its patterns name the files and directories that are left out,
// with the syntax of gitignore (https://git-scm.com/docs/gitignore#_pattern_format).
const IgnoreFile = ".gatefoldignore"

// IgnoreUse is how the IgnoreFile is used.
type IgnoreUse string

// The uses of the IgnoreFile.
const (
	IgnoreNotRead   IgnoreUse = ""       // it is not read, like any other hidden file
	IgnoreRead      IgnoreUse = "read"   // its patterns are used
	IgnoreForbidden IgnoreUse = "refuse" // it is not used, and is reported as a Skip if it exists
)

// Ignore configures which files and directories of the folder are left out. They are not read,
// walked or counted, as if they did not exist.
type Ignore struct {
	// Globs are patterns with the syntax of the IgnoreFile. They take precedence over those of
	// the file.
	Globs []string
	// File says how the IgnoreFile is used.
	File IgnoreUse
}

// Limits for the IgnoreFile and for patterns. Each file is compared with each pattern.
const (
	maxIgnoreBytes    = 64 << 10
	maxIgnorePatterns = 1000
)

// CheckIgnore returns an error if a pattern of globs cannot be parsed, or if there are too many patterns.
func CheckIgnore(globs []string) error {
	_, err := parseIgnore(globs)
	return err
}

// ignoreRule is one pattern.
type ignoreRule struct {
	segments []string // for path.Match; "**" matches any number of directories
	negated  bool     // a path that matches is not left out
	dirs     bool     // only directories match
}

// ignoreRules are patterns in their order. The last pattern that matches a path decides.
type ignoreRules []ignoreRule

// parseIgnore parses patterns, one for each line. It returns an error for an invalid pattern, and for more than
// maxIgnorePatterns.
func parseIgnore(lines []string) (rules ignoreRules, err error) {
	for i, line := range lines {
		rule, ok, err := parseIgnoreLine(line)
		if err != nil {
			return nil, fmt.Errorf("pattern %d, %q: %w", i+1, line, err)
		}
		if ok {
			rules = append(rules, rule)
		}
	}
	if len(rules) > maxIgnorePatterns {
		return nil, fmt.Errorf("%d patterns, at most %d are read", len(rules), maxIgnorePatterns)
	}
	return rules, nil
}

// parseIgnoreLine parses one line. ok is false if the line has no pattern: if it is blank, a comment, or only
// "/" or "!".
func parseIgnoreLine(line string) (rule ignoreRule, ok bool, err error) {
	line = trimBlanks(strings.TrimSuffix(line, "\r"))
	if line == "" || line[0] == '#' {
		return rule, false, nil
	}
	line, rule.negated = strings.CutPrefix(line, "!")
	line, rule.dirs = strings.CutSuffix(line, "/")
	anchored := strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return rule, false, nil
	}
	rule.segments = strings.Split(line, "/")
	if !anchored {
		rule.segments = append([]string{"**"}, rule.segments...)
	}
	for _, segment := range rule.segments {
		if _, err := path.Match(segment, ""); err != nil {
			return rule, false, err
		}
	}
	return rule, true, nil
}

// trimBlanks removes blanks at the end of line. One blank after a backslash stays.
func trimBlanks(line string) string {
	trimmed := strings.TrimRight(line, " \t")
	if strings.HasSuffix(trimmed, `\`) && len(trimmed) < len(line) {
		return trimmed + " "
	}
	return trimmed
}

// match reports whether a file or directory is left out. The parameter name is its path, which ends in "/" for a
// directory. The caller must not call match for paths below a directory that is left out.
func (r ignoreRules) match(name string) bool {
	name, dir := strings.CutSuffix(name, "/")
	parts := strings.Split(name, "/")
	for i := len(r) - 1; i >= 0; i-- {
		if (dir || !r[i].dirs) && matchSegments(r[i].segments, parts) {
			return !r[i].negated
		}
	}
	return false
}

// matchSegments reports whether a pattern matches a path. The pattern and the path are split at "/". A "**" at
// the end of the pattern matches at least one part, as in git.
//
// reach[j] records whether the segments so far match the first j parts. So the cost grows only linearly with
// the number of "**".
func matchSegments(segments, parts []string) bool {
	reach := make([]bool, len(parts)+1)
	reach[0] = true
	for i, segment := range segments {
		next := make([]bool, len(reach))
		for j := range reach {
			switch {
			case segment == "**" && i == len(segments)-1:
				next[j] = j > 0 && (reach[j-1] || next[j-1])
			case segment == "**":
				next[j] = reach[j] || j > 0 && next[j-1]
			case j > 0 && reach[j-1]:
				next[j], _ = path.Match(segment, parts[j-1]) // parseIgnoreLine has checked it
			}
		}
		reach = next
	}
	return reach[len(parts)]
}
