package translate_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
)

// besideBombs is the folder that all bombs are put into: a Gateway, and a sound
// tree on a host of its own.
func besideBombs() map[string]string {
	return map[string]string{
		"gateway.yaml": `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg, namespace: bomb}
spec:
  gatewayClassName: gatefold
  listeners: [{name: http, port: 8080, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]
`,
		"sound.yaml": `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: sound, namespace: sound}
spec:
  parentRefs: [{name: eg, namespace: bomb}]
  hostnames: [sound.example.com]
  rules:
  - matches: [{path: {value: /a}}]
    backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: leaf}]
`,
		"leaf.yaml": soundLeaf("/a/b"),
	}
}

func soundLeaf(path string) string {
	return strings.Replace(leaf("leaf", path), "namespace: b", "namespace: sound", 1)
}

// bombRoute is a route with one rule; head is what its spec begins with.
func bombRoute(name, head, rule string) string {
	return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: %s, namespace: bomb, labels: {delegation.kgateway.dev/label: x}}\nspec:\n%s  rules:\n  - matches: [{path: {value: /a}}]\n    %s\n", name, head, rule)
}

const (
	bombHead  = "  parentRefs: [{name: eg}]\n  hostnames: [bomb.example.com]\n"
	toLabel   = "backendRefs: [{group: delegation.kgateway.dev, kind: label, name: x}]"
	toAnyone  = `backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: "*"}]`
	redirects = "filters: [{type: RequestRedirect, requestRedirect: {hostname: x.example.com}}]"
)

// bomb is a folder of n routes that all hand requests to each other, themselves
// included: more paths than could ever be followed.
func bomb(n int) map[string]string {
	files := besideBombs()
	files["root.yaml"] = bombRoute("root", bombHead, toAnyone)
	for i := range n {
		name := fmt.Sprintf("r%03d", i)
		files[name+".yaml"] = bombRoute(name, "", toAnyone)
	}
	return files
}

// layers is a folder in which each of wide routes hands requests to all of the
// level below: wide to the power of deep paths lead down.
func layers(deep, wide int) map[string]string {
	files := besideBombs()
	next := func(level int) string {
		var refs []string
		for i := range wide {
			refs = append(refs, fmt.Sprintf("{group: gateway.networking.k8s.io, kind: HTTPRoute, name: l%d-%d}", level, i))
		}
		return "backendRefs: [" + strings.Join(refs, ", ") + "]"
	}
	files["root.yaml"] = bombRoute("root", bombHead, next(1))
	for level := 1; level <= deep; level++ {
		for i := range wide {
			name, rule := fmt.Sprintf("l%d-%d", level, i), next(level+1)
			if level == deep {
				rule = redirects
			}
			files[name+".yaml"] = bombRoute(name, "", rule)
		}
	}
	return files
}

// wide is a folder of roots on one host that all hand requests to all children.
func wide(roots, children int) map[string]string {
	files := besideBombs()
	for i := range roots {
		name := fmt.Sprintf("root%04d", i)
		files[name+".yaml"] = bombRoute(name, bombHead, toLabel)
	}
	for i := range children {
		name := fmt.Sprintf("child%04d", i)
		files[name+".yaml"] = bombRoute(name, "", redirects)
	}
	return files
}

// including is a folder of routes that are included by each other, up to 30 each.
func including(n int) map[string]string {
	files := besideBombs()
	var parents []string
	for i := range min(n, 30) {
		parents = append(parents, fmt.Sprintf("{kind: HTTPRoute, name: r%d}", i))
	}
	head := "  parentRefs: [" + strings.Join(parents, ", ") + "]\n"
	for i := range n {
		name := fmt.Sprintf("r%d", i)
		files[name+".yaml"] = bombRoute(name, head, "allowedRoutes: {namespaces: {from: All}}")
	}
	files["r0.yaml"] = bombRoute("r0", strings.Replace(head, "[", "[{name: eg}, ", 1)+"  hostnames: [bomb.example.com]\n", "allowedRoutes: {namespaces: {from: All}}")
	return files
}

// chain is a folder of 32 routes, each of which delegates to the next one from each of
// its rules, or is included by the next one: a chain of 32 routes stands for rules to the
// power of 32 matches.
func chain(rules int, include bool) map[string]string {
	files := besideBombs()
	for level := range 32 {
		head, backends := "", redirects
		switch {
		case level == 0:
			head = bombHead
		case include:
			head = fmt.Sprintf("  parentRefs: [{kind: HTTPRoute, name: l%d}]\n", level-1)
		}
		switch {
		case level == 31:
		case include:
			backends = "allowedRoutes: {namespaces: {from: Same}}"
		default:
			backends = fmt.Sprintf("backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: l%d}]", level+1)
		}
		text := bombRoute(fmt.Sprintf("l%d", level), head, backends)
		for rule := 1; rule < rules; rule++ {
			text += fmt.Sprintf("  - matches: [{path: {value: /b%d}}]\n    %s\n", rule, backends)
		}
		files[fmt.Sprintf("l%d.yaml", level)] = strings.Replace(text, "labels:", "annotations: {delegation.kgateway.dev/inherit-parent-matcher: 'true'}, labels:", 1)
	}
	return files
}

func bombs() map[string]map[string]string {
	return map[string]map[string]string{
		"2 matches to the power of 32": chain(2, false), "16 matches to the power of 32": chain(16, false),
		"2 matches to the power of 32, included": chain(2, true), "16 matches to the power of 32, included": chain(16, true),
		"200 that name all": bomb(200), "1,000,000,000 paths": layers(9, 10), "100 roots, 100 children": wide(100, 100), "100 included by each other": including(100),
	}
}

// TestBombs: routes that multiply are stopped at their own rules, with a problem,
// and little is kept of them; every other route goes on, and an edit of it does
// not notice them (docs/design/routes.md).
func TestBombs(t *testing.T) {
	for name, files := range bombs() {
		t.Run(name, func(t *testing.T) {
			w := newWorldWith(t, translate.Options{MaxRoutes: 5000})
			if problems := problemsText(w.apply(tree(files))); !strings.Contains(problems, "TooManyRoutes spec.rules[0]") {
				t.Errorf("no problem tells of it: %s", problems)
			}
			w.checkCold(t)
			cells := 0
			for _, n := range w.translator.Cells() {
				cells += n
			}
			if cells > 200_000 {
				t.Errorf("%d cells are kept", cells)
			}

			files["leaf.yaml"] = soundLeaf("/a/c")
			w.apply(tree(files))
			if text := w.text(); !strings.Contains(text, "HTTPRoute/sound/sound/0/0>sound/leaf/0/0") {
				t.Error("the sound tree does not serve")
			}
			// The rules of the leaf, of its binding, of its place below the sound root, and of their one host are 18.
			if ran := w.rebuilt; len(ran) == 0 || len(ran) > 18 || strings.Contains(strings.Join(ran, " "), "HTTPRoute bomb/") {
				t.Errorf("for an edit on another host, %d rules ran: %q", len(ran), ran)
			}
		})
	}
}

// TestMendedBombs: what serves does not depend on the order of edits.
func TestMendedBombs(t *testing.T) {
	for _, n := range []int{3, 9, 30, 100} {
		t.Run(fmt.Sprint(n, " routes"), func(t *testing.T) {
			w, files := newWorld(t), bomb(n)
			if problems := problemsText(w.apply(tree(files))); n > 5 && !strings.Contains(problems, "TooManyRoutes") {
				t.Errorf("no problem tells of it: %s", problems)
			}
			w.checkCold(t)
			for i := range n - 2 {
				delete(files, fmt.Sprintf("r%03d.yaml", i))
			}
			if problems := problemsText(w.apply(tree(files))); strings.Contains(problems, "TooManyRoutes") {
				t.Error("what was mended is still complained of")
			}
			w.checkCold(t)
		})
	}
}

// TestABombGrows adds routes that hand requests to each other one by one: those
// that served before the budget was spent go as if they had never stood.
func TestABombGrows(t *testing.T) {
	w, stopped := newWorld(t), false
	for n := 2; n <= 8; n++ {
		problems := w.apply(tree(bomb(n)))
		w.checkCold(t)
		stopped = stopped || strings.Contains(problemsText(problems), "TooManyRoutes")
	}
	if !stopped {
		t.Error("the budget was never spent: the test shows nothing")
	}
}

// TestRootsShareTheBudgetOfTheirHost: roots stand in the order of ties as long as
// they fit, and one that takes less may stand behind one that does not.
func TestRootsShareTheBudgetOfTheirHost(t *testing.T) {
	w, files := newWorldWith(t, translate.Options{MaxRoutes: 100}), wide(9, 30)
	files["small.yaml"] = bombRoute("z", bombHead, strings.Replace(toAnyone, `"*"`, "child0000", 1))
	stopped := func() (out []string) {
		for _, p := range w.apply(tree(files)) {
			if p.Code == "TooManyRoutes" {
				out = append(out, p.Object.Name)
			}
		}
		w.checkCold(t)
		return out
	}
	if got := fmt.Sprint(stopped()); got != "[root0003 root0004 root0005 root0006 root0007 root0008]" {
		t.Errorf("stopped: %s", got)
	}
	delete(files, "root0001.yaml")
	if got := fmt.Sprint(stopped()); got != "[root0004 root0005 root0006 root0007 root0008]" {
		t.Errorf("without one that stood, stopped: %s", got)
	}
	files["elsewhere.yaml"] = strings.Replace(bombRoute("elsewhere", bombHead, toLabel), "bomb.example.com", "other.example.com", 1)
	if got := fmt.Sprint(stopped()); got != "[root0004 root0005 root0006 root0007 root0008]" {
		t.Errorf("with one on another host, stopped: %s", got)
	}
}

// BenchmarkBombs measures a bomb from Change to Result with the heap that it
// holds, and an edit on another host beside it.
func BenchmarkBombs(b *testing.B) {
	all := bombs()
	all["1,000 roots, 1,000 children"] = wide(1000, 1000)
	for name, files := range all {
		objects, err := store.New(store.Options{})
		if err != nil {
			b.Fatal(err)
		}
		change := objects.Apply(tree(files))
		files["leaf.yaml"] = soundLeaf("/a/c")
		there := objects.Apply(tree(files))
		files["leaf.yaml"] = soundLeaf("/a/b")
		back := objects.Apply(tree(files))
		var translator *translate.Translator
		b.Run(name+"/load", func(b *testing.B) {
			b.ReportAllocs()
			empty := liveHeap()
			for b.Loop() {
				translator = translate.New(translate.Options{})
				translator.Apply(change)
			}
			b.ReportMetric(float64(liveHeap()-empty)/(1<<20), "heap-MB")
		})
		b.Run(name+"/edit", func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				translator.Apply([]store.Change{there, back}[i%2])
			}
		})
		runtime.KeepAlive(translator)
	}
}

// TestTheHintOfABudget names the flag only where it raises the bound.
func TestTheHintOfABudget(t *testing.T) {
	for _, test := range []struct {
		most int
		hint string
	}{
		{100, "; or raise --max-routes-per-host"},
		{0, "; the limit of a folder is 1000 rules and 256 more for each of its routes, whatever --max-routes-per-host"},
	} {
		w := newWorldWith(t, translate.Options{MaxRoutes: test.most})
		problems := w.apply(tree(bomb(9)))
		at := slices.IndexFunc(problems, func(p manifest.Problem) bool { return p.Code == "TooManyRoutes" })
		if at < 0 {
			t.Fatalf("with a limit of %d rules, none is too many", test.most)
		}
		if got := problems[at].Hint; !strings.HasSuffix(got, test.hint) {
			t.Errorf("with a limit of %d rules: %s", test.most, got)
		}
	}
}

// TestANamespaceStopsItsPartOfARoot: below a root that the platform shares among teams, one
// team's routes come to more than the host may have. What the root hands to the other
// teams is served, whichever way it finds them, and an edit of theirs as well.
func TestANamespaceStopsItsPartOfARoot(t *testing.T) {
	matches := func(prefix string, n int) (paths []string) {
		for i := range n {
			paths = append(paths, fmt.Sprintf("%s%d", prefix, i))
		}
		return paths
	}
	for name, test := range map[string]struct{ action, parent string }{
		"named": {"", ""}, "labelled": {"backendRefs: [{group: delegation.kgateway.dev, kind: label, name: team, namespace: all}]", ""},
		"included": {"allowedRoutes: {namespaces: {from: All}}", "  parentRefs: [{kind: HTTPRoute, name: root, namespace: infra}]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			rule := func(namespace string) string {
				if test.action != "" {
					return test.action
				}
				return hostileTo(namespace, "*")
			}
			child := func(namespace, name string, paths ...string) string {
				text := strings.Replace(hostileRoute(namespace, name, hostileRule(hostileRedirect, paths...)), "spec:\n", "spec:\n"+test.parent, 1)
				return strings.Replace(text, "namespace: "+namespace, "namespace: "+namespace+", labels: {delegation.kgateway.dev/label: team}", 1)
			}
			files := innocentFiles("/unused")
			files["platform.yaml"] = strings.Split(files["platform.yaml"], "---\n")[0] +
				hostileRoute("infra", "root", hostileRule(rule("innocent"), "/in"), hostileRule(rule("attacker"), matches("/at", 64)...))
			files["innocent.yaml"] = child("innocent", "kid", "/in/x")
			w := newWorld(t)
			w.apply(tree(files))
			want := innocentRules(w)
			if !strings.Contains(want, "/in/x") {
				t.Fatalf("the innocent team is not served: %q", want)
			}
			text := ""
			for i := range 20 {
				text += child("attacker", fmt.Sprint("evil", i), matches(fmt.Sprintf("/in/x%d-", i), 64)...)
			}
			files["attacker.yaml"] = text
			told := map[string]bool{} // the files of the attacker, and whether a rule of the root tells of the namespace
			for _, p := range w.apply(tree(files)) {
				told[p.File] = p.File == "attacker.yaml" || strings.HasPrefix(p.Message, "the routes of namespace attacker below HTTPRoute infra/root multiply: they can come to 8")
			}
			if fmt.Sprint(told) != "map[attacker.yaml:true platform.yaml:true]" {
				t.Errorf("problems tell of %v", told)
			}
			w.checkCold(t)
			if got := innocentRules(w); got != want {
				t.Errorf("the innocent team's rules change at %s", firstDifference(got, want))
			}
			if strings.Contains(viewText(w.view()), ">attacker/evil") {
				t.Error("some of the attacker's rules are served")
			}
			files["innocent.yaml"] = child("innocent", "kid", "/in/edited")
			w.apply(tree(files))
			w.checkCold(t)
			if !strings.Contains(innocentRules(w), "/in/edited") {
				t.Error("the innocent team's edit is not served")
			}
			delete(files, "attacker.yaml")
			if problems := problemsText(w.apply(tree(files))); strings.Contains(problems, "TooManyRoutes") {
				t.Error("what was mended is still complained of")
			}
			w.checkCold(t)
		})
	}
}
