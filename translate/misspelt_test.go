package translate_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/explain"
)

// guardedTeam has a Gateway and two routes of a namespace NS: o takes all requests for a hostname, and r some paths of it. A
// policy protects r.
func guardedTeam() map[string]string {
	const backend = "{group: gateway.kgateway.dev, kind: Backend, name: b}"
	return map[string]string{
		"base.yaml": "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: g, namespace: NS}\n" +
			"spec: {gatewayClassName: gatefold, listeners: [{name: http, port: 80, hostname: '*.NS.test', protocol: HTTP}]}\n---\n" +
			"apiVersion: gateway.kgateway.dev/v1alpha1\nkind: Backend\nmetadata: {name: b, namespace: NS}\nspec: {type: Static, static: {hosts: [{host: 10.0.0.1, port: 80}]}}\n---\n" +
			"apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: o, namespace: NS}\n" +
			"spec: {parentRefs: [{name: g}], hostnames: [a.NS.test], rules: [{backendRefs: [" + backend + "]}]}\n",
		"r.yaml": "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata:\n  name: r\n  namespace: NS\n  labels:\n    tier: front\nspec:\n" +
			"  parentRefs: [{name: g}]\n  hostnames: [a.NS.test]\n  rules:\n  - matches: [{path: {value: /admin}}]\n    backendRefs: [" + backend + "]\n",
		"p.yaml": "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata:\n  name: p\n  namespace: NS\n  labels:\n    tier: front\nspec:\n" +
			"  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}]\n  basicAuth: {users: [\"alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\"]}\n",
	}
}

// unserved is a policy of another product for r.
const unservedGuard = "apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: SecurityPolicy\nmetadata:\n  name: p\n  namespace: NS\n  labels:\n    tier: front\nspec:\n" +
	"  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}]\n  basicAuth: {users: {name: users}}\n"

// misspellings returns texts with one mistake each, in apiVersion, kind, metadata or the keys of a spec: a letter is lost,
// doubled or another one, a word or a sign is missing, or a line is indented otherwise. Names, namespaces and what a route
// asks for stay as they are.
func misspellings(text string) (all []string) {
	kept := regexp.MustCompile(`(name|namespace|value): [a-zNS/]+\b|hostnames: \[[^]]*\]|\{SHA\}[^"]*|users: .*|\[\{name: g\}\]`).FindAllStringIndex(text, -1)
	for _, at := range regexp.MustCompile(`[A-Za-z0-9./]+|[^\sA-Za-z0-9]`).FindAllStringIndex(text, -1) {
		word := text[at[0]:at[1]]
		if i := slices.IndexFunc(kept, func(k []int) bool { return at[0] >= k[0] && at[0] < k[1] }); i >= 0 && (at[0] > kept[i][0] || word == "value") {
			continue
		}
		for i := range word {
			all = append(all, text[:at[0]+i]+text[at[0]+i+1:], text[:at[0]+i]+"x"+text[at[0]+i+1:], text[:at[0]+i+1]+text[at[0]+i:])
		}
		all = append(all, text[:at[0]]+text[at[1]:])
	}
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines[:len(lines)-1] {
		for _, other := range []string{" " + line, "  " + line, "    " + line, "\t" + line, strings.TrimPrefix(line, " "), strings.TrimLeft(line, " ")} {
			all = append(all, strings.Join(lines[:i], "")+other+strings.Join(lines[i+1:], ""))
		}
	}
	return all
}

// status returns the status of a GET request, 0 if a backend answers.
func (w *world) status(host, path string) uint32 {
	return explain.Request(w.view(), explain.Query{Scheme: "http", Host: host, Port: 80, Method: http.MethodGet, Path: path, Headers: http.Header{}}).Outcome.Status
}

// TestAMisspeltTextOpensNothing starts without a state on a folder of which one text has a mistake: what the policy protects is
// never open. With path policies, what another team has, under the same names, is as it was.
func TestAMisspeltTextOpensNothing(t *testing.T) {
	random, n := rand.New(rand.NewPCG(testsize.Seed(t), 0)), testsize.Of(t, 150)
	plain, fenced := newStore(t, store.Options{}), newStore(t, store.Options{ClusterPaths: tenancy.Globs{"platform/**"}})
	for _, guard := range []string{guardedTeam()["p.yaml"], unservedGuard} {
		for _, spoilt := range []string{"p.yaml", "r.yaml"} {
			files := guardedTeam()
			files["p.yaml"] = guard
			all := misspellings(files[spoilt])
			random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			for i, text := range all[:min(n, len(all))] {
				files[spoilt] = text
				w, folder := startedOn(plain, translate.Options{}), ofTeam(files, "team")
				if i%2 == 1 {
					w = startedOn(fenced, translate.Options{})
					maps.Copy(folder, ofTeam(guardedTeam(), "other"))
					folder["platform/namespaces.yaml"] = space("team", "team/**") + "---\n" + space("other", "other/**")
				}
				problems := w.apply(tree(folder))
				if w.status("a.team.test", "/admin") == 0 && !saysWhatIsOpen(problems, guard == unservedGuard) {
					t.Errorf("open with %v of\n%s", codesOf(problems), text)
				}
				if admin, other := w.status("a.other.test", "/admin"), w.status("a.other.test", "/"); i%2 == 1 && (admin != 401 || other != 0) {
					t.Errorf("the other team: %d and %d, with\n%s", admin, other, text)
				}
			}
		}
	}
}

// saysWhatIsOpen reports whether a problem says that other routes of the same hostname serve the requests of a route: nothing
// of it can be read, or not its paths. Without a policy that gatefold serves, it is enough that the text is no YAML.
func saysWhatIsOpen(problems []manifest.Problem, unserved bool) bool {
	return slices.ContainsFunc(problems, func(p manifest.Problem) bool {
		return p.Code == "TargetNotFound" && strings.Contains(p.Message, "other routes of the same hostname serve its requests") && !strings.Contains(p.Hint, "did you mean") ||
			p.Code == "RouteClosed" && strings.Contains(p.Message, "requests that another route of the same hostname takes are served by that route") ||
			unserved && (p.Code == "InvalidYAML" || p.Code == "NotRendered")
	})
}

// codesOf returns the codes of problems, with the objects.
func codesOf(problems []manifest.Problem) (all []string) {
	for _, p := range problems {
		all = append(all, p.Code+" "+p.Object.String())
	}
	return all
}

// ofTeam returns the files of a namespace, in a directory of its name.
func ofTeam(files map[string]string, namespace string) map[string]string {
	out := map[string]string{}
	for path, text := range files {
		out[namespace+"/"+path] = strings.ReplaceAll(text, "NS", namespace)
	}
	return out
}

// space is a Namespace with a path policy.
func space(name, paths string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s, annotations: {gatefold.io/paths: '%s', gatefold.io/gateway-ports: '80'}}\n", name, paths)
}
