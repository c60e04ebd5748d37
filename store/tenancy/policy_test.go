package tenancy

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
		"": "the value is empty", " ,\n": "the value is empty",
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

func TestGlobsBelow(t *testing.T) {
	for _, test := range []struct{ globs, below, not string }{
		{"platform/**", "platform platform/x platform/x/y", "plat teams platform2 x/platform"},
		{"platform/*.yaml", "platform", "platform/x teams"},
		{"conf/platform/**", "conf conf/platform conf/platform/x", "platform teams conf/teams"},
		{"a.yaml", "", "a.yaml a"},
		{"*/ns.yaml", "a b", "a/b"},
		{"**/ns.yaml", "a a/b/c", ""},
		{"a/**/b/c.yaml", "a a/x a/b/b/b", "b"},
		{"a/[bc]/?.yaml, z/*", "a a/b a/c z", "a/d a/b/x z/y"},
	} {
		globs, err := Parse(test.globs)
		if err != nil {
			t.Fatal(err)
		}
		for directory := range strings.FieldsSeq(test.below) {
			if !globs.MatchBelow(directory) {
				t.Errorf("%q may not lie below %s", test.globs, directory)
			}
		}
		for directory := range strings.FieldsSeq(test.not) {
			if globs.MatchBelow(directory) {
				t.Errorf("%q may lie below %s", test.globs, directory)
			}
		}
	}
}

// asked returns a function that compares what a Policy says.
func asked(t *testing.T) func(got Violation, want string) {
	return func(got Violation, want string) {
		t.Helper()
		if want == "" && got != (Violation{}) || !strings.Contains(got.Message, want) || want != "" && got.Hint == "" {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
}

func TestRefuse(t *testing.T) {
	p, ask := New(Globs{"platform/**"}), asked(t)
	ask(p.CheckNamespace("x.yaml", ""), "come from --cluster-paths alone")
	ask(p.CheckNamespace("platform/x.yaml", ""), "")
	ask(p.CheckNamespace("platform/x.yaml", "shop"), "not declared")
	if !p.Declare("open", []Grant{{}}) || p.Declare("open", []Grant{{}}) {
		t.Error("a Namespace without annotations is not declared, or is new twice")
	}
	only := []Grant{{Paths: Globs{"shop/*"}}}
	if !p.Declare("shop", only) || p.Declare("shop", []Grant{{Paths: Globs{"shop/*"}}}) {
		t.Error("a Namespace with paths is not declared, or is new twice")
	}
	ask(p.CheckNamespace("x.yaml", "shop"), "belongs to shop/*")
	ask(p.CheckNamespace("shop/x.yaml", "shop"), "")
	ask(p.CheckNamespace("shop/x.yaml", "open"), "")
	ask(p.CheckNamespace("shop/x.yaml", "shpo"), "not declared")
	p.Declare("shop", []Grant{{Paths: Globs{"**"}}, {Paths: Globs{"x.yaml"}}, {}})
	ask(p.CheckNamespace("x.yaml", "shop"), "")
	ask(p.CheckNamespace("y.yaml", "shop"), "belongs to x.yaml")
	if !p.Forget("shop") || p.Forget("shop") {
		t.Error("it is not forgotten")
	}
	ask(p.CheckNamespace("x.yaml", "shop"), "not declared")

	none := New(nil)
	if none.Declare("shop", only) {
		t.Error("without cluster paths something is declared")
	}
	for _, namespace := range []string{"", "shop"} {
		ask(none.CheckNamespace("x", namespace), "")
	}
}

func TestRefusePort(t *testing.T) {
	p, ask := New(Globs{"platform/**"}), asked(t)
	p.Declare("shop", []Grant{{}})
	p.Declare("edge", []Grant{{Ports: Ports{{8443, 8443}, {9000, 9100}}}})
	p.Declare("twice", []Grant{{Ports: Ports{{80, 90}}}, {Ports: Ports{{85, 95}}}})
	ask(p.CheckPort("platform/x.yaml", "shop", 80), "")
	ask(p.CheckPort("shop/x.yaml", "shop", 0), "may not open ports")
	ask(p.CheckPort("shop/x.yaml", "shop", 80), "may not open ports")
	ask(p.CheckPort("edge/x.yaml", "edge", 0), "")
	ask(p.CheckPort("edge/x.yaml", "edge", 9050), "")
	ask(p.CheckPort("edge/x.yaml", "edge", 80), "its ports are 8443, 9000-9100")
	ask(p.CheckPort("x.yaml", "twice", 85), "")
	ask(p.CheckPort("x.yaml", "twice", 84), "its ports are 85-95")
	ask(p.CheckPort("x.yaml", "twice", 91), "its ports are 80-90")
	ask(p.CheckSharedPort("x.yaml", "twice", 88), "")
	p.Declare("all", []Grant{{Ports: Ports{{86, 99}}}})
	ask(p.CheckSharedPort("x.yaml", "twice", 88), "belongs to namespace all")
	ask(p.CheckSharedPort("x.yaml", "twice", 85), "")
	ask(p.CheckSharedPort("x.yaml", "all", 88), "")
	ask(p.CheckSharedPort("platform/x.yaml", "twice", 88), "")
	if got := p.Overlaps(); len(got) != 1 || got["twice"] != "all" {
		t.Error(got)
	}
	none := New(nil)
	ask(none.CheckPort("x.yaml", "shop", 80), "")
	ask(none.CheckSharedPort("x.yaml", "shop", 80), "")
}
