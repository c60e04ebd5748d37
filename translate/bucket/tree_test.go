package bucket

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/testsize"
)

// rule is a small model of a route: an exact path or one with all below it, or any path
// that begins with a text and ends with another.
type rule struct {
	place  int // in the order
	prefix string
	kind   string // "exact", "below", "ends"
	ends   string
	asks   string // "" for no condition
	single bool
}

func (r rule) matches(path, has string) bool {
	if r.asks != "" && r.asks != has {
		return false
	}
	rest, ok := strings.CutPrefix(path, r.prefix)
	switch r.kind {
	case "exact":
		return ok && rest == ""
	case "ends":
		return ok && strings.HasSuffix(rest, r.ends)
	}
	return ok && (r.prefix == "/" || rest == "" || rest[0] == '/')
}

// same reports whether two rules match the same.
func (r rule) same(other rule) bool {
	other.place, other.single = r.place, r.single
	return r == other
}

// twinsOf finds the groups of rules that match the same by looking at each pair.
func twinsOf(rules []rule) (groups [][]rule) {
	for i, r := range rules {
		if slices.ContainsFunc(rules[:i], r.same) {
			continue
		}
		group := slices.DeleteFunc(slices.Clone(rules[i:]), func(other rule) bool { return !r.same(other) })
		if len(group) > 1 {
			groups = append(groups, group)
		}
	}
	return groups
}

func (r rule) covers(key string) bool {
	return r.kind == "below" && r.asks == "" && strings.HasPrefix(key, strings.TrimSuffix(r.prefix, "/")+"/")
}

// list is a leaf as tests see it.
type list struct {
	key   string
	rules []rule
}

func shape() *Shape[rule, *list] {
	return &Shape[rule, *list]{
		Compare: func(a, b rule) int { return cmp.Compare(a.place, b.place) },
		Prefix:  func(r rule) string { return r.prefix },
		Covers:  rule.covers,
		Single:  func(r rule) bool { return r.single },
		Twins:   twinsOf,
		Leaf:    func(key string, rules []rule) *list { return &list{key, slices.Clone(rules)} },
	}
}

// find is what Envoy does: the longest key, and then the first of its list.
func find(leaves []*list, path, has string) int {
	var best *list
	for _, l := range leaves {
		if strings.HasPrefix(path, l.key) && (best == nil || len(l.key) > len(best.key)) {
			best = l
		}
	}
	if best == nil {
		return -1
	}
	return first(best.rules, path, has)
}

func first(rules []rule, path, has string) int {
	for _, r := range rules {
		if r.matches(path, has) {
			return r.place
		}
	}
	return -1
}

func sameLists(a, b []*list) bool {
	return slices.EqualFunc(a, b, func(a, b *list) bool { return a.key == b.key && slices.Equal(a.rules, b.rules) })
}

func one(r *rand.Rand, values ...string) string { return values[r.IntN(len(values))] }

// randomPath goes down few names, so that prefixes meet; wide has many more.
func randomPath(r *rand.Rand, wide bool) string {
	path := ""
	for range 1 + r.IntN(4) {
		path += "/"
		if wide && r.IntN(2) == 0 {
			path += fmt.Sprintf("%x", r.IntN(4000))
		} else {
			path += one(r, "a", "b", "ab", "", "c")
		}
	}
	return path
}

func randomRule(r *rand.Rand, place int, wide bool) rule {
	made := rule{place: place, prefix: randomPath(r, wide), kind: one(r, "exact", "below", "below", "ends"), asks: one(r, "", "", "x", "y")}
	switch made.kind {
	case "below":
		made.prefix = cmp.Or(strings.TrimRight(made.prefix, "/"), "/")
	case "ends":
		made.ends = one(r, "a", "c", "")
		made.prefix = made.prefix[:r.IntN(len(made.prefix)+1)]
	}
	made.single = r.IntN(4000) == 0
	return made
}

// Random sets and edits: what the lists answer is what the whole list answers, the
// limits hold, and a tree after edits is one that is made of what there is then.
func TestListsAnswerAsTheWholeList(t *testing.T) {
	first := testsize.Seed(t)
	for seed := first; seed < first+uint64(testsize.Of(t, 20)); seed++ {
		r, wide := rand.New(rand.NewPCG(seed, 3)), seed%2 == 0
		rules := map[int]rule{}
		size := 1 + r.IntN(1500)
		for range size {
			place := r.IntN(100_000)
			rules[place] = randomRule(r, place, wide)
		}
		tree := New(shape(), ordered(rules))
		for range 12 {
			checkAnswers(t, r, ordered(rules), tree.Leaves(), wide)
			checkLimits(t, ordered(rules), tree)
			var gone, come []rule
			present, made := ordered(rules), map[int]bool{}
			for range 1 + r.IntN(1+len(rules)/2) {
				place := r.IntN(100_000)
				if r.IntN(2) == 0 && len(present) > 0 {
					place = present[r.IntN(len(present))].place
				}
				if old, ok := rules[place]; ok && !made[place] {
					gone = append(gone, old)
					delete(rules, place)
				}
				if _, ok := rules[place]; !ok && r.IntN(2) == 0 {
					rules[place] = randomRule(r, place, wide)
					come, made[place] = append(come, rules[place]), true
				}
			}
			before, held := tree, slices.Clone(tree.Leaves())
			tree = tree.Edit(gone, come)
			fresh := New(shape(), ordered(rules))
			if !sameLists(tree.Leaves(), fresh.Leaves()) {
				t.Fatalf("seed %d: the edited tree is not the one that is made anew", seed)
			}
			if !reflect.DeepEqual(tree.Twins(), fresh.Twins()) {
				t.Fatalf("seed %d: the twins of the edited tree are not those of one that is made anew", seed)
			}
			if got, want := sortedTwins(tree.Twins()), twinsOf(ordered(rules)); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: %d groups of twins, not %d", seed, len(got), len(want))
			}
			if !slices.Equal(before.Leaves(), held) {
				t.Fatalf("seed %d: an edit changed the tree before it", seed)
			}
		}
	}
}

func sortedTwins(groups [][]rule) [][]rule {
	slices.SortFunc(groups, func(a, b []rule) int { return cmp.Compare(a[0].place, b[0].place) })
	return groups
}

func ordered(rules map[int]rule) []rule {
	out := make([]rule, 0, len(rules))
	for _, r := range rules {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b rule) int { return cmp.Compare(a.place, b.place) })
	return out
}

func checkAnswers(t *testing.T, r *rand.Rand, rules []rule, leaves []*list, wide bool) {
	t.Helper()
	for range 60 {
		path, has := randomPath(r, wide), one(r, "", "x", "y")
		if len(rules) > 0 && r.IntN(2) == 0 {
			path = rules[r.IntN(len(rules))].prefix + one(r, "", "/", "/a", "?", "c")
		}
		if got, want := find(leaves, path, has), first(rules, path, has); got != want {
			t.Fatalf("%q with %q: %d in the lists, %d in the whole list of %d", path, has, got, want, len(rules))
		}
	}
}

// checkLimits holds a tree against what the package's comment promises.
func checkLimits(t *testing.T, rules []rule, tree *Tree[rule, *list]) {
	t.Helper()
	all, singles := 0, map[int]int{}
	for _, l := range tree.Leaves() {
		all += len(l.rules)
		for _, r := range l.rules {
			if r.single {
				singles[r.place]++
			}
		}
	}
	if all > 2*len(rules) {
		t.Fatalf("the lists have %d of %d rules", all, len(rules))
	}
	for place, times := range singles {
		if times > 1 {
			t.Fatalf("rule %d stands in %d lists, and may in one", place, times)
		}
	}
	tree.root.checkLength(t)
}

// checkLength looks at nodes, which alone know what a request has to try anyway.
func (n *node[T, L]) checkLength(t *testing.T) {
	t.Helper()
	if n.children == nil {
		return
	}
	if tried := n.below.count; n.rest > len(n.items)+max(2*Full, tried*len(n.children)) && !n.below.single {
		t.Fatalf("a list of %d more than the %d that are tried anyway, with %d bytes that may follow", n.rest, tried, len(n.children))
	}
	for _, c := range n.children {
		c.checkLength(t)
	}
}

// The tables that would make the most of copies or of long lists.
func TestHardTables(t *testing.T) {
	letters := "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	tables := map[string]func(i int) rule{
		"one path":    func(int) rule { return rule{prefix: "/a", kind: "below", asks: "x"} },
		"one without": func(int) rule { return rule{prefix: "/a", kind: "below"} },
		"hex":         func(i int) rule { return rule{prefix: fmt.Sprintf("/%x", i*7919), kind: "exact"} },
		"digits":      func(i int) rule { return rule{prefix: fmt.Sprintf("/team-%05d/x", i), kind: "below"} },
		"letters": func(i int) rule {
			return rule{prefix: "/" + string([]byte{letters[i%62], letters[i/62%62], letters[i/3844]}), kind: "exact"}
		},
		"a deep chain":    func(i int) rule { return rule{prefix: strings.Repeat("/a", 1+i%1000), kind: "below", asks: "x"} },
		"a shallow chain": func(i int) rule { return rule{prefix: strings.Repeat("/a", i%40) + "/" + fmt.Sprint(i), kind: "below"} },
		"many at the root": func(i int) rule {
			if i < 500 {
				return rule{prefix: "/", kind: "below", asks: fmt.Sprint(i)}
			}
			return rule{prefix: fmt.Sprintf("/%d", i), kind: "below"}
		},
		"no prefix":     func(i int) rule { return rule{kind: "ends", ends: fmt.Sprint(i)} },
		"one is single": func(i int) rule { return rule{prefix: fmt.Sprintf("/%d", i%5000), kind: "below", single: i == 77} },
		"long names": func(i int) rule {
			return rule{prefix: "/" + strings.Repeat("long", 200) + fmt.Sprint(i), kind: "below"}
		},
	}
	for name, make := range tables {
		t.Run(name, func(t *testing.T) {
			var rules []rule
			for i := range 10_000 {
				r := make(i)
				r.place = i
				rules = append(rules, r)
			}
			rules = append(rules, rule{place: len(rules), prefix: "/", kind: "below"})
			r, tree := rand.New(rand.NewPCG(1, 1)), New(shape(), rules)
			checkLimits(t, rules, tree)
			checkAnswers(t, r, rules, tree.Leaves(), false)
			longest, all := 0, 0
			for _, l := range tree.Leaves() {
				longest, all = max(longest, len(l.rules)), all+len(l.rules)
			}
			t.Logf("%d lists, the longest of %d, all together %d", len(tree.Leaves()), longest, all)
		})
	}
}

// An edit makes the list anew that it lies in, and few others.
func TestAnEditMakesFewLists(t *testing.T) {
	const edits = 500
	var rules []rule
	for i := range 10_000 {
		rules = append(rules, rule{place: i, prefix: fmt.Sprintf("/team-%d/%x", i%100, i*7919), kind: "below"})
	}
	rules = append(rules, rule{place: len(rules), prefix: "/", kind: "below"})
	made, s := 0, shape()
	count := s.Leaf
	s.Leaf = func(key string, rules []rule) *list { made++; return count(key, rules) }
	tree, r := New(s, rules), rand.New(rand.NewPCG(2, 2))
	for range edits {
		i := r.IntN(10_000)
		made = 0
		tree = tree.Edit(rules[i:i+1], rules[i:i+1])
		if made != 1 {
			t.Fatalf("%d lists made anew by a rule that changed in its place", made)
		}
		moved := rules[i]
		moved.prefix = fmt.Sprintf("/team-%d/%x", r.IntN(100), r.IntN(1<<24))
		made = 0
		tree = tree.Edit(rules[i:i+1], []rule{moved})
		if rules[i] = moved; made > 8 {
			t.Fatalf("%d lists made anew by a rule that moved", made)
		}
	}
}
