package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/tenancy"
)

// space is a Namespace that belongs to files; with none it is not fenced in.
func space(name, globs string) string {
	text := fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: %s\n", name)
	if globs != "" {
		text += fmt.Sprintf("  annotations: {gatefold.io/paths: %q}\n", globs)
	}
	return text
}

// in is a route of a namespace.
func in(namespace, name, path string) string {
	return strings.Replace(route(name, path), "  name: "+name+"\n", "  name: "+name+"\n  namespace: "+namespace+"\n", 1)
}

const class = "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: other}\nspec: {controllerName: example.com/c}\n"

// fenced makes a Store in which platform/** may define what belongs to no namespace.
func fenced(t testing.TB) *Store {
	t.Helper()
	return newStore(t, Options{ClusterPaths: tenancy.Globs{"platform/**"}})
}

// files are contents by path.
type files map[string]string

// with returns the files and others; those without content are gone.
func (f files) with(others files) files {
	all := files{}
	for _, some := range []files{f, others} {
		for path, text := range some {
			all[path] = text
			if text == "" {
				delete(all, path)
			}
		}
	}
	return all
}

func TestFence(t *testing.T) {
	base := files{
		"platform/spaces.yaml": space("shop", "shop/**") + "---\n" + space("blog", "blog/*.yaml, extra/blog.yaml"),
		"shop/a.yaml":          in("shop", "a", "/1"),
		"blog/b.yaml":          in("blog", "b", "/1"),
	}
	const start = "+a=/1 +b=/1 +blog +shop"
	for name, steps := range map[string][]struct {
		tree files
		want string
	}{
		"an object outside takes nothing over": {
			{base, start},
			{base.with(files{"blog/x.yaml": in("shop", "a", "/evil")}), "OutsideFence"},
			{base.with(files{"a/first.yaml": in("shop", "a", "/evil"), "blog/b.yaml": in("blog", "b", "/2")}), "+b=/2 OutsideFence"},
		},
		"nor does it at a cold start, whatever its name": {
			{base.with(files{"a/first.yaml": in("shop", "a", "/evil")}), start + " OutsideFence"},
		},
		"nor what is gone": {
			{base, start},
			{base.with(files{"shop/a.yaml": "", "blog/x.yaml": in("shop", "a", "/evil")}), "-a OutsideFence"},
		},
		"what such a file gives no more is kept, and told of": {
			{base.with(files{"shop/a.yaml": in("blog", "x", "/evil") + "---\n" + in("shop", "a", "/1")}), start + " OutsideFence"},
			{base.with(files{"shop/a.yaml": in("blog", "x", "/evil")}), "LastGoodKept OutsideFence"},
		},
		"a file that misnames its object keeps it": {
			{base, start},
			{base.with(files{"shop/a.yaml": in("blog", "a", "/2")}), "LastGoodKept OutsideFence"},
			{base.with(files{"shop/a.yaml": in("shpo", "a", "/2")}), "LastGoodKept OutsideFence"},
			{base.with(files{"shop/a.yaml": in("shop", "a", "/2")}), "+a=/2"},
		},
		"what a broken file keeps": {
			{base, start},
			{base.with(files{"shop/a.yaml": "kind: ["}), "LastGoodKept InvalidYAML"},
			{base.with(files{"shop/a.yaml": "kind: [", "platform/spaces.yaml": space("shop", "new/**") + "---\n" + space("blog", "blog/**")}), "+blog +shop -a InvalidYAML"},
		},
		"objects move within their fence, and out of it": {
			{base, start},
			{base.with(files{"shop/a.yaml": "", "shop/deep/er/c.yaml": in("shop", "a", "/1")}), ""},
			{base.with(files{"shop/a.yaml": "", "c.yaml": in("shop", "a", "/1")}), "-a OutsideFence"},
			{base, "+a=/1"},
		},
		"the fence moves": {
			{base, start},
			{base.with(files{"extra/blog.yaml": in("blog", "c", "/1"), "extra/shop.yaml": in("shop", "c", "/1")}), "+c=/1 OutsideFence"},
			{base.with(files{"platform/spaces.yaml": space("shop", "new/**") + "---\n" + space("blog", "blog/**"), "extra/blog.yaml": in("blog", "c", "/1")}), "+blog +shop -c -a OutsideFence OutsideFence"},
			{base, "+a=/1 +blog +shop"},
		},
		"a fence that cannot be read stays as it was": {
			{base, start},
			{base.with(files{"platform/spaces.yaml": space("shop", "/shop/**") + "---\n" + space("blog", "blog/**")}), "+blog LastGoodKept InvalidValue"},
			{base.with(files{"platform/spaces.yaml": "kind: [", "x.yaml": in("shop", "c", "/1")}), "LastGoodKept OutsideFence InvalidYAML"},
		},
		"declared namespaces alone": {
			{files{"a.yaml": in("shop", "a", "/1"), "b.yaml": in("blog", "b", "/1")}, "HOLD NamespacesMissing"},
			{files{"a.yaml": in("shop", "a", "/1"), "b.yaml": in("blog", "b", "/1"), "platform/s.yaml": space("blog", "")}, "+blog +b=/1 OutsideFence"},
			{files{"a.yaml": in("shop", "a", "/1"), "b.yaml": in("blog", "b", "/1"), "platform/s.yaml": space("blog", "") + "---\n" + space("shop", "")}, "+shop +a=/1"},
			{files{"a.yaml": in("shop", "a", "/1"), "b.yaml": in("blog", "b", "/1"), "platform/s.yaml": space("shop", "")}, "-b -blog OutsideFence"},
		},
		"what belongs to no namespace": {
			{base.with(files{"x.yaml": space("shop", "x.yaml") + "---\n" + class, "y.yaml": in("shop", "b", "/1")}), start + " OutsideFence OutsideFence OutsideFence"},
			{base.with(files{"platform/x.yaml": class}), "+other"},
		},
		"a folder whose Namespaces are gone is not emptied": {
			{base, start},
			{base.with(files{"platform/spaces.yaml": ""}), "HOLD NamespacesMissing"},
			{base.with(files{"platform/spaces.yaml": "", "shop/n.yaml": space("shop", "**"), "shop/a.yaml": in("shop", "a", "/2")}), "HOLD NamespacesMissing"},
			{base.with(files{"platform/moved.yaml": space("shop", "shop/**"), "platform/spaces.yaml": ""}), "-b -blog OutsideFence"},
		},
		"two definitions of a Namespace let in what both do, in whatever order they come": {
			{base, start},
			{base.with(files{"platform/a.yaml": space("shop", "**"), "x.yaml": in("shop", "x", "/1")}), "+shop Conflict OutsideFence"},
			{base.with(files{"platform/z.yaml": space("shop", "x.yaml"), "x.yaml": in("shop", "x", "/1")}), "+shop -a Conflict OutsideFence OutsideFence"},
			{base.with(files{"x.yaml": in("shop", "x", "/1")}), "+a=/1 OutsideFence"},
		},
		"objects of cluster paths go before others": {
			{files{"platform/s.yaml": space("open", ""), "a.yaml": in("open", "a", "/1")}, "+open +a=/1"},
			{files{"platform/s.yaml": space("open", ""), "a.yaml": in("open", "a", "/1"), "platform/z.yaml": in("open", "a", "/2")}, "+a=/2 Conflict"},
			{files{"platform/s.yaml": space("open", ""), "b.yaml": in("open", "a", "/1"), "platform/z.yaml": in("open", "a", "/2")}, "Conflict"},
			{files{"platform/s.yaml": space("open", ""), "b.yaml": in("open", "a", "/2")}, "+a=/2"},
		},
		"a typo in the annotation leaves the last policy in force": {
			{base, start},
			{base.with(files{"platform/spaces.yaml": strings.Replace(space("shop", "**"), "/paths", "/path", 1) + "---\n" + space("blog", "blog/**"), "x.yaml": in("shop", "x", "/1")}), "+blog LastGoodKept OutsideFence UnknownField"},
		},
		"a broken route of the platform does not hold a start": {
			{base.with(files{"platform/spaces.yaml": base["platform/spaces.yaml"] + "---\n" + in("shop", "r", "no-slash")}), start + " RuleViolated"},
		},
		"nothing is open at a start with a broken fence": {
			{base.with(files{"platform/spaces.yaml": "kind: ["}), "HOLD ClusterPathsBroken InvalidYAML"},
			{base.with(files{"platform/spaces.yaml": space("shop", "[")}), "HOLD ClusterPathsBroken InvalidValue"},
			{base.with(files{"platform/other.yaml": strings.Replace(space("x", ""), "Namespace", "Namespce", 1)}), "HOLD ClusterPathsBroken UnknownKind"},
			{base.with(files{"platform/other.yaml": "metadata: {name: x}\n"}), "HOLD ClusterPathsBroken RequiredField"},
			{base, start},
			{base.with(files{"platform/spaces.yaml": "kind: ["}), "LastGoodKept InvalidYAML"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := fenced(t)
			for i, step := range steps {
				if got := sortedSummary(s.Apply(treeOf(step.tree))); got != sortedWords(step.want) {
					t.Errorf("step %d: got %q, want %q", i, got, sortedWords(step.want))
				}
			}
		})
	}
}

func sortedSummary(c Change) string { return sortedWords(summary(c)) }

// sortedWords makes the order of problems, which is that of files, count for nothing.
func sortedWords(text string) string {
	words := strings.Fields(text)
	slices.Sort(words)
	return strings.Join(words, " ")
}

// TestAFenceWantsClusterPaths holds a start without the flag. While something serves, the
// Namespace alone is rejected.
func TestAFenceWantsClusterPaths(t *testing.T) {
	a := files{"a.yaml": in("shop", "a", "/1")}
	with := a.with(files{"n.yaml": "\n" + space("shop", "b.yaml")})
	missing := func(c Change, line int) {
		t.Helper()
		if p := c.Problems[0]; p.File != "n.yaml" || p.Line != line || p.Object.Name != "shop" || !strings.Contains(p.Hint, "--cluster-paths") {
			t.Errorf("%+v", p)
		}
	}
	cold := newStore(t, Options{})
	c := cold.Apply(treeOf(with))
	if got := summary(c); got != "HOLD ClusterPathsMissing" {
		t.Fatal(got)
	}
	missing(c, 5)
	if got := sortedSummary(cold.Apply(treeOf(a))); got != "+a=/1" {
		t.Error(got)
	}
	c = cold.Apply(treeOf(with.with(files{"b.yaml": in("blog", "b", "/1")})))
	if got := sortedSummary(c); got != "+b=/1 ClusterPathsMissing" {
		t.Error(got)
	}
	missing(c, 6)
	if got := sortedSummary(cold.Apply(treeOf(files{"n.yaml": space("shop", "")}))); got != "+shop -a -b" {
		t.Error(got)
	}
}

// TestEachPolicyAnnotationWantsClusterPaths rejects a Namespace that has only one annotation of path policies, and not
// one with an annotation that applies without them.
func TestEachPolicyAnnotationWantsClusterPaths(t *testing.T) {
	for annotation, want := range map[string]string{
		"gatefold.io/paths: a/**": "HOLD ClusterPathsMissing", "gatefold.io/gateway-ports: '80'": "ClusterPathsMissing",
		"gatefold.io/backends: 10.0.0.0/8": "HOLD ClusterPathsMissing", "gatefold.io/hostnames: a.example": "+shop",
	} {
		text := strings.Replace(space("shop", "x"), `gatefold.io/paths: "x"`, annotation, 1)
		if got := summary(newStore(t, Options{}).Apply(treeOf(files{"n.yaml": text}))); got != want {
			t.Errorf("%s: %s, want %s", annotation, got, want)
		}
	}
}

// TestAForgottenFlagHoldsARestart has the state remember that path policies were in force.
func TestAForgottenFlagHoldsARestart(t *testing.T) {
	tree := files{"platform/s.yaml": space("shop", "shop/**"), "shop/a.yaml": in("shop", "a", "/1"), "x.yaml": in("shop", "x", "/1")}
	s, saved := newStore(t, Options{Save: true, ClusterPaths: tenancy.Globs{"platform/**"}}), ledger{}
	s.Apply(treeOf(tree))
	saved.take(s)
	again := saved.restart(t, saving)
	for range 2 {
		if c := again.Apply(treeOf(tree)); !strings.Contains(c.Hold, "--cluster-paths") || strings.Contains(summary(c), "x=") {
			t.Error(summary(c), c.Hold)
		}
	}
	if got := sortedSummary(again.Apply(treeOf(tree.with(files{"platform/s.yaml": space("shop", "")})))); got != "+shop +x=/1" {
		t.Error(got)
	}
}

func TestAnObjectOutsideIsToldWithItsPlace(t *testing.T) {
	s := fenced(t)
	tree := files{
		"platform/s.yaml": space("shop", "shop/**"),
		"shop/a.yaml":     in("shop", "a", "/1"),
		"blog/x.yaml":     "# a comment\n" + in("shop", "a", "/evil"),
	}
	c := s.Apply(treeOf(tree))
	if len(c.Problems) != 1 {
		t.Fatal(summary(c))
	}
	p := c.Problems[0]
	if p.File != "blog/x.yaml" || p.Line != 5 || p.Object.String() != "HTTPRoute shop/a" || p.Excerpt == "" ||
		!strings.Contains(p.Message, "shop/**; the one of shop/a.yaml is still served") || !strings.Contains(p.Hint, "gatefold.io/paths") {
		t.Errorf("%+v", p)
	}
}

// TestWorktreesDoNotCount is git-sync: the root leads elsewhere, the paths stay.
func TestWorktreesDoNotCount(t *testing.T) {
	s := fenced(t)
	tree := treeOf(files{"platform/s.yaml": space("shop", "shop/**"), "shop/a.yaml": in("shop", "a", "/1")})
	tree.Revision = "0123"
	s.Apply(tree)
	tree.Revision = "4567"
	if got := summary(s.Apply(tree)); got != "" {
		t.Error(got)
	}
}

func TestManyObjectsOutsideAreSummedUp(t *testing.T) {
	s := fenced(t)
	var many strings.Builder
	for i := range 1000 {
		many.WriteString(in("shop", fmt.Sprint("r", i), "/1") + "---\n")
	}
	c := s.Apply(treeOf(files{"platform/s.yaml": space("shop", "shop/**"), "blog/x.yaml": many.String()}))
	if len(c.Problems) != maxOutside+1 || len(c.Set) != 1 {
		t.Errorf("%d problems, %d objects", len(c.Problems), len(c.Set))
	}
}

// TestFencesComeAndGo edits a folder at random: what serves is what a fresh Store
// has, as no document is broken and no file misnames an object that it gave.
func TestFencesComeAndGo(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	warm := fenced(t)
	for range 300 {
		tree := files{"platform/z.yaml": class + "---\n" + space("other", "")}
		globs := []string{"", "s/**", "b/**", "**", "s/a.yaml", "s/*, b/a.yaml"}
		for _, name := range []string{"shop", "blog"} {
			if pick := random.IntN(len(globs) + 1); pick < len(globs) {
				tree["platform/"+name+".yaml"] = space(name, globs[pick])
			}
		}
		for _, dir := range []string{"s/", "b/"} {
			namespace := map[string]string{"s/": "shop", "b/": "blog"}[dir]
			for i, name := range []string{"a.yaml", "b.yaml"} {
				if random.IntN(3) > 0 {
					tree[dir+name] = in(namespace, fmt.Sprint(dir[:1], i), fmt.Sprint("/", random.IntN(3)))
				}
			}
		}
		warm.Apply(treeOf(tree))
		cold := fenced(t)
		cold.Apply(treeOf(tree))
		got, want := servedText(warm), servedText(cold)
		if got != want && len(warm.serving.kept) == 0 {
			t.Fatalf("warm %s\ncold %s\nof %v", got, want, tree)
		}
	}
}

// servedText lists what serves.
func servedText(s *Store) string {
	var all []string
	for key, at := range s.serving.served {
		all = append(all, fmt.Sprintf("%s@%s#%x", key, at.path(), at.object.Hash[:4]))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}
