package store

import (
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// scaffold matches lines that the function readings removes: lines that have only Helm templates, such as
// "{{ if .Values.x }}", and the marker lines of a merge conflict. template matches a template inside another line.
// The function readings replaces such a template by "_", because no object can have that name.
var (
	scaffold = regexp.MustCompile(`(?m)^(?:[ \t]*(?:- )?\{\{.*\}\}[ \t]*|(?:<{7}|={7}|>{7}|\|{7}).*)$`)
	template = regexp.MustCompile(`\{\{[^{}\n]*\}\}`)
)

// readings returns variants of a text that is not YAML, the most similar first, in which salvageText looks for
// policies. In all variants, templates, merge markers and control characters are removed or replaced. If this
// makes the text YAML, it is the only variant.
//
// If the text is still not YAML, the first two variants have one or two closing braces added at the end. Each of
// the next variants lacks one line near the line that the parser's error names. Each of the last variants ends
// before one of these lines.
func readings(text []byte) iter.Seq[string] {
	clean := strings.Map(func(r rune) rune {
		if r == '\t' {
			return ' '
		}
		if r < ' ' && r != '\n' || r == utf8.RuneError {
			return -1
		}
		return r
	}, string(text))
	clean = template.ReplaceAllString(scaffold.ReplaceAllString(clean, ""), "_")
	return func(yield func(string) bool) {
		_, err := parseYAML([]byte(clean))
		if err == nil {
			yield(clean)
			return
		}
		if !yield(clean+"}") || !yield(clean+"}}") {
			return
		}
		lines := strings.SplitAfter(clean, "\n")
		named := faultyLine(err, len(lines))
		near := lines[max(0, named-3):min(len(lines), named+1)]
		at := max(0, named-3)
		for i := range near {
			if !yield(strings.Join(slices.Concat(lines[:at+i], lines[at+i+1:]), "")) {
				return
			}
		}
		for i := range near {
			if !yield(strings.Join(lines[:at+len(near)-1-i], "")) {
				return
			}
		}
	}
}

// faultyLine returns the number of the line that a parser's error names, from 1. It returns the parameter last
// if the error names no line, or a line after last.
func faultyLine(err error, last int) int {
	_, after, ok := strings.Cut(err.Error(), "line ")
	digits, _, _ := strings.Cut(after, ":")
	line, bad := strconv.Atoi(digits)
	if !ok || bad != nil {
		return last
	}
	return min(line, last)
}
