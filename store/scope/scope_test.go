package scope_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/scope"
)

// A wildcard of a listener or a route covers hosts with one or more labels before its suffix; one in a certificate is
// valid for exactly one label. Both rules are asked about the same names.
func TestTheTwoRulesOfHostnames(t *testing.T) {
	for _, c := range []struct {
		name, host          string
		covers, certificate bool
	}{
		{"a.test", "a.test", true, true},
		{"a.test", "b.a.test", false, false},
		{"*.a.test", "b.a.test", true, true},
		{"*.a.test", "c.b.a.test", true, false}, // here the rules differ
		{"*.a.test", "a.test", false, false},
		{"*.a.test", ".a.test", false, true}, // Envoy wants a label there; nobody asks a certificate for such a host
		{"*.a.test", "ba.test", false, false},
		{"*.a.test", "b.a.test.evil.test", false, false},
		{"*.a.test", "*.a.test", true, true},
		{"*.a.test", "*.b.a.test", true, false},
		{"*.b.a.test", "*.a.test", false, false},
		{"b.a.test", "*.a.test", false, false},
		{"A.Test", "a.test", false, true}, // hostnames are in lower case before they are compared
		{"*.A.Test", "b.a.test", false, true},
		{"*", "a.test", true, false},
		{"*", "test", true, false},
		{"*", "*.a.test", true, false},
		{"", "a.test", true, false},
		{"", "*", true, false},
		{"*", "", true, false},
		{"a.test", "", false, false},
		{"*.a.test", "", false, false},
		{"*.a.test", "*", false, false},
	} {
		if got := scope.CoversHost(c.name, c.host); got != c.covers {
			t.Errorf("hostname %q covers %q: %v", c.name, c.host, got)
		}
		if got := scope.CertifiesHost(c.name, c.host); got != c.certificate {
			t.Errorf("a certificate for %q is valid for %q: %v", c.name, c.host, got)
		}
	}
}

func TestIntersect(t *testing.T) {
	for pair, want := range map[[2]string]string{
		{"a.test", "a.test"}: "a.test", {"*.test", "a.test"}: "a.test", {"", "*.test"}: "*.test", {"*.test", "*.a.test"}: "*.a.test",
		{"a.test", "b.test"}: "none", {"*.a.test", "a.test"}: "none", {"*.a.test", "*.b.test"}: "none", {"", ""}: "",
	} {
		for _, names := range [][2]string{pair, {pair[1], pair[0]}} {
			if got, ok := scope.Intersect(names[0], names[1]); ok != (want != "none") || ok && got != want {
				t.Errorf("%q: %q, %v", names, got, ok)
			}
		}
	}
}

// Patterns yields every hostname that covers a host, and no other, the most specific first.
func TestPatterns(t *testing.T) {
	for host, want := range map[string][]string{
		"c.b.a":  {"c.b.a", "*.b.a", "*.a", "*"},
		"*.b.a":  {"*.b.a", "*.a", "*"},
		"*.b..a": {"*.b..a", "*..a", "*.a", "*"},
		".b.a":   {".b.a", "*.a", "*"},
		"a":      {"a", "*"},
		"":       {"", "*"},
		"*":      {"*"},
	} {
		if got := slices.Collect(scope.Patterns(host)); !slices.Equal(got, want) {
			t.Errorf("%q: %q", host, got)
		}
		if got := slices.Collect(scope.Wildcards(host)); !slices.Equal(got, want[1:]) {
			t.Errorf("%q: the wildcards are %q", host, got)
		}
		for _, pattern := range want {
			if !scope.CoversHost(pattern, host) {
				t.Errorf("%q does not cover %q", pattern, host)
			}
		}
	}
	for range scope.Patterns("a.b") {
		break // and nothing is yielded after it
	}
}

func TestCoversPath(t *testing.T) {
	for prefix, want := range map[string][]string{
		"/a":   {"/a", "/a/", "/a/b", "/a//b"},
		"/a/":  {"/a", "/a/", "/a/b", "/a//b"},
		"/a/b": {"/a/b"},
		"/":    {"/", "/a", "/a/", "/a/b", "/a//b", "/ab", "/A", "//a", ""},
		"":     {"/", "/a", "/a/", "/a/b", "/a//b", "/ab", "/A", "//a", ""},
		"/c":   nil,
	} {
		for _, path := range []string{"/", "/a", "/a/", "/a/b", "/a//b", "/ab", "/A", "//a", "", "a"} {
			if got := scope.CoversPath(prefix, path); got != slices.Contains(want, path) {
				t.Errorf("%q covers %q: %v", prefix, path, got)
			}
		}
	}
}

// A label without a value is another thing than no label, by whichever selector.
func TestSelectors(t *testing.T) {
	has := map[string]string{"app": "cart", "empty": ""}
	for selector, want := range map[string]bool{
		"": true, "app=cart": true, "empty=": true, "app=": false, "tier=": false, "app=cart,empty=": true, "app=cart,tier=": false, "app=shop": false,
	} {
		by, err := metav1.ParseToLabelSelector(selector)
		if err != nil {
			t.Fatal(err)
		}
		if got := scope.HasLabels(has, by.MatchLabels); got != want {
			t.Errorf("matchLabels %q: %v", selector, got)
		}
		if got := scope.MeetsSelector(has, selector); got != want {
			t.Errorf("%q: %v", selector, got)
		}
		if got := scope.AllowsNamespace(gwv1.NamespacesFromSelector, by, false, func() map[string]string { return has }); got != want {
			t.Errorf("namespaces with %q: %v", selector, got)
		}
	}
	for selector, want := range map[string]bool{"!tier,app in (cart,shop)": true, "app notin (cart)": false, "cut off=…": true} {
		if got := scope.MeetsSelector(has, selector); got != want {
			t.Errorf("%q: %v", selector, got)
		}
	}
}

func TestAllowsNamespace(t *testing.T) {
	unread := func() map[string]string { t.Error("labels are read for nothing"); return nil }
	invalid := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "not valid"}}
	for from, want := range map[gwv1.FromNamespaces][2]bool{
		gwv1.NamespacesFromAll: {true, true}, gwv1.NamespacesFromSame: {false, true}, gwv1.NamespacesFromNone: {}, gwv1.NamespacesFromSelector: {}, "": {},
	} {
		for i, same := range []bool{false, true} {
			if got := scope.AllowsNamespace(from, invalid, same, unread); got != want[i] {
				t.Errorf("%q allows its own namespace or another one (%v): %v", from, same, got)
			}
		}
	}
	if scope.AllowsNamespace(gwv1.NamespacesFromSelector, nil, true, func() map[string]string { return nil }) {
		t.Error("no selector allows a namespace")
	}
}
