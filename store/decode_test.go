package store

import (
	"reflect"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	sigsyaml "sigs.k8s.io/yaml"
)

// asKubectl returns what the API server gets when kubectl applies the text.
func asKubectl(text string) (value any, err error) {
	asJSON, err := sigsyaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	err = utiljson.Unmarshal(asJSON, &value)
	return value, err
}

func decodeText(text string) (any, []finding, error) {
	root, err := parseYAML([]byte(text))
	if err != nil || root == nil {
		return nil, nil, err
	}
	value, problems := decodeYAML(root)
	return value, problems, nil
}

// TestScalarsAreThoseOfKubectl checks every sort of scalar, as a value and as
// a key, against sigs.k8s.io/yaml.
func TestScalarsAreThoseOfKubectl(t *testing.T) {
	scalars := strings.Fields(`y Y yes Yes YES yEs n N no No NO on On ON off Off OFF true True TRUE tRUE false False FALSE
		~ null Null NULL nUll 0 1 -1 +1 007 017 08 09 0o17 0O17 0x1F 0X1f 0b101 0B11 -0b101 -017 -0x1 1_000 1__0 _1 1_ 0x_f
		9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809 18446744073709551615
		18446744073709551616 1.0 1.5 -1.5 +1.5 .5 5. -.5 +.5 1e3 1E3 1e-3 1e+3 1e400 1e21 1e20 123456789.123456789 0.1 -0.0 -0
		0x1p3 .e3 . .. ... 1.2.3 1:30 190:20:30 2001-01-01 2001-12-14t21:59:43.10-05:00 2001-1-1 <<
		"true" 'yes' "017" '' "" !!str !!null !!int 1s 10s 1m 100m 0.5.0 12e03 -2E+05 0e0 00 0_0 -_1 + - -- +- 1,000 v1 1.19 1.10 =
		!!str{}true !!int{}"12" !!float{}1 !!float{}1.5 !!bool{}yes !!bool{}"off" !!null{}~ !!null{}"" !!binary{}aGVsbG8= !!binary{}/w==
		!custom{}12 !{}"12" !!timestamp{}2001-01-01 !!float{}0x10 !!int{}1.0 !!bool{}1 !!null{}x !!int{}"" !!str{}null !!binary{}*`)
	for _, s := range scalars {
		s = strings.ReplaceAll(s, "{}", " ")
		compareToKubectl(t, "value: "+s)
		compareToKubectl(t, "- "+s)
		compareToKubectl(t, s+": 1")
		compareToKubectl(t, "? "+s+"\n: 1")
		compareToKubectl(t, s)
	}
	for _, s := range []string{".nan", ".inf", "-.inf", "+.INF", ".NaN"} {
		compareToKubectl(t, s+": 1")
		if _, problems, _ := decodeText("value: " + s); len(problems) != 1 || problems[0].Code != "InvalidValue" {
			t.Errorf("%s: %v, want one InvalidValue", s, problems)
		}
	}
}

func TestDocumentsAreThoseOfKubectl(t *testing.T) {
	for _, text := range []string{
		"a: &x {b: 1}\nc: *x", "a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}", "a: &x {b: 1, c: 2}\nd: {c: 3, <<: *x}",
		"a: &x {b: 1}\ny: &y {b: 2, c: 4}\nd: {<<: [*x, *y]}", "a: &x {b: 1}\nd: {<<: [{b: 2}, *x], <<: {z: 1}}",
		"a: &x {b: 1}\ny: &y {<<: *x, c: 1}\nz: {<<: *y, b: 7}", "a: {<<: {b: 1}, b: 2}", "'<<': {a: 1}", "a: <<",
		"a: |\n  b\n   c\n\n", "a: |+\n  b\n\n", "a: >-\n  b\n  c", "a: \"b\\\n  c\\n\\u00e9\"", "a: 'b''c'", "a: b\n  c",
		"- - a\n  - b\n-\n- c", "{a: [1, 2, {b: c}], d}", "[a: b]", "? a\n: b", "&k a: 1\nb: {*k : 2}", "a: !!set {x, y}",
		"a:\n- b\n-   - c\n    - d", "é: ü", "\"\\x41\": 1", "a: 1 # c\n# d\n", "%YAML 1.1\n---\na: 1", "--- {a: 1}", "--- |\n  text",
		"a: {{ b }}", "1: a\n1.5: b\ntrue: c", "[1]: a", "~: a", "18446744073709551615: a", "a: *b", "a: &a [*a]", "a: <<\n<<: 1",
		"a: !<tag:yaml.org,2002:str> 1", "\"a\": \"\\/\"",
	} {
		compareToKubectl(t, text)
	}
}

// compareToKubectl checks that the two give the same value, or both none. The
// strictness that is ours alone (duplicate keys, limits) must not be touched.
func compareToKubectl(t *testing.T, text string) {
	t.Helper()
	want, wantErr := asKubectl(text)
	got, problems, err := decodeText(text)
	failed := err != nil || len(problems) > 0
	if failed != (wantErr != nil) {
		t.Errorf("%q: got error %v, problems %v; kubectl: %v", text, err, problems, wantErr)
	} else if !failed && !reflect.DeepEqual(got, want) {
		t.Errorf("%q: got %#v, kubectl has %#v", text, got, want)
	}
}

// YAML 1.2.2, 6.8.1: 'A version 1.2 YAML processor must also accept documents with an explicit "%YAML 1.1" directive.
// Documents with a "YAML" directive specifying a higher minor version (e.g. "%YAML 1.3") should be processed … A
// version 1.2 YAML processor must … reject documents that specify a higher major version.'
func TestVersionsOfYAML(t *testing.T) {
	for _, test := range []struct{ head, reason string }{
		{"%YAML 1.1\n---\n", ""},
		{"%YAML 1.2\n---\n", ""},
		{"%YAML 1.3 # newer\n---\n", ""},
		{"# a\n\n  # b\r\n%YAML\t1.2\r\n---\n", ""},
		{"%TAG !e! tag:x,2000:\n%YAML 1.2\n---\n", ""},
		{"%YAML 1.20\n---\n", "found incompatible YAML document"},
		{"%YAML 2.0\n---\n", "found incompatible YAML document"},
	} {
		value, _, err := decodeText(test.head + "a: \"b\n%YAML 1.2\"\nport: 8080\n")
		if test.reason != "" {
			if err == nil || reasonOf(err) != test.reason {
				t.Errorf("%q: %v, %v", test.head, value, err)
			}
		} else if want := map[string]any{"a": "b %YAML 1.2", "port": int64(8080)}; err != nil || !reflect.DeepEqual(value, want) {
			t.Errorf("%q: %v, %v", test.head, value, err)
		}
	}
}
