package translate_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
)

// TestTreesEqualCold edits random trees of delegation and inclusion and compares,
// after each edit, everything published with a cold rebuild; the rules of each
// host must stand in one strict order. Each tree is emptied in the end, and
// nothing may be kept.
func TestTreesEqualCold(t *testing.T) {
	edits, seed := testsize.Of(t, 2000), testsize.Seed(t)
	const lanes, perTree = 2, 50
	trees := (edits + perTree - 1) / perTree
	var longest [lanes]int // chains
	t.Cleanup(func() {
		if deepest := slices.Max(longest[:]); deepest < 3 {
			t.Errorf("no chain is longer than %d: the edits prove little", deepest)
		}
	})
	for lane := range lanes {
		t.Run(fmt.Sprint("lane ", lane), func(t *testing.T) {
			t.Parallel()
			all := treeObjects(t, rand.New(rand.NewPCG(seed, uint64(lane))))
			for number := lane; number < trees; number += lanes {
				r := rand.New(rand.NewPCG(seed, uint64(number)))
				options := scoped(uint64(number / lanes))
				options.MaxRoutes = pick(r, 0, 0, 8, 40) // some reach their budget
				w := newWorldOn(nil, options)
				longest[lane] = max(longest[lane], w.editTree(t, r, someObjects(r, all), perTree))
				if t.Failed() {
					t.Fatalf("in tree %d", number)
				}
			}
		})
	}
}

// treeObjects returns objects to make trees of. Names repeat, so that one takes the
// place of another. They are read once: that is most of the work.
func treeObjects(t *testing.T, r *rand.Rand) (out []*manifest.Object) {
	t.Helper()
	reader := newWorld(t).store
	for len(out) < 300 {
		files := map[string]string{}
		editTree(r, files)
		reader.AllowEmpty()
		out = append(out, reader.Apply(tree(files)).Set...)
	}
	return out
}

// someObjects returns a Gateway and a few or many others.
func someObjects(r *rand.Rand, all []*manifest.Object) []*manifest.Object {
	gateway := slices.IndexFunc(all, func(o *manifest.Object) bool { return o.Key.Kind == "Gateway" })
	out := []*manifest.Object{all[gateway]}
	for range 10 + r.IntN(50) {
		out = append(out, pick(r, all...))
	}
	return out
}

// editTree puts objects into the world and takes them out, one to three at once,
// and takes all away in the end. It returns the length of the longest chain that
// stood.
func (w *world) editTree(t *testing.T, r *rand.Rand, objects []*manifest.Object, edits int) (deepest int) {
	t.Helper()
	start := map[manifest.Key]*manifest.Object{}
	for _, object := range objects[:1+r.IntN(len(objects))] {
		start[object.Key] = object
	}
	w.put(start)
	for range edits {
		edit := map[manifest.Key]*manifest.Object{}
		for range 1 + r.IntN(3) {
			object := pick(r, objects...)
			edit[object.Key] = object
			if r.IntN(6) == 0 {
				edit[object.Key] = nil
			}
		}
		w.put(edit)
		w.checkCold(t)
		deepest = max(deepest, checkOrder(t, w.view()))
	}
	w.remove()
	if cells := w.translator.Cells(); len(cells)+len(w.resources)+len(w.statuses)+len(w.problems) > 0 {
		t.Errorf("when all is taken away, there stand %v\n%s", cells, w.text())
	}
	return deepest
}

// put sets objects past the store; nil takes what is there away.
func (w *world) put(objects map[manifest.Key]*manifest.Object) {
	change := store.Change{}
	for _, key := range slices.SortedFunc(maps.Keys(objects), manifest.CompareKeys) {
		if object := objects[key]; object != nil {
			change.Set = append(change.Set, object)
			w.objects[key] = object
		} else if w.objects[key] != nil {
			change.Gone = append(change.Gone, key)
			delete(w.objects, key)
		}
	}
	w.hear(w.translator.Apply(change))
}

// checkOrder wants each rule before the next, by another name, and returns the
// length of the longest chain.
func checkOrder(t *testing.T, view *ir.View) int {
	t.Helper()
	longest := 0
	for _, gateway := range view.Gateways {
		for _, port := range gateway.Ports {
			for _, host := range port.Hosts {
				names, last := map[string]bool{}, (*ir.Rule)(nil)
				for rule := range host.Rules {
					if names[rule.Name] || last != nil && route.Compare(last, rule) >= 0 {
						t.Fatalf("%s: %s does not stand once, and behind what is before it", host.Domain, rule.Name)
					}
					names[rule.Name], last = true, rule
					longest = max(longest, len(rule.Chain))
				}
			}
		}
	}
	return longest
}

// star is a root with rules that name all routes of a namespace, and n of them.
func star(n int) map[string]string {
	files := map[string]string{"root.yaml": `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg, namespace: a}
spec:
  gatewayClassName: gatefold
  listeners: [{name: http, port: 80, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: root, namespace: a}
spec:
  parentRefs: [{name: eg}]
  rules:
  - matches: [{path: {value: /a}}]
    backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: "*", namespace: b}]
`}
	for i := range n {
		files[fmt.Sprintf("leaf%d.yaml", i)] = leaf(fmt.Sprintf("leaf%d", i), fmt.Sprintf("/a/%d", i))
	}
	return files
}

func leaf(name, path string) string {
	return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s, namespace: b}
spec:
  rules:
  - matches: [{path: {value: %s}}]
    filters: [{type: RequestRedirect, requestRedirect: {hostname: x.com}}]
`, name, path)
}

// TestALeafAmongTenThousand edits one of many routes that a parent names by *:
// what runs is the leaf's and its table's, and nothing of its siblings, its
// parent or their links; of the table's ordered tree, the ways to the old and to
// the new place are copied, and no more.
func TestALeafAmongTenThousand(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 500
	}
	w, files := newWorld(t), star(n)
	w.apply(tree(files))
	if got := w.view().Gateways[0].Ports[0].Hosts[0].Len; got != n {
		t.Fatalf("%d rules of %d leaves", got, n)
	}
	before := w.translator.Tables()
	files["leaf7.yaml"] = leaf("leaf7", "/a/seven")
	w.apply(tree(files))
	nodes, copied := 0, 0
	for host, table := range w.translator.Tables() {
		nodes += before[host].Len()
		copied += table.Len() - table.Shared(before[host])
	}
	// An AVL tree of n nodes is less than 1.45 log2 n high.
	if most := 2 * int(1.45*math.Log2(float64(n))+2); nodes != n || copied == 0 || copied > most {
		t.Errorf("of %d nodes in the table, %d were copied, want at most %d", nodes, copied, most)
	}
	for _, ran := range w.rebuilt {
		name, _, _ := strings.Cut(ran, " ")
		if !strings.Contains(ran, "b/leaf7") && !slices.Contains([]string{"host", "routeconfig"}, name) {
			t.Errorf("ran for the edit of b/leaf7: %s", ran)
		}
	}
	if ran := len(w.rebuilt); ran == 0 || ran > 15 {
		t.Errorf("%d rules ran: %q", ran, w.rebuilt)
	}

	// another rule of the parent is nothing to those below the first
	files["root.yaml"] += "  - matches: [{path: {value: /other}}]\n    filters: [{type: RequestRedirect, requestRedirect: {hostname: x.com}}]\n"
	w.apply(tree(files))
	for _, ran := range w.rebuilt {
		if strings.Contains(ran, "leaf") {
			t.Errorf("ran for a rule beside: %s", ran)
		}
	}
}

// TestDepthIsBounded builds a chain that is one route too long.
func TestDepthIsBounded(t *testing.T) {
	const most = 32
	chain := func(n int) map[string]string {
		files := star(0)
		files["root.yaml"] = strings.Replace(files["root.yaml"], `"*"`, "c2", 1)
		for i := 2; i < n; i++ {
			files[fmt.Sprintf("c%d.yaml", i)] = strings.Replace(leaf(fmt.Sprintf("c%d", i), "/a"),
				"filters: [{type: RequestRedirect, requestRedirect: {hostname: x.com}}]",
				fmt.Sprintf("backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: c%d}]", i+1), 1)
		}
		files[fmt.Sprintf("c%d.yaml", n)] = leaf(fmt.Sprintf("c%d", n), "/a")
		return files
	}
	for n, redirects := range map[int]bool{most: true, most + 1: false} {
		w := newWorld(t)
		w.apply(tree(chain(n)))
		w.checkCold(t)
		var only *ir.Rule
		for rule := range w.view().Gateways[0].Ports[0].Hosts[0].Rules {
			only = rule
		}
		if only == nil || (only.Action.Redirect != nil) != redirects {
			t.Errorf("%d routes above each other: %+v", n, only)
		}
	}
}

// TestCompareTellsChainsApart compares the rules of one leaf that two routes
// between it and the root have in common.
func TestCompareTellsChainsApart(t *testing.T) {
	key := func(name string) manifest.Key { return manifest.Key{Kind: "HTTPRoute", Namespace: "n", Name: name} }
	rule := func(middle string) *ir.Rule {
		return &ir.Rule{Name: middle, Root: &ir.Origin{Key: key("root")}, Source: &ir.Origin{Key: key("leaf")},
			Chain: []ir.Hop{{Route: key("root")}, {Route: key(middle)}}, Position: []int{0, 0, 0, 0, 0, 0}}
	}
	left, right := rule("left"), rule("right")
	if route.Compare(left, right) != -1 || route.Compare(right, left) != 1 || route.Compare(left, left) != 0 {
		t.Error("two ways to one rule compare as the same rule")
	}
}
