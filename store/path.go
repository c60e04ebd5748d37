package store

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// step leads from a mapping to the value of a key (named is true), or from a list to an item.
type step struct {
	named bool
	key   string
	index int
}

// fieldPath is the path from a document's root to a value.
type fieldPath []step

func (p *fieldPath) push(s step) { *p = append(*p, s) }

func (p *fieldPath) pop() { *p = (*p)[:len(*p)-1] }

// String writes the path as Kubernetes does: spec.rules[0].name, and
// metadata.labels[example.com/x] for keys that hold dots.
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

// parsePath reads a path as fieldPath.String and package schema write it.
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

// bracketStep reads the text in brackets: an index, or a key with dots.
func bracketStep(inside string) step {
	if i, err := strconv.Atoi(inside); err == nil && i >= 0 {
		return step{index: i}
	}
	return step{named: true, key: inside}
}

func isPlainKey(key string) bool {
	return key != "" && len(key) <= maxQuoted && !strings.ContainsFunc(key, func(r rune) bool {
		return r == '.' || r == '[' || r == ']' || !unicode.IsPrint(r)
	})
}

// maxQuoted is how many bytes of the user's own text a message repeats.
const maxQuoted = 80

// quote returns the user's own text for a message: quoted, shortened, and without control
// characters.
func quote(text string) string { return strconv.Quote(cut(text)) }

// clean is quote without the quotes.
func clean(text string) string {
	quoted := strconv.Quote(cut(text))
	return quoted[1 : len(quoted)-1]
}

// cut shortens text to about maxQuoted bytes, between characters.
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
