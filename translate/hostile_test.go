package translate_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/translate"
)

// TestHostileFolders puts random attacks beside an innocent team: routes that multiply by
// delegation and inclusion, near and over the limits, on the innocent team's own host and
// below a root of the platform that both share. What the innocent team serves is as without
// them, its edits are served, problems name the attacker's files only, and a host has no
// more rules than the documented limit.
func TestHostileFolders(t *testing.T) {
	first := testsize.Seed(t)
	stopped := 0
	for seed := first; seed < first+uint64(testsize.Of(t, 10)); seed++ {
		r, w := rand.New(rand.NewPCG(seed, 11)), newWorldWith(t, translate.Options{})
		files := innocentFiles("/in/x/a")
		w.apply(tree(files))
		want := innocentRules(w)
		for i := range 1 + r.IntN(3) {
			attack(r, files, fmt.Sprint("x", i))
		}
		if r.IntN(2) == 0 { // many matches below the platform's root itself
			files["attacker-wide.yaml"] = inheriting(1+r.IntN(30), 1+r.IntN(128))
		}
		routes := 0
		for _, text := range files {
			routes += strings.Count(text, "kind: HTTPRoute\n")
		}
		for _, p := range w.apply(tree(files)) {
			if strings.HasPrefix(p.File, "innocent") {
				t.Fatalf("seed %d: %s:%d %s: %s", seed, p.File, p.Line, p.Code, p.Message)
			}
			if p.Code == "TooManyRoutes" {
				stopped++
			}
		}
		if got := innocentRules(w); got != want {
			t.Fatalf("seed %d: the innocent team's rules change at %s", seed, firstDifference(got, want))
		}
		if heap := liveHeap(); heap > mostHeap {
			t.Fatalf("seed %d: %d bytes of live heap", seed, heap)
		}
		for _, host := range w.view().Gateways[0].Ports[0].Hosts {
			if most := 1000 + 256*routes + 2*128*routes; host.Len > most { // what delegation may come to, and what is written
				t.Fatalf("seed %d: %d rules on host %s, more than %d", seed, host.Len, host.Domain, most)
			}
		}
		files["innocent.yaml"] = innocentFiles("/in/x/edited")["innocent.yaml"]
		w.apply(tree(files))
		if !strings.Contains(innocentRules(w), `"/in/x/edited"`) {
			t.Fatalf("seed %d: the innocent team's edit is not served", seed)
		}
	}
	if stopped == 0 {
		t.Error("no attack came to a limit: the test shows nothing")
	}
}

// innocentRules returns what the innocent team's routes come to in all tables. Whether the host or the rule removes a
// header makes no difference: it depends on the other rules of the host.
func innocentRules(w *world) string {
	var b strings.Builder
	for _, gateway := range w.view().Gateways {
		for _, port := range gateway.Ports {
			for _, host := range port.Hosts {
				for rule := range host.Rules {
					if !strings.HasPrefix(rule.Name, "HTTPRoute/") || !strings.Contains(rule.Name, "innocent/") {
						continue
					}
					removed := append(slices.Clone(host.Forged), rule.Action.Extras.OrNone().Forged...)
					slices.Sort(removed)
					fmt.Fprintf(&b, "%s %s removes %v\n", rule.Name, removal.ReplaceAllString(mustJSON(rule), ""), slices.Compact(removed))
				}
			}
		}
	}
	return b.String()
}

// removal is what the JSON of a rule says of the headers that the rule itself removes.
var removal = regexp.MustCompile(`"Forged":(null|\[[^]]*\])`)

const hostileRedirect = "filters: [{type: RequestRedirect, requestRedirect: {hostname: z.example.com}}]"

// innocentFiles are a platform's Gateway, a root that hands requests to two teams, and the
// innocent team's two levels below it and below a root of its own.
func innocentFiles(leaf string) map[string]string {
	return map[string]string{
		"platform.yaml": "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: eg, namespace: infra}\n" +
			"spec: {gatewayClassName: gatefold, listeners: [{name: http, port: 8080, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]}\n" +
			hostileRoute("infra", "root", hostileRule(hostileTo("innocent", "mid"), "/in"), hostileRule(hostileTo("attacker", "*"), "/at", "/at1", "/at2", "/at3", "/at4", "/at5", "/at6", "/at7")),
		"innocent.yaml": hostileRoute("innocent", "mid", hostileRule(hostileTo("innocent", "kid"), "/in/x")) +
			hostileRoute("innocent", "kid", hostileRule(hostileRedirect, leaf), hostileRule(hostileRedirect, "/own/b")) +
			hostileRoute("innocent", "root", hostileRule(hostileTo("innocent", "kid"), "/own")),
	}
}

// attack adds a file of the attacker: levels of routes that multiply below the platform's
// root or below one of its own on the same host, by delegation or by inclusion.
func attack(r *rand.Rand, files map[string]string, name string) {
	levels, rules, matches := 1+r.IntN(4), 1+r.IntN(16), 1+r.IntN(8)
	top, included := pick(r, "root-"+name, "l-"+name), r.IntN(3) == 0
	text := ""
	for level := range levels + 1 {
		below := fmt.Sprintf("%s-%d", name, level)
		action := hostileTo("attacker", below)
		switch {
		case level == levels:
			action = hostileRedirect
		case included:
			action = "allowedRoutes: {}"
		}
		own := top
		if level > 0 {
			own = fmt.Sprintf("%s-%d", name, level-1)
		}
		var list []string
		for i := range rules {
			var paths []string
			for j := range matches {
				paths = append(paths, fmt.Sprintf("/p%d-%d-%d", level, i, j))
			}
			list = append(list, hostileRule(action, paths...))
		}
		document := hostileRoute("attacker", own, list...)
		if included && level > 0 {
			above := top
			if level > 1 {
				above = fmt.Sprintf("%s-%d", name, level-2)
			}
			document = strings.Replace(document, "  rules:\n", "  parentRefs: [{kind: HTTPRoute, name: "+above+"}]\n  rules:\n", 1)
		}
		text += document
	}
	files["attacker-"+name+".yaml"] = text
}

// inheriting is a file of routes right below the platform's root that inherit all that it
// hands to the attacker.
func inheriting(routes, matches int) (text string) {
	for i := range routes {
		var rules []string
		for from := 0; from < matches; from += 64 {
			var paths []string
			for j := from; j < min(matches, from+64); j++ {
				paths = append(paths, fmt.Sprintf("/w%d-%d", i, j))
			}
			rules = append(rules, hostileRule(hostileRedirect, paths...))
		}
		text += hostileRoute("attacker", fmt.Sprint("wide-", i), rules...)
	}
	return text
}

// hostileRoute is a route that inherits what its parent matches; one whose name begins with
// root is attached to the Gateway.
func hostileRoute(namespace, name string, rules ...string) string {
	text := "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: " + name + ", namespace: " + namespace
	if namespace == "attacker" {
		text += `, annotations: {delegation.kgateway.dev/inherit-parent-matcher: "true"}`
	}
	text += "}\nspec:\n"
	if strings.HasPrefix(name, "root") {
		text += "  parentRefs: [{name: eg, namespace: infra}]\n  hostnames: [a.example.com]\n"
	}
	return text + "  rules:\n" + strings.Join(rules, "")
}

func hostileRule(action string, paths ...string) string {
	var matches []string
	for _, path := range paths {
		matches = append(matches, "{path: {value: "+path+"}}")
	}
	return "  - {matches: [" + strings.Join(matches, ", ") + "], " + action + "}\n"
}

func hostileTo(namespace, name string) string {
	return "backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: '" + name + "', namespace: " + namespace + "}]"
}
