package store

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
)

// protecting has policies that protect the route cart of the namespace default, each with what it is for.
func protecting() []struct{ target, text string } {
	const head = "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata:\n  name: people\n  labels: {tier: \"front\"}\nspec:\n"
	const users = "  basicAuth:\n    users:\n    - \"alice:{SHA}fEqNCco3Yq9h5ZUglD3CZJT4lBs=\"\n"
	const ref = "  - group: gateway.networking.k8s.io\n    kind: HTTPRoute\n    name: cart\n"
	return []struct{ target, text string }{
		{"HTTPRoute cart", head + "  targetRefs:\n" + ref + users},
		{"HTTPRoute cart", head + users + "  targetRefs:\n" + ref + strings.Replace(ref, "cart", "help", 1)},
		{"HTTPRoute cart", head + "  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart}]\n" + users},
		{"HTTPRoute cart", head + "  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: 'cart', sectionName: all}]\n" + users},
		{"HTTPRoute cart", head + "  targetSelectors:\n  - group: gateway.networking.k8s.io\n    kind: HTTPRoute\n    matchLabels: {team: blue_1}\n" + users},
		{"Gateway web", head + "  targetRefs:\n" + strings.NewReplacer("HTTPRoute", "Gateway", "cart", "web").Replace(ref) + users},
		{"HTTPRoute cart", `{"apiVersion": "gateway.kgateway.dev/v1alpha1", "kind": "TrafficPolicy", "metadata": {"name": "people"}, "spec": {` +
			`"targetRefs": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "cart"}], "basicAuth": {"users": ["alice:{SHA}fEqNCco3Yq9h5ZUglD3CZJT4lBs="]}}}` + "\n"},
		{"Service pay", "apiVersion: gateway.networking.k8s.io/v1\nkind: BackendTLSPolicy\nmetadata:\n  name: pay\nspec:\n  targetRefs:\n  - group: ''\n    kind: Service\n    name: pay\n" +
			"  validation:\n    hostname: pay.test\n    wellKnownCACertificates: System\n"},
	}
}

// besidePolicies has a Gateway, routes and a Service, of which policies protect some.
func besidePolicies() string {
	cart := strings.Replace(route("cart", "/cart"), "  name: cart\n", "  name: cart\n  labels: {team: blue_1}\n", 1)
	service := "apiVersion: v1\nkind: Service\nmetadata: {name: pay}\nspec: {ports: [{port: 80}]}\n"
	web := strings.NewReplacer("name: g\n", "name: web\n").Replace(gateway("a@x.io"))
	return strings.Join([]string{cart, route("help", "/help"), route("other", "/other"), service, web}, "---\n")
}

// closes reports whether a Change closes an object, such as "HTTPRoute cart", or has a valid policy for it.
func closes(c Change, target string) bool {
	kind, name, _ := strings.Cut(target, " ")
	for _, i := range c.Invalid {
		for _, t := range i.Targets {
			if t.Kind == kind && (t.Section == "" || t.Section == "all") && (t.Name == name || t.Name == "" && (len(t.Labels) == 0 || name == "cart" && t.Labels["team"] == "blue_1")) {
				return true
			}
		}
	}
	return slices.ContainsFunc(c.Set, func(o *manifest.Object) bool {
		return slices.ContainsFunc(append(NamedTargets(o), manifest.Key{}), func(at manifest.Key) bool {
			return (at.Kind == kind || kind == "Service") && at.Name == name
		}) || hasSelectors(o) && kind == "HTTPRoute" && name == "cart"
	})
}

// token matches what misspell cuts, doubles and moves.
var token = regexp.MustCompile(`[A-Za-z0-9./=+-]+|[^\sA-Za-z0-9]`)

// misspell returns texts with one mistake each, anywhere but in the names and labels of targets: a token is cut,
// doubled or moved, or a line is indented otherwise.
func misspell(text string, random *rand.Rand, moves int) (all []string) {
	kept := regexp.MustCompile(`name: '?(cart|web|help|pay)\b|"name": "cart"|blue_1|team`).FindAllStringIndex(text, -1)
	keeps := func(at int) bool {
		return slices.ContainsFunc(kept, func(k []int) bool { return at >= k[0] && at < k[1] })
	}
	tokens := slices.DeleteFunc(token.FindAllStringIndex(text, -1), func(at []int) bool { return keeps(at[0]) })
	for _, at := range tokens {
		word := text[at[0]:at[1]]
		all = append(all, text[:at[0]]+text[at[1]:], text[:at[0]]+word+text[at[0]:], text[:at[0]]+word+" "+text[at[0]:], text[:at[1]-1]+text[at[1]:])
		if strings.HasPrefix(word, "target") {
			continue // the names before it are then no names of targets
		}
		without := text[:at[0]] + text[at[1]:]
		for range moves {
			to := tokens[random.IntN(len(tokens))][0]
			if to > at[0] {
				to -= len(word)
			}
			if to = max(0, to); !keeps(to) {
				all = append(all, without[:to]+word+" "+without[to:])
			}
		}
	}
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		for _, other := range []string{" " + line, "\t" + line, "   " + line, strings.TrimPrefix(line, " "), strings.TrimLeft(line, " ")} {
			all = append(all, strings.Join(lines[:i], "")+other+strings.Join(lines[i+1:], ""))
		}
	}
	return all
}

// TestMisspeltPoliciesAreNeverOpen has policies with one mistake, anywhere but in the names and labels of their targets, at
// a start without a state: what they protect is closed, or the policy is valid all the same.
func TestMisspeltPoliciesAreNeverOpen(t *testing.T) {
	random, n := rand.New(rand.NewPCG(testsize.Seed(t), 0)), testsize.Of(t, 100)
	for _, p := range protecting() {
		all := misspell(p.text, random, 3)
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, text := range all[:min(n, len(all))] {
			c := newStore(t, Options{}).Apply(treeOf(map[string]string{"x.yaml": text, "y.yaml": besidePolicies()}))
			if !closes(c, p.target) {
				t.Errorf("%s is open with %s of\n%s", p.target, told(c), text)
			}
		}
	}
}

// TestUnreadablePoliciesOfOneTeam has the same with path policies: what another team has is never closed.
func TestUnreadablePoliciesOfOneTeam(t *testing.T) {
	random, n := rand.New(rand.NewPCG(testsize.Seed(t), 0)), testsize.Of(t, 40)
	cluster, err := tenancy.Parse("ns.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"ns.yaml": space("a", "a/**") + "---\n" + space("b", "b/**")}
	for _, namespace := range []string{"a", "b"} {
		files[namespace+"/r.yaml"] = in(namespace, "cart", "/cart") + "---\n" + in(namespace, "other", "/other")
	}
	text := strings.Replace(protecting()[0].text, "name: people\n", "name: people\n  namespace: a\n", 1)
	for _, text := range append(misspell(text, random, 2)[:n], "targetRefs: [\n", text+"[\nb b cart\nnamespace: b\n") {
		files["a/x.yaml"] = text
		c := newStore(t, Options{ClusterPaths: cluster}).Apply(treeOf(files))
		closed := closes(c, "HTTPRoute cart")
		if other := slices.ContainsFunc(c.Invalid, func(i *Invalid) bool { return i.Key.Namespace != "a" }); other || !closed {
			t.Errorf("closed %t, of another team %t, with %s of\n%s", closed, other, told(c), text)
		}
	}
}

// texts joins the problems of a Change.
func texts(c Change) (all string) {
	for _, p := range c.Problems {
		all += p.Message + "\n"
	}
	return all
}

// TestUnreadablePolicies walks through what a text that cannot be read closes: at a start, while objects come and go, and
// after a restart with a saved state.
func TestUnreadablePolicies(t *testing.T) {
	sound := regexp.MustCompile(`  basicAuth:(?s:.*)`).ReplaceAllString(protecting()[2].text, "  csrf: {percentageEnabled: 100}\n")
	broken := strings.Replace(sound, "}]", "]", 1)
	lost := strings.Replace(broken, "cart", "", 1)
	cart, help, late := route("cart", "/cart"), route("help", "/help"), route("late", "/late")
	none := strings.Replace(cart, "HTTPRoute", "Deployment", 1)
	type files = map[string]string
	for _, test := range []struct {
		name  string
		trees []files
		want  []string // the routes that are closed after each
	}{
		{"a start", []files{{"x.yaml": broken, "r.yaml": cart + "---\n" + help}}, []string{"cart"}},
		{"it is repaired, and broken again", []files{{"x.yaml": broken, "r.yaml": cart}, {"x.yaml": sound, "r.yaml": cart}, {"x.yaml": broken, "r.yaml": cart}}, []string{"cart", "", ""}},
		{"it goes", []files{{"x.yaml": broken, "r.yaml": cart}, {"r.yaml": cart}}, []string{"cart", ""}},
		{"another mistake", []files{{"x.yaml": broken, "r.yaml": cart}, {"x.yaml": broken + "- [\n", "r.yaml": strings.Replace(cart, "/cart", "/c", 1)}}, []string{"cart", "cart"}},
		{"it moves", []files{{"x.yaml": broken, "r.yaml": cart}, {"z.yaml": broken, "s.yaml": cart}}, []string{"cart", "cart"}},
		{"nothing that serves", []files{{"r.yaml": cart + "---\n" + help}, {"x.yaml": broken, "r.yaml": cart + "---\n" + help}}, []string{"", ""}},
		{"what is new", []files{{"r.yaml": help}, {"x.yaml": broken, "r.yaml": help + "---\n" + late}, {"x.yaml": broken, "r.yaml": help + "---\n" + cart}, {"r.yaml": cart}}, []string{"", "", "cart", ""}},
		{"a name that is lost", []files{{"x.yaml": lost, "r.yaml": cart + "---\n" + help}, {"x.yaml": lost + "[", "r.yaml": cart + "---\n" + help + "---\n" + late}, {"x.yaml": broken, "r.yaml": cart + "---\n" + help + "---\n" + late}},
			[]string{"cart help", "cart help late", "cart"}},
		{"a name that is lost later", []files{{"r.yaml": cart + "---\n" + help}, {"x.yaml": lost, "r.yaml": cart + "---\n" + help + "---\n" + late}}, []string{"", ""}},
		{"the named route goes", []files{{"x.yaml": broken, "r.yaml": cart + "---\n" + help}, {"x.yaml": broken, "r.yaml": help}}, []string{"cart", ""}},
		{"a namespace", []files{{"x.yaml": strings.Replace(broken, "name: people", "name: people\n  namespace: shop", 1), "r.yaml": cart + "---\n" + in("shop", "late", "/")}}, []string{"late"}},
		{"a name in a namespace", []files{{"x.yaml": strings.Replace(broken, "name: people", "name: people\n  namespace: sho", 1), "r.yaml": in("shop", "cart", "/") + "---\n" + in("shop", "late", "/")}}, []string{"cart"}},
		{"a text of 17 KB of comments", []files{{"x.yaml": strings.Repeat("# a comment of a careful author\n", 600) + broken, "r.yaml": cart}}, []string{"cart"}},
		{"UTF-16", []files{{"x.yaml": strings.Join(strings.Split(broken, ""), "\x00"), "r.yaml": cart + "---\n" + help}}, []string{"cart"}},
		{"only a route", []files{{"x.yaml": "targetRefs: [{name: cart}]\n", "r.yaml": cart + "---\n" + none}}, []string{""}},
		{"a route that is broken", []files{{"x.yaml": strings.Replace(late, "spec:", "spec: [targetRefs", 1), "r.yaml": cart}}, []string{""}},
		{"an autoscaler of a chart", []files{{"x.yaml": "apiVersion: autoscaling.k8s.io/v1\nkind: VerticalPodAutoscaler\nspec:\n  targetRef: {name: {{ .Release.Name }}-cart}\n", "r.yaml": cart}}, []string{""}},
		{"a policy of another program that may protect", []files{{"x.yaml": strings.NewReplacer("gateway.kgateway.dev", "gateway.envoyproxy.io", "TrafficPolicy", "SecurityPolcy").Replace(broken), "r.yaml": cart + "---\n" + help}}, []string{"cart"}},
		{"such a policy without a kind", []files{{"x.yaml": strings.NewReplacer("gateway.kgateway.dev", "security.istio.io", "kind: TrafficPolicy\n", "").Replace(broken), "r.yaml": cart + "---\n" + help}}, []string{"cart"}},
		{"a policy of another program", []files{{"x.yaml": strings.NewReplacer("gateway.kgateway.dev", "gateway.envoyproxy.io", "TrafficPolicy", "FilterPolicy").Replace(broken), "r.yaml": cart}}, []string{""}},
	} {
		s, saved := newStore(t, saving), ledger{}
		held := newHeld()
		for i, files := range test.trees {
			c := s.Apply(treeOf(files))
			apply(t, held, c)
			if got := closedRoutes(held); got != test.want[i] {
				t.Errorf("%s, tree %d: closed is %q, want %q: %s", test.name, i, got, test.want[i], texts(c))
			}
			if test.want[i] != "" && !strings.Contains(texts(c), "may be a policy") {
				t.Errorf("%s, tree %d: the problem says %s", test.name, i, texts(c))
			}
			saved.take(s)
			again := newHeld()
			apply(t, again, saved.restart(t, saving).Apply(treeOf(files)))
			if got := closedRoutes(again); got != test.want[i] {
				t.Errorf("%s, tree %d: closed after a restart is %q, want %q", test.name, i, got, test.want[i])
			}
		}
	}
}

// closedRoutes returns the names of the HTTPRoutes that are targets of what is held as invalid.
func closedRoutes(h held) string {
	var names []string
	for _, i := range h.invalid {
		for _, t := range i.Targets {
			if t.GroupKind == (apischema.GroupKind{Group: gatewayGroup, Kind: "HTTPRoute"}) {
				names = append(names, t.Name)
			}
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}

// TestLostUsersCloseWhatTheyProtected restarts with a state that has no users of policies, while the policy cannot be
// read: what it protected is closed, though its route is in the state.
func TestLostUsersCloseWhatTheyProtected(t *testing.T) {
	sound := protecting()[2].text
	files := map[string]string{"x.yaml": sound, "r.yaml": route("cart", "/cart") + "---\n" + route("help", "/help")}
	s, saved := newStore(t, saving), ledger{}
	s.Apply(treeOf(files))
	saved.take(s)
	files["x.yaml"] = strings.Replace(sound, "}]", "]", 1)
	held := newHeld()
	apply(t, held, saved.restart(t, saving).Apply(treeOf(files)))
	if got := closedRoutes(held); got != "cart" {
		t.Errorf("closed is %q", got)
	}
}

// TestManyUnreadableTexts has more objects and texts than are shown.
func TestManyUnreadableTexts(t *testing.T) {
	var routes, texts []string
	for i := range 300 {
		routes = append(routes, route(fmt.Sprintf("r%d", i), "/"))
		texts = append(texts, fmt.Sprintf("kind: TrafficPolicy\nmetadata: {name: p%d}\nspec: {targetRefs: [{name: r%d}]\n", i, i))
	}
	c := newStore(t, Options{}).Apply(treeOf(map[string]string{"r.yaml": strings.Join(routes, "---\n"), "x.yaml": strings.Join(texts, "---\n")}))
	if len(c.Invalid) != 1 || len(c.Invalid[0].Targets) != 300 {
		t.Errorf("%s", told(c))
	}
}
