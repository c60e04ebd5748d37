package store

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// step is one step of a fieldPath: to the value of a key of a mapping, or to an item of a list. named is true
// for a key.
type step struct {
	named bool
	key   string
	index int
}

// fieldPath is the path from a document's root to a value.
type fieldPath []step

func (p *fieldPath) push(s step) { *p = append(*p, s) }

func (p *fieldPath) pop() { *p = (*p)[:len(*p)-1] }

// String returns the path as Kubernetes writes it: spec.rules[0].name, and metadata.labels[example.com/x] for
// keys that need brackets, such as keys with dots (isPlainKey).
func (p fieldPath) String() string {
	var b strings.Builder
	for _, s := range p {
		switch {
		case !s.named:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case !isPlainKey(s.key):
			b.WriteString("[" + clean(s.key) + "]")
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.key)
		}
	}
	return b.String()
}

// parsePath parses a path in the form that fieldPath.String and package schema write.
func parsePath(field string) fieldPath {
	var path fieldPath
	for field != "" {
		switch {
		case field[0] == '.':
			field = field[1:]
		case field[0] == '[':
			inside, rest, _ := strings.Cut(field[1:], "]")
			path = append(path, bracketStep(inside))
			field = rest
		default:
			end := strings.IndexAny(field, ".[")
			if end < 0 {
				end = len(field)
			}
			path = append(path, step{named: true, key: field[:end]})
			field = field[end:]
		}
	}
	return path
}

// bracketStep returns the step for the text in brackets: an index if the text is a number that is not negative,
// otherwise a key.
func bracketStep(inside string) step {
	if i, err := strconv.Atoi(inside); err == nil && i >= 0 {
		return step{index: i}
	}
	return step{named: true, key: inside}
}

// isPlainKey reports whether a key is written in a path without brackets.
func isPlainKey(key string) bool {
	return key != "" && len(key) <= maxQuoted && !strings.ContainsFunc(key, func(r rune) bool {
		return r == '.' || r == '[' || r == ']' || !unicode.IsPrint(r)
	})
}

// maxQuoted is how many bytes of a user's text a message repeats.
const maxQuoted = 80

// quote returns a user's text for a message: shortened, in quotes, and with control characters escaped.
func quote(text string) string { return strconv.Quote(cut(text)) }

// clean returns the same as quote, but without the quotes.
func clean(text string) string {
	quoted := strconv.Quote(cut(text))
	return quoted[1 : len(quoted)-1]
}

// cut returns at most about maxQuoted bytes of text, with "…" in place of the rest. It does not cut inside a
// character.
func cut(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	end := maxQuoted
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
