package fence

import (
	"strings"
	"testing"
)

func TestGlobs(t *testing.T) {
	for _, test := range []struct {
		globs, fits, not string // paths, separated by spaces
	}{
		{"a.yaml", "a.yaml", "b.yaml x/a.yaml a.yaml/x"},
		{"*", "a.yaml", "x/a.yaml"},
		{"**", "a.yaml x/a.yaml x/y/z.json", ""},
		{"shop/**", "shop/a.yaml shop/x/y.yaml", "shopping/a.yaml shop.yaml a/shop/a.yaml Shop/a.yaml"},
		{"**/shop/*.yaml", "shop/a.yaml x/y/shop/a.yaml", "shop/x/a.yaml shop/a.json"},
		{"a/**/b/**/c", "a/b/c a/x/b/y/z/c a/b/b/c/c", "a/c a/b b/c a/b/c/d"},
		{"team-?/[a-c]*.yaml", "team-1/b.yaml", "team-12/b.yaml team-1/d.yaml team-/b.yaml"},
		{"a.yaml, b/*\n c.yaml", "a.yaml b/x c.yaml", "b b/x/y"},
		{`a\*`, "a*", "ab"},
	} {
		globs, err := Parse(test.globs)
		if err != nil {
			t.Fatal(err)
		}
		for path := range strings.FieldsSeq(test.fits) {
			if !globs.Match(path) {
				t.Errorf("%q does not fit %s", test.globs, path)
			}
		}
		for path := range strings.FieldsSeq(test.not) {
			if globs.Match(path) {
				t.Errorf("%q fits %s", test.globs, path)
			}
		}
	}
}

func TestGlobsThatAreRefused(t *testing.T) {
	for glob, want := range map[string]string{
		"": "no path is named", " ,\n": "no path is named",
		"/a": "from the folder", "a/": "shop/**", "a//b": "none twice",
		"../a": "leave . and ..", "./a": "leave . and ..", "a/.": "leave . and ..",
		"a**": "stands alone", "a/***": "stands alone", "ok,[a": "wants its ]", `a\`: "a character behind it",
	} {
		if _, err := Parse(glob); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", glob, err, want)
		}
	}
}

// TestManyStarsAreNoBomb would not end if every ** were tried with every part.
func TestManyStarsAreNoBomb(t *testing.T) {
	globs, err := Parse(strings.Repeat("**/a/", 60) + "b")
	if err != nil || globs.Match(strings.Repeat("a/", 2000)+"c") {
		t.Error("it fits", err)
	}
}

func TestRefuse(t *testing.T) {
	f := New(Globs{"platform/**"})
	ask := func(file, namespace, want string) {
		t.Helper()
		got := f.Refuse(file, namespace)
		if want == "" && got != (Refusal{}) || !strings.Contains(got.Message, want) || want != "" && got.Hint == "" {
			t.Errorf("%s in %s: %+v, want %q", namespace, file, got, want)
		}
	}
	ask("x.yaml", "", "come from --cluster-paths alone")
	ask("platform/x.yaml", "", "")
	ask("x.yaml", "shop", "")
	if !f.Declare("open", nil) || f.Declare("open", nil) || f.Stands() {
		t.Error("a Namespace without globs raises a fence, or is new twice")
	}
	if !f.Declare("shop", Globs{"shop/*"}) || f.Declare("shop", Globs{"shop/*"}) || !f.Stands() {
		t.Error("a Namespace with globs raises none")
	}
	ask("x.yaml", "shop", "belongs to shop/*")
	ask("shop/x.yaml", "shop", "")
	ask("shop/x.yaml", "open", "")
	ask("shop/x.yaml", "shpo", "not declared")
	f.Declare("shop", Globs{"x.yaml"})
	ask("x.yaml", "shop", "")
	if !f.Forget("shop") || f.Forget("shop") || f.Stands() {
		t.Error("the fence stands")
	}
	ask("x.yaml", "shop", "")

	var none Fence
	if none = New(nil); none.Declare("shop", Globs{"shop/*"}) || none.Refuse("x", "") != (Refusal{}) || none.Refuse("x", "shop") != (Refusal{}) {
		t.Error("without --cluster-paths something is refused")
	}
}
