package importer

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// Each case of testdata/traefik.txtar has the routes that it wants, and a verdict for every leaf.
func TestTraefik(t *testing.T) {
	eachCase(t, "testdata/traefik.txtar", func(t *testing.T, in string) *Objects {
		objects := readWith(t, Traefik, in)
		checkLeaves(t, objects, in)
		return objects
	})
}

// Each case of testdata/ingress.txtar has the routes that it wants, and a verdict for every leaf.
func TestIngress(t *testing.T) {
	eachCase(t, "testdata/ingress.txtar", func(t *testing.T, in string) *Objects {
		objects := readWith(t, Ingress, in)
		checkObjects(t, objects, in)
		return objects
	})
}

// Each case of testdata/cluster.txtar has the routes that it wants, or is blocked, and has a verdict for every leaf.
func TestCluster(t *testing.T) {
	eachCase(t, "testdata/cluster.txtar", func(t *testing.T, in string) *Objects {
		objects := readWith(t, Cluster, in)
		checkObjects(t, objects, in)
		return objects
	})
}

// eachCase reads the files of an archive, each of which is before the lines that it wants.
func eachCase(t *testing.T, name string, read func(t *testing.T, in string) *Objects) {
	t.Helper()
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(archive.Files); i += 2 {
		in, want := archive.Files[i], archive.Files[i+1]
		t.Run(strings.TrimSuffix(in.Name, ".yaml"), func(t *testing.T) {
			objects := read(t, string(in.Data))
			if got := routesOf(objects); got != string(want.Data) {
				t.Errorf("got\n%swant\n%s", got, want.Data)
			}
			if os.Getenv("SHOW") != "" {
				for _, v := range objects.sorted() {
					t.Log(v.Class, v.Object, v.Fields, v.Message)
				}
			}
		})
	}
}

func readWith(t *testing.T, read func([]Input, Options) (*Objects, error), content string) *Objects {
	t.Helper()
	inputs, err := Read("f.yaml", []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := read(inputs, Options{Secrets: true, Replace: map[string]Address{"default/replaced": {Host: "10.0.0.1", Port: 80}}})
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// checkLeaves wants a verdict that names each leaf, or the whole of what has it.
func checkLeaves(t *testing.T, objects *Objects, content string) {
	t.Helper()
	inputs, _ := Read("f.yaml", []byte(content))
	for _, in := range inputs {
		Leaves(in.Value, func(leaf string, _ any) {
			steps := parse(leaf)
			object, field := "", leaf
			if len(steps) > 2 && partKinds()[steps[0]+"."+steps[1]] != "" {
				object = partKinds()[steps[0]+"."+steps[1]] + "/" + steps[2]
				field = ""
				value, _ := lookup(in.Value, steps[:3])
				Leaves(value, func(below string, _ any) {
					if slices.Equal(parse(below), steps[3:]) {
						field = below
					}
				})
			}
			if !slices.ContainsFunc(objects.verdicts, func(v Verdict) bool { return v.Covers(object, field) }) {
				t.Errorf("no verdict for %s %s", object, field)
			}
		})
	}
}

// routesOf returns a line for each match of all routes.
func routesOf(objects *Objects) string {
	policies := map[string]string{}
	for _, o := range objects.objects.all {
		for _, target := range list(o.spec()["targetRefs"]) {
			for _, key := range sortedKeys(o.spec()) {
				if key != "targetRefs" {
					policies[text(at(target, "name"))+text(at(target, "sectionName"))] += " " + key
				}
			}
		}
	}
	var lines strings.Builder
	if objects.blocked {
		return "blocked\n"
	}
	for _, o := range objects.objects.all {
		if o.left {
			continue
		}
		for _, rule := range list(o.spec()["rules"]) {
			host, answer := "", ""
			for _, name := range list(o.spec()["hostnames"]) {
				host += text(name)
			}
			section, _ := lookup(o.spec(), parse("parentRefs[0].sectionName"))
			for _, ref := range list(at(rule, "backendRefs")) {
				answer += " " + text(at(ref, "name"))
				if weight := at(ref, "weight"); weight != nil {
					answer += fmt.Sprint("*", weight)
				}
			}
			for _, filter := range list(at(rule, "filters")) {
				switch kind := text(at(filter, "type")); kind {
				case "RequestRedirect":
					answer += fmt.Sprint(" ", at(filter, "requestRedirect", "statusCode"))
				case "URLRewrite":
					path := at(filter, "urlRewrite", "path")
					answer += " " + text(at(path, "type")) + "=" + text(at(path, "replacePrefixMatch")) + text(at(path, "replaceFullPath"))
				default:
					answer += " " + kind
				}
			}
			if answer == "" {
				answer = " 500"
			}
			for _, match := range list(at(rule, "matches")) {
				fmt.Fprintf(&lines, "%s %s %s %s", text(section), host, at(match, "path", "type"), at(match, "path", "value"))
				if method := text(at(match, "method")); method != "" {
					lines.WriteString(" " + method)
				}
				for _, h := range list(at(match, "headers")) {
					fmt.Fprintf(&lines, " %s=%s", at(h, "name"), at(h, "value"))
				}
				for _, q := range list(at(match, "queryParams")) {
					fmt.Fprintf(&lines, " ?%s=%s", at(q, "name"), at(q, "value"))
				}
				fmt.Fprintf(&lines, " ->%s%s\n", answer, policies[o.key.Name+text(at(rule, "name"))])
			}
		}
	}
	return lines.String()
}

// Rules of both versions are read with the precedence of their operators; what cannot be
// expressed makes a condition wide, and never narrower than the rule.
func TestReadRule(t *testing.T) {
	for rule, want := range map[string]string{
		"Host(`a`) || Host(`b`) && Path(`/x`)":          "a| b|/x",
		"(Host(`a`) || Host(`b`)) && Path(\"/x\")":      "a|/x b|/x",
		"Host(`a`,`B`) && Path(`/x`, `/y`)":             "a,b|/x a,b|/y",
		"Path(`/x`) && PathPrefix(`/y`)":                "",
		"PathPrefix(`/x`) && PathPrefix(`/x/y`)":        "|/x/y",
		"Path(`/x/{id:[0-9]+}`)":                        "|/x/ wide",
		"!Host(`a`) && Path(`/x`)":                      "|/x wide",
		"ClientIP(`10.0.0.0/8`)":                        "| wide",
		"HostRegexp(`{any:.+}`)":                        "|",
		"HostRegexp(`{any:.+}.example.com`)":            "*.example.com|",
		"HostRegexp(`{any:[a-z]+}.example.com`)":        "*.example.com| wide",
		"HostRegexp(`^.+\\.example\\.com$`)":            "*.example.com|",
		"HostRegexp(`^.+.example.com$`)":                "| wide",
		"HostRegexp(`^a|b\\.example\\.com$`)":           "| wide",
		"HostRegexp(`example\\.com`)":                   "| wide",
		"Host(`a`) &&":                                  "error",
		"(Host(`a`)":                                    "error",
		"Host(`a`) Path(`/`)":                           "error",
		"Host(`a`":                                      "error",
		strings.Repeat("(", 100) + "Host(`a`)":          "error",
		"":                                              "error",
		strings.Repeat("Path(`/`)||", 40) + "Path(`/`)": "error",
	} {
		got := ""
		conditions, err := readRule(rule)
		for _, c := range conditions {
			got += " " + strings.Join(c.hosts, ",") + "|" + c.path
			if c.wide {
				got += " wide"
			}
		}
		if err != nil {
			got = "error"
		}
		if got = strings.TrimPrefix(got, " "); got != want {
			t.Errorf("%s: %s, want %s", rule, got, want)
		}
	}
}

// A host with more paths than a route has rules is written whole, also where a policy of one of them is refused.
func TestARefusedPolicyOfAHostWithManyPaths(t *testing.T) {
	var in strings.Builder
	for i := range 20 {
		annotations := ""
		if i == 18 {
			annotations = "nginx.ingress.kubernetes.io/proxy-body-size: 1m"
		}
		fmt.Fprintf(&in, "---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: i%02d, annotations: {%s}}\n"+
			"spec: {rules: [{host: a, http: {paths: [{path: /p%02d, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}\n", i, annotations, i)
	}
	objects := readWith(t, Ingress, in.String())
	key := manifest.Key{Group: api.Group, Kind: api.KindTrafficPolicy, Namespace: "default", Name: "i18-00"}
	if !objects.Settle([]manifest.Problem{{Severity: manifest.Error, Code: "X", Object: key}}, func(string) bool { return false }) {
		t.Fatal("the policy is not refused")
	}
	objects.Result(nil)
	var want strings.Builder
	want.WriteString("http a RegularExpression (?i).*(?://|%(?:2f)).* -> 500\n")
	for i := 19; i >= 0; i-- {
		answer := "web"
		if i == 18 {
			answer = "500 buffer" // the policy is left out
		}
		fmt.Fprintf(&want, "http a PathPrefix /p%02d -> %s\n", i, answer)
	}
	if got := routesOf(objects); got != want.String() {
		t.Errorf("got\n%swant\n%s", got, &want)
	}
}
