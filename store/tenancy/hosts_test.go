package tenancy

import (
	"slices"
	"strings"
	"testing"
)

func TestHosts(t *testing.T) {
	got, err := ParseHosts("*.Team-A.example.com,team-a.example.com\n localhost")
	if want := []string{"*.team-a.example.com", "team-a.example.com", "localhost"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %v, not %v", got, err, want)
	}
}

func TestHostsThatAreRejected(t *testing.T) {
	for text, want := range map[string]string{
		"": "the value is empty", " , ": "the value is empty", "*": "every hostname", "a.example.com *": "every hostname",
		"a.example.com:80": "not a hostname", "http://a.example.com": "not a hostname", "a.example.com.": "not a hostname",
		"a_b.example.com": "not a hostname", "*.*.example.com": "one * in front", "a.*.com": "not a hostname", "*.": "one * in front",
		".example.com": "not a hostname", "10.0.0.1": "an IP address", "::1": "an IP address", "a;b": "not a hostname",
		strings.Repeat("a.example.com ", 65): "more than 64",
	} {
		if hosts, err := ParseHosts(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v %v, want %q", text, hosts, err, want)
		}
	}
}
