package watcher

import (
	"fmt"
	"path"
	"strings"
)

// IgnoreFile is the name of the file in the root that lists what is left out, with the syntax
// of gitignore (https://git-scm.com/docs/gitignore#_pattern_format).
const IgnoreFile = ".gatefoldignore"

// IgnoreUse is how a reader uses the IgnoreFile.
type IgnoreUse string

// The uses.
const (
	IgnoreNotRead   IgnoreUse = ""       // it is a hidden file like any other
	IgnoreRead      IgnoreUse = "read"   // it says what is left out
	IgnoreForbidden IgnoreUse = "refuse" // its author may not say so: it is a Skip
)

// Ignore configures which files and directories of the folder are left out. They are not read,
// walked or counted, as if they did not exist.
type Ignore struct {
	// Globs are patterns with the syntax of the IgnoreFile. They take precedence over those of
	// the file.
	Globs []string
	// File says whether the IgnoreFile is read.
	File IgnoreUse
}

// The most that patterns may come to: each file is held against each of them.
const (
	maxIgnoreBytes    = 64 << 10
	maxIgnorePatterns = 1000
)

// CheckIgnore returns an error for a pattern that cannot be parsed.
func CheckIgnore(globs []string) error {
	_, err := parseIgnore(globs)
	return err
}

// ignoreRule is one pattern.
type ignoreRule struct {
	segments []string // of path.Match; "**" stands for any number of directories
	negated  bool     // what matches is not left out
	dirs     bool     // it matches directories alone
}

// ignoreRules are patterns in their order: the last one that matches decides.
type ignoreRules []ignoreRule

// parseIgnore reads patterns, one for each line.
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

// parseIgnoreLine reads a pattern; ok is false for a blank line and a comment.
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

// trimBlanks removes blanks at the end, except one after a backslash.
func trimBlanks(line string) string {
	trimmed := strings.TrimRight(line, " \t")
	if strings.HasSuffix(trimmed, `\`) && len(trimmed) < len(line) {
		return trimmed + " "
	}
	return trimmed
}

// match reports whether a name of the folder is left out. The path of a directory ends in "/". It
// is not called for paths below a directory that is left out.
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

// matchSegments matches a path part by part. reach[j] is whether the pattern so far matches the
// first j parts, so that the cost grows only linearly with the number of "**". A "**" at the end
// matches at least one part, as in git.
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
				next[j], _ = path.Match(segment, parts[j-1]) // parseIgnoreLine has tried it
			}
		}
		reach = next
	}
	return reach[len(parts)]
}
