package store

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// resolve returns the value of a scalar by the rules of YAML 1.1, like kubectl: string, bool, int64, float64,
// nil, or uint64 above the range of int64. Quoted and block scalars are strings unless they have a tag. The tag
// !!binary means base64. It returns an error if the text does not fit the tag.
func resolve(n *yaml.Node) (any, error) {
	tag := ""
	if n.Style&yaml.TaggedStyle != 0 {
		tag = n.Tag
	} else if n.Style != 0 {
		return n.Value, nil
	}
	switch tag {
	case "":
		return resolvePlain(n.Value), nil
	case "!!bool", "!!int", "!!float", "!!null":
		return resolveTagged(tag, n.Value)
	case "!!binary":
		data, err := base64.StdEncoding.DecodeString(n.Value)
		if err != nil {
			return nil, errors.New("!!binary is not followed by valid base64")
		}
		return string([]rune(string(data))), nil // JSON has only UTF-8
	}
	return n.Value, nil
}

// resolveTagged returns the value of a scalar with a tag, such as !!int. With the tag !!float, an integer in the
// range of int64 becomes a float64. It returns an error if the text has any other type than the tag's.
func resolveTagged(tag, text string) (any, error) {
	value := resolvePlain(text)
	got := ""
	switch v := value.(type) {
	case nil:
		got = "!!null"
	case bool:
		got = "!!bool"
	case int64:
		if tag == "!!float" {
			return float64(v), nil
		}
		got = "!!int"
	case uint64:
		got = "!!int"
	case float64:
		got = "!!float"
	}
	if got != tag {
		return nil, fmt.Errorf("%s is no %s", quote(text), tag)
	}
	return value, nil
}

// words has the values of the plain scalars that stand for a boolean, null, infinity or not-a-number by the
// rules of YAML 1.1.
var words = map[string]any{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true,
	"true": true, "True": true, "TRUE": true, "on": true, "On": true, "ON": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false,
	"false": false, "False": false, "FALSE": false, "off": false, "Off": false, "OFF": false,
	"": nil, "~": nil, "null": nil, "Null": nil, "NULL": nil,
	".nan": math.NaN(), ".NaN": math.NaN(), ".NAN": math.NaN(),
	".inf": math.Inf(1), ".Inf": math.Inf(1), ".INF": math.Inf(1),
	"+.inf": math.Inf(1), "+.Inf": math.Inf(1), "+.INF": math.Inf(1),
	"-.inf": math.Inf(-1), "-.Inf": math.Inf(-1), "-.INF": math.Inf(-1),
}

var decimalFloat = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// resolvePlain returns the value of a scalar without quotes and tag, such as true for "yes" or nil for "~". For
// a scalar that is a string, it returns the argument.
func resolvePlain(text string) any {
	if value, ok := words[text]; ok {
		return value
	}
	switch first := text[0]; {
	case first == '.':
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f
		}
	case first == '+' || first == '-' || '0' <= first && first <= '9':
		if number := resolveNumber(text); number != nil {
			return number
		}
	}
	return text
}

// resolveNumber returns the number in a text: decimal, 0x, 0o, 0b or, with a leading zero, octal. It ignores
// underscores. It returns nil if the text is no number.
func resolveNumber(text string) any {
	digits := strings.ReplaceAll(text, "_", "")
	if i, err := strconv.ParseInt(digits, 0, 64); err == nil {
		return i
	}
	if u, err := strconv.ParseUint(digits, 0, 64); err == nil {
		return u
	}
	if !decimalFloat.MatchString(digits) {
		return nil
	}
	if f, err := strconv.ParseFloat(digits, 64); err == nil {
		return f
	}
	return nil
}

// jsonValue returns the value that Kubernetes would read if the parameter value were written as JSON. A float64
// whose JSON is an integer becomes an int64 if it fits: 1.0 and 1e3 are integers. A uint64 becomes a float64.
// jsonValue returns an error for infinity and NaN.
func jsonValue(value any) (any, error) {
	switch v := value.(type) {
	case uint64:
		return float64(v), nil
	case float64:
		text, err := json.Marshal(v)
		if err != nil {
			return nil, errors.New("infinity and not-a-number have no place in JSON")
		}
		if i, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			return i, nil
		}
	}
	return value, nil
}

// formatFloatKey returns the text of a number that is a key, as in sigs.k8s.io/yaml.
func formatFloatKey(f float64) string {
	switch text := strconv.FormatFloat(f, 'g', -1, 32); text {
	case "+Inf":
		return ".inf"
	case "-Inf":
		return "-.inf"
	case "NaN":
		return ".nan"
	default:
		return text
	}
}
