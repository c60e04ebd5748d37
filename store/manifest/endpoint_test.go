package manifest

import (
	"strings"
	"testing"
)

func TestIsEndpointName(t *testing.T) {
	for _, name := range []string{"a", "my_app", "_srv.my_app-1.local", "project_app_1", "a.b", "1a", "a_"} {
		if !IsEndpointName(name) {
			t.Errorf("%q is none", name)
		}
	}
	for _, name := range []string{"", "-a", "a-", "a.", ".a", "a..b", "A", "a b", "a:1", "http://a", "*.a", "${a}", "a_.-b", strings.Repeat("a", 254)} {
		if IsEndpointName(name) {
			t.Errorf("%q is one", name)
		}
	}
}
