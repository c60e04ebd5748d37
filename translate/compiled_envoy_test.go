package translate_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/store"
)

// TestCompiledTablesOnARealEnvoy makes random folders with long tables, has one real
// Envoy serve each of them compiled and as lists, and sends the same requests to both:
// what Envoy does must be what explain says, which looks at the list.
func TestCompiledTablesOnARealEnvoy(t *testing.T) {
	const perTable = 120
	envoytest.Binary(t)                                            // skips before the work
	tables, seed := min(testsize.Of(t, 10), 200), testsize.Seed(t) // of 510 addresses of a process, two each
	backends := map[string]*envoytest.EchoServer{"a": envoytest.Echo(t, "Backend/a/s1", ""), "b": envoytest.Echo(t, "Backend/b/s1", "")}
	s, err := store.New(store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var static envoytest.Static
	var served []*servedTree
	clusters, compiled := map[string]bool{}, 0
	for i := range uint64(tables) {
		r := rand.New(rand.NewPCG(seed, i+1000))
		tree := &servedTree{
			number: i, random: r, files: serveable(r, backends),
			address: envoytest.LoopbackAddress(), twin: envoytest.LoopbackAddress(), compiled: map[uint32]bool{},
		}
		for range 5 + r.IntN(8) {
			name, text := treeLong(r)
			tree.files[name] = text
		}
		tree.translate(t, s)
		tree.addTo(t, &static, clusters)
		if len(tree.compiled) > 0 {
			compiled++
		}
		served = append(served, tree)
	}
	e := envoytest.Start(t, envoytest.Options{Config: static.Config(t)})
	for _, tree := range served {
		e.WaitListener(tree.address + ":8080")
	}
	asked := askTrees(t, served, perTable)
	t.Logf("%s; %d of %d compiled, %d requests answered by a list, too", asked, compiled, tables, asked.twins)
	for _, difference := range asked.differences[:min(3, len(asked.differences))] {
		t.Error(difference)
	}
	if asked.outcomes["backend"] < asked.requests/5 || asked.outcomes["delegated"] == 0 || compiled < tables*3/4 || asked.twins < asked.requests/2 {
		t.Errorf("%d of %d tables are compiled, %d of %d requests were sent to them: it proves little", compiled, tables, asked.twins, asked.requests)
	}
}

// treeLong returns a route with many matches, of all kinds, some of which hand requests to
// the routes of the random trees.
func treeLong(r *rand.Rand) (string, string) {
	body := randomAge(r) + pick(r, "", fmt.Sprintf("  annotations: {kgateway.dev/route-weight: \"%d\"}\n", r.IntN(5)-2))
	body += "spec:\n  parentRefs: [{name: eg, namespace: a}]\n" + pick(r, "", "  hostnames: [a.example.com]\n") + "  rules:\n"
	space, names := pick(r, "a", "b"), pick(r, 5, 30, 300)
	for i := range 4 + r.IntN(12) {
		body += fmt.Sprintf("  - name: s%d\n    matches:\n", i)
		for range 1 + r.IntN(7) {
			path := strings.Repeat("/a", r.IntN(4)) + fmt.Sprintf("/%s%d", pick(r, "x", "team-", "b/"), r.IntN(names)) + pick(r, "", "/c", "%2Fa", ";x", "//c")
			if r.IntN(25) == 0 {
				path = strings.Repeat("/a", r.IntN(3)+1)
			}
			match := pick(r, "{value: "+path+"}", "{value: "+path+"}", "{type: Exact, value: "+path+"}",
				"{type: RegularExpression, value: '"+path+pick(r, "[0-9]*", "/.+", "(?:/c|/a)?", "(?i)/C")+"'}", "{type: RegularExpression, value: '/(a|x)"+path+"'}")
			if strings.Contains(path, "//") || strings.Contains(path, "%2F") {
				match = "{type: RegularExpression, value: '" + path + ".*'}"
			}
			body += "    - {path: " + match + pick(r, "", "", "", ", method: GET", ", headers: [{name: X-A, value: a}]", ", queryParams: [{name: q, value: '1'}]") + "}\n"
		}
		rule := treeRule{space: space, level: 0}
		body += pick(r, "    filters: [{type: RequestRedirect, requestRedirect: {hostname: y.com}}]\n", rule.filter(r, false)+rule.leaf(r), rule.leaf(r), rule.leaf(r))
	}
	if r.IntN(2) == 0 {
		rule := treeRule{space: space, level: 0, path: "/a/a"}
		body += "  - name: down\n    matches: [{path: {value: /a/a}}]\n" + rule.below(r)
	}
	return document("gateway.networking.k8s.io/v1", "HTTPRoute", space, fmt.Sprintf("long%d", r.IntN(8)), body)
}
