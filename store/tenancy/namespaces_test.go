package tenancy

import (
	"strings"
	"testing"
)

func TestNamespaces(t *testing.T) {
	got, err := ParseNamespaces("team-a,team-b\n x1")
	if err != nil || !got.Has("team-a") || !got.Has("x1") || got.Has("team") || got.Has("*") || got.With("z", "team-a") != "team-a, team-b, x1, z" {
		t.Error(got, err)
	}
	if all, err := ParseNamespaces("*"); err != nil || !all.Has("any") || all.With("any") != "*" {
		t.Error(all, err)
	}
	if (Namespaces)(nil).Has("any") || (Namespaces)(nil).With("a") != "a" {
		t.Error("no namespaces have one")
	}
}

func TestNamespacesThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"": "the value is empty", " , ": "the value is empty", "Team-A": "is not the name", "team-*": "is not the name", "**": "is not the name",
		"a/b": "is not the name", "a;b": "is not the name", "-a": "is not the name", "!a": "is not the name", strings.Repeat("a ", 1025): "more than 1024",
	} {
		if names, err := ParseNamespaces(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v %v, want %q", text, names, err, want)
		}
	}
}
