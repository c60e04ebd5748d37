package xds

import (
	"regexp"
	"testing"
)

// A rule of a few hosts takes a Host header as Envoy's virtual hosts do, which cut it off at the
// last colon outside of brackets, whatever follows. TestExplainIsWhatEnvoyDoes sends such hosts.
func TestHostsPatternIsThatOfVirtualHosts(t *testing.T) {
	pattern := regexp.MustCompile("^(?:" + hostsPattern([]string{"a.test", "*.c.test", "[::1]"}) + ")$")
	for host, want := range map[string]bool{
		"a.test": true, "A.test:80": true, "a.test:": true, "a.test:x": true, "a.test:1:2": false, "xa.test": false, "a.testx": false, "axtest": false,
		"x.c.test": true, "x.C.test:": true, ".c.test": false, "c.test": false, "x.c.test.": false,
		"[::1]": true, "[::1]:80": true, "[::1]:": true, "[::2]": false, "[:": false,
	} {
		if got := pattern.MatchString(host); got != want {
			t.Errorf("%s: got %v, want %v", host, got, want)
		}
	}
}
