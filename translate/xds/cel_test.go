package xds

import (
	"strings"
	"testing"
)

// A comparison of different types fails for every request, so that a Deny would be open.
func TestComparisonsOfTypes(t *testing.T) {
	for expression, fault := range map[string]string{
		`request.method == 1`:                          "a text with a number",
		`request.headers['x-a'] != true`:               "a text with true or false",
		`source.port == '80'`:                          "a number with a text",
		`request.method in ['GET', 1]`:                 "a text with a number",
		`request.path == '/a' && connection.mtls > 1`:  "true or false with a number",
		`size(request.path) > 'a'`:                     "a number with a text",
		`request.method == 'GET'`:                      "",
		`request.headers['x-a'] in ['a', 'b']`:         "",
		`int(request.headers['x-a']) > 1`:              "",
		`request.size > 10 && connection.mtls == true`: "",
		`metadata.filter_metadata['a']['b'] == 1`:      "",
		`'x-a' in request.headers`:                     "",
	} {
		_, _, got := parseCEL(expression)
		if fault == "" && got != "" || !strings.Contains(got, fault) {
			t.Errorf("%s: %q, want %q", expression, got, fault)
		}
	}
}
