package schema

import (
	"encoding/json"
	"math"
	"unicode/utf8"
)

// integral converts a float64 without a fraction to an int64. It returns false for all other values, and for
// numbers with an absolute value of 2^53 or more. The conversion is needed because decoders without a schema read
// every JSON number as a float64.
func integral(v any) (int64, bool) {
	f, isFloat := v.(float64)
	if !isFloat || f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// takes reports whether the schema n accepts values of the type of v, such as strings or lists. A schema
// without a type accepts nearly all types.
func (n *node) takes(v any) bool {
	switch v.(type) {
	case map[string]any:
		return n.typ == "object" || n.typ == "" && !n.intOrString
	case []any:
		return n.typ == "array" || n.typ == "" && !n.intOrString
	case string:
		return n.typ == "string" || n.typ == ""
	case bool:
		return n.typ == "boolean" || n.typ == "" && !n.intOrString
	case int64:
		return n.typ == "integer" || n.typ == "number" || n.typ == ""
	case float64:
		return n.typ == "number" || n.typ == "" && !n.intOrString
	}
	return false
}

// text checks the string s against the schema n, and reports at most one mistake. The checks run in this order:
// enum, length, pattern, format, and n.valid.
func (w walk) text(n *node, s string) {
	length := int64(utf8.RuneCountInString(s))
	limits := &n.limits
	switch {
	case limits.Enum != nil && !n.allows(s):
		w.notAllowed(n, s)
	case limits.MaxLength != nil && length > *limits.MaxLength:
		w.tooLong(length, *limits.MaxLength)
	case limits.MinLength != nil && length < *limits.MinLength:
		w.tooShort(s, *limits.MinLength)
	case n.regexp != nil && !n.regexp.MatchString(s):
		w.mismatch(n, s)
	case n.formed != nil && !n.formed.Validate(s).IsValid():
		w.badFormat(s, limits.Format)
	case n.valid != nil:
		if wrong := n.valid(s); wrong != "" {
			w.add(InvalidValue, w.name()+w.quoted(s)+" "+wrong, "")
		}
	}
}

// scalar checks the number or boolean v against the schema n, and reports at most one mistake: v is not in the enum
// of n, is out of range, or is not a multiple of the number that n requires.
func (w walk) scalar(n *node, v any) {
	if n.limits.Enum != nil && !n.allows(v) {
		w.notAllowed(n, v)
		return
	}
	var f float64
	switch v := v.(type) {
	case int64:
		f = float64(v)
		if n.limits.Format == "int32" && int64(int32(v)) != v {
			w.outOfRange(n, v)
			return
		}
	case float64:
		f = v
	default:
		return
	}
	limits := &n.limits
	below := limits.Minimum != nil && (f < *limits.Minimum || limits.ExclusiveMinimum && f == *limits.Minimum)
	above := limits.Maximum != nil && (f > *limits.Maximum || limits.ExclusiveMaximum && f == *limits.Maximum)
	uneven := limits.MultipleOf != nil && math.Mod(f, *limits.MultipleOf) != 0
	if below || above || uneven {
		w.outOfRange(n, v)
	}
}

// allows reports whether the scalar v is in the enum of n.
func (n *node) allows(v any) bool {
	for _, allowed := range n.limits.Enum {
		if allowed.Object == v {
			return true
		}
		if whole, ok := integral(allowed.Object); ok && v == any(whole) {
			return true
		}
	}
	return false
}

// key checks one key of a map against the schema n of the map. It reports a mistake if n does not allow the key.
func (w walk) key(n *node, key string) {
	if wrong := n.keys(key); wrong != "" {
		w.add(InvalidValue, "the key "+shown(key)+" "+wrong, "")
	}
}

// identity returns a text by which duplicate items of a list are found: equal items have the same text. If item
// is an object and keys is not empty, only the fields in keys count. identity returns "" for an item that is
// not JSON.
func identity(item any, keys []string) string {
	if object, ok := item.(map[string]any); ok && len(keys) > 0 {
		own := make([]any, len(keys))
		for i, key := range keys {
			own[i] = object[key]
		}
		item = own
	}
	if s, ok := item.(string); ok {
		return s
	}
	text, err := json.Marshal(item)
	if err != nil {
		return "" // not JSON, which is already reported
	}
	return string(text)
}
