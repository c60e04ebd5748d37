package xds

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate/ir"
)

func TestPrefix(t *testing.T) {
	regex := func(pattern string) ir.Match { return ir.Match{Path: ir.Path{Kind: ir.PathRegex, Value: pattern}} }
	for want, matches := range map[string][]ir.Match{
		"/a/b": {
			{Path: ir.Path{Kind: ir.PathExact, Value: "/a/b"}}, {Path: ir.Path{Kind: ir.PathPrefix, Value: "/a/b"}},
			regex("/a/b"), regex("/a/b.*"), regex("^/a/b[0-9]"), regex("(?:/a)(?:/b)$"), regex("/a/(b)(c|d)"), regex("/a/b(?i)x"), regex("/a/b(?:/[?].*)?"),
			regex(`\Q/a/b\E.+`), regex("/a/bc?"), regex("/a/bc*"), regex("/a/bx|/a/by"), regex(`/a/b\z`),
			{Path: ir.Path{Kind: ir.PathRegex, Value: ".*[.]x"}, Within: "/a/b"}, {Path: ir.Path{Kind: ir.PathRegex, Value: "/a/b.*"}, Within: "/a"},
		},
		"/":  {{Path: ir.Path{Kind: ir.PathPrefix, Value: "/"}}, regex("/(a|b)"), regex("/(?i)a"), regex("/[^/]+/x"), regex("/a?/b"), regex("/(?:a{2})?b")},
		"":   {regex(".*"), regex("(/a)?/b"), regex("(?i)a"), regex("a|/b"), regex("(?i:/A/B).*")},
		"/ü": {regex("/ü.*"), regex(`/\x{fc}.`)},
	} {
		for _, match := range matches {
			if got := Prefix(&match); got != want {
				t.Errorf("%+v begins with %q, want %q", match, got, want)
			}
		}
	}
}

// Every text that a random expression matches begins with what is said of it.
func TestRegexPrefixIsSure(t *testing.T) {
	parts := []string{"/a", "/a", "b", "/", "[ab]", "(?:a|b)", "a?", "(/a)+", "(?i)", "(?i:A)", "(?:/ab|/ac)", "(?s:.)", "a{2}", "^", `\b`, "()", ".*", "|", "(?:a|)", `\Q/a\E`}
	r, matched := rand.New(rand.NewPCG(5, 5)), 0
	for range 40_000 {
		var pattern, text strings.Builder
		for range 1 + r.IntN(5) {
			pattern.WriteString(parts[r.IntN(len(parts))])
		}
		for range r.IntN(6) {
			text.WriteString([]string{"/a", "a", "b", "/", "A", "B"}[r.IntN(6)])
		}
		whole, err := regexp.Compile("^(?:" + pattern.String() + ")$")
		if err != nil || !whole.MatchString(text.String()) {
			continue
		}
		matched++
		if prefix := regexPrefix(pattern.String()); !strings.HasPrefix(text.String(), prefix) {
			t.Fatalf("%q matches %q, which does not begin with %q", pattern.String(), text.String(), prefix)
		}
	}
	if matched < 1000 {
		t.Errorf("only %d texts matched", matched)
	}
}

func TestCovers(t *testing.T) {
	prefix := func(value string) ir.Match { return ir.Match{Path: ir.Path{Kind: ir.PathPrefix, Value: value}} }
	narrowed := []ir.Match{prefix("/a"), prefix("/a"), prefix("/a"), prefix("/a"), prefix("/a"), prefix("/a")}
	narrowed[0].Method, narrowed[1].Within, narrowed[2].Hosts = "GET", "/a", []string{"a.test"}
	narrowed[3].Headers, narrowed[4].Query = []ir.ValueMatch{{Name: "x"}}, []ir.ValueMatch{{Name: "x"}}
	narrowed[5].Path.Kind = ir.PathExact
	for _, match := range narrowed {
		if Covers(&match, "/a/b") {
			t.Errorf("%+v takes not everything below /a/b", match)
		}
	}
	for key, want := range map[string]bool{"/a/": true, "/a/b": true, "/a": false, "/ab/": false, "": false, "/": false} {
		match := prefix("/a")
		if Covers(&match, key) != want {
			t.Errorf("/a takes all of %q: %v", key, !want)
		}
	}
	all, query := prefix("/"), prefix("/a?b")
	if !Covers(&all, "/") || !Covers(&all, "/a") || Covers(&all, "") || Covers(&query, "/a?b/c") {
		t.Error("/ takes what begins with a slash, and what has a query in its prefix nothing")
	}
}
