package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shownLength is how many characters of a value a message shows.
const shownLength = 60

// shown returns a string in quotes for a message. It shows at most shownLength characters.
func shown(s string) string {
	start := []rune(s[:min(len(s), shownLength*utf8.UTFMax+1)])
	if len(start) <= shownLength {
		return strconv.Quote(s)
	}
	return strconv.Quote(string(start[:shownLength])) + "…"
}

// describe returns the type of v in words, such as "a list".
func describe(v any) string {
	switch v.(type) {
	case nil:
		return "empty"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64, float64:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "of an unknown type"
}

// wanted returns the type of n in words, such as "a list".
func (n *node) wanted() string {
	switch {
	case n.intOrString:
		return "an integer or a string"
	case n.typ == "array":
		return "a list"
	case n.typ == "object", n.typ == "integer":
		return "an " + n.typ
	}
	return "a " + n.typ
}

func (m *mistakes) wrongType(n *node, v any) {
	message := m.name() + " is " + describe(v)
	switch v.(type) {
	case string, bool, int64, float64:
		if !m.hides() {
			message += " (" + strings.TrimSpace(m.quoted(v)) + ")"
		}
	}
	m.add(WrongType, message+", wants "+n.wanted(), m.typeHint(n, v))
}

// typeHint returns how to write a value of the type that the schema n requires, in place of the value v. It
// returns "" if it has no advice.
func (m *mistakes) typeHint(n *node, v any) string {
	switch n.typ {
	case "string":
		if text := fmt.Sprint(v); n.regexp != nil && !n.regexp.MatchString(text) && stringHint(v, false) != "" {
			if words := patternWords(n.limits.Pattern); words != "" {
				return "write " + words // in quotes the value is not valid either
			}
			return ""
		}
		return stringHint(v, m.hides())
	case "array":
		return "write it as a list: begin each item with \"- \""
	case "object":
		if _, isList := v.([]any); isList {
			return "remove the \"- \": it is one object, not a list"
		}
		if names := fieldNames(n); names != "" {
			return "its fields are " + names
		}
		return ""
	}
	if s, ok := v.(string); ok && !m.hides() && n.takes(plain(s)) {
		return "write it without quotes: " + s
	}
	return ""
}

// Quoted is the beginning of a hint to write a number as text. The number in quotes follows.
const Quoted = "put it in quotes: "

// stringHint returns how to write the boolean or number v as a string in YAML. It returns "" for all other
// values. If secret is true, the hint does not show v.
func stringHint(v any, secret bool) string {
	switch v.(type) {
	case bool:
		return "put it in quotes; without them YAML reads true, yes, on and their opposites as booleans"
	case int64, float64:
		if secret {
			return "put it in quotes"
		}
		return fmt.Sprintf("%s\"%v\"", Quoted, v)
	}
	return ""
}

// plain parses the text s as JSON, to find a number or boolean that was written in quotes. It returns nil if s
// is not JSON, or is longer than 20 bytes and so not meant as a number or boolean.
func plain(s string) any {
	var v any
	if len(s) > 20 || json.Unmarshal([]byte(s), &v) != nil {
		return nil
	}
	if whole, ok := integral(v); ok {
		return whole
	}
	return v
}

func (m *mistakes) notAllowed(n *node, v any) {
	if m.notServedValue(v) {
		return
	}
	hint := ""
	if s, ok := v.(string); ok && !m.hides() {
		hint = didYouMean(s, n.enumStrings())
	}
	m.add(NotAllowedValue, m.name()+m.quoted(v)+" is not allowed; it is one of "+enumText(n), hint)
}

func (n *node) enumStrings() []string {
	var values []string
	for _, allowed := range n.limits.Enum {
		if s, ok := allowed.Object.(string); ok {
			values = append(values, s)
		}
	}
	return values
}

func enumText(n *node) string {
	var values []string
	for _, allowed := range n.limits.Enum {
		values = append(values, fmt.Sprint(allowed.Object))
	}
	return strings.Join(values, ", ")
}

func (m *mistakes) tooLong(length, most int64) {
	m.add(TooLong, fmt.Sprintf("%s has %d characters, at most %d are allowed", m.name(), length, most), "")
}

func (m *mistakes) tooShort(s string, least int64) {
	if s == "" {
		m.add(InvalidValue, m.name()+" must not be empty", "")
		return
	}
	m.add(InvalidValue, fmt.Sprintf("%s%s has fewer than %d characters", m.name(), m.quoted(s), least), "")
}

// count reports a list or map with too few or too many items. The parameters least and most are the limits; nil means
// no limit. The parameter n is the number of items. The message calls the items by the word in the parameter what,
// for example "entries".
func (m *mistakes) count(least, most *int64, n int, what string) {
	switch count := int64(n); {
	case most != nil && count > *most:
		m.add(TooMany, fmt.Sprintf("%s has %d %s, at most %d are allowed", m.name(), count, what, *most), "")
	case least != nil && count < *least && count == 0:
		m.add(InvalidValue, m.name()+" must not be empty", "")
	case least != nil && count < *least:
		m.add(InvalidValue, fmt.Sprintf("%s has %d %s, at least %d are wanted", m.name(), count, what, *least), "")
	}
}

// digits returns a number without an exponent, such as 1000000.
func digits(number float64) string { return strconv.FormatFloat(number, 'f', -1, 64) }

func (m *mistakes) outOfRange(n *node, v any) {
	limits := n.limits
	var bounds string
	switch {
	case limits.Minimum != nil && limits.Maximum != nil:
		bounds = "from " + digits(*limits.Minimum) + " to " + digits(*limits.Maximum)
	case limits.Minimum != nil:
		bounds = "at least " + digits(*limits.Minimum)
	case limits.Maximum != nil:
		bounds = "at most " + digits(*limits.Maximum)
	default:
		bounds = "a number of 32 bits"
	}
	if limits.MultipleOf != nil {
		bounds += " and a multiple of " + digits(*limits.MultipleOf)
	}
	m.add(InvalidValue, m.name()+m.quoted(v)+" is out of range; it must be "+bounds, "")
}

func (m *mistakes) badFormat(s, format string) {
	what := "a valid " + format
	if format == "date-time" {
		what = "a time such as 2006-01-02T15:04:05Z"
	}
	m.add(InvalidValue, m.name()+m.quoted(s)+" is not "+what, "")
}

func (m *mistakes) duplicate(n *node, item any, first int) {
	what := ""
	if object, ok := item.(map[string]any); ok {
		for _, key := range n.listKeys {
			if v, found := object[key]; found {
				what += " " + key + m.quoted(v)
			}
		}
	} else {
		what = m.quoted(item)
	}
	base := m.trail[:len(m.trail)-1].text()
	m.add(DuplicateEntry, fmt.Sprintf("%s repeats%s of %s[%d]", m.name(), what, base, first), "remove one of the two, or tell them apart")
}

// noForm reports a value that violates allOf, anyOf, oneOf or not of its schema. In the embedded CRDs, only the
// addresses of a Gateway can be such a value.
func (m *mistakes) noForm(v any) {
	address, _ := v.(map[string]any)
	if text, ok := address["value"].(string); ok && address["type"] == "IPAddress" {
		m.intoField("value")
		m.add(InvalidValue, m.name()+m.quoted(text)+" is not an IP address", "write an address of the machine that Envoy runs on; names are not served")
		m.out()
		return
	}
	m.add(InvalidValue, m.name()+" has none of the forms that are allowed", "")
}

// mismatch reports a string that does not match the pattern of n.
func (m *mistakes) mismatch(n *node, s string) {
	pattern := n.limits.Pattern
	message := m.name() + m.quoted(s)
	if at := strings.IndexFunc(s, unicode.IsControl); at >= 0 {
		control, _ := utf8.DecodeRuneInString(s[at:])
		m.add(InvalidValue, fmt.Sprintf("%s holds a control character (%s, character %d)",
			message, controlName(control), utf8.RuneCountInString(s[:at])+1),
			"remove it; a YAML block (|) ends with a line feed, |- does not")
		return
	}
	if words := patternWords(pattern); words != "" {
		m.add(InvalidValue, message+" is not "+words, n.patternHint(m.kind, s, words))
		return
	}
	m.add(InvalidValue, message+" does not match "+pattern, "")
}

func controlName(r rune) string {
	switch r {
	case '\n':
		return "line feed"
	case '\r':
		return "carriage return"
	case '\t':
		return "tab"
	case 0:
		return "NUL"
	}
	return fmt.Sprintf("%U", r)
}
