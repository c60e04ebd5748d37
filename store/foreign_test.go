package store

import (
	"fmt"
	"strings"
	"testing"
)

// TestWordsForIgnoredKindsHaveNoOrder has a policy of another program in each of many files: whichever file is looked at
// first, the warning names the same target.
func TestWordsForIgnoredKindsHaveNoOrder(t *testing.T) {
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("%d.yaml", i)] = fmt.Sprintf("apiVersion: gateway.example.com/v1\nkind: FilterPolicy\nmetadata: {name: p%d}\n"+
			"spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r%d}]}\n", i, i)
	}
	for range 10 {
		problems := newStore(t, Options{}).Apply(treeOf(files)).Problems
		if len(problems) != 1 || problems[0].File != "0.yaml" || !strings.Contains(problems[0].Message, "(20 in the folder): HTTPRoute default/r0 ") {
			t.Fatalf("%+v", problems)
		}
	}
}

// foreignTexts are files of other programs, some of which are no YAML, or have names in them that are also names of the
// folder's objects.
func foreignTexts() map[string]string {
	return map[string]string{
		"a target anywhere":             "metadata: {name: apps}\nentries:\n- identifiers: {target: [slug, grafana]}\n",
		"targetRef of a chart's values": "kind: Deployment\ntargetRef: {name: grafana}\n",
		"targetRefs of a chart's values": "kind: Deployment\ntargetRefs: [{group: gateway.kgateway.dev, kind: Backend, name: grafana}]\n" +
			"policy:\n  spec: {targetRefs: [{name: grafana}], csrf: {percentageEnabled: 100}}\n",
		"targets without a policy":     "kind: Scaler\nspec: {targetRef: {kind: Backend, name: grafana}, targets: [{name: grafana}], minReplicas: 1}\n",
		"values":                       "kind: DaemonSet\nservice: {kind: NodePort}\nparentRefs: [{name: g}]\n",
		"a kind that is no text":       "kind: {enabled: true}\nimage: nginx\n",
		"a kubeconfig":                 "apiVersion: v1\nkind: Config\nclusters: []\n",
		"provisioning of Grafana":      "apiVersion: 1\ndatasources: [{name: grafana, type: prometheus}]\n",
		"a lock file":                  "lockfileVersion: '9.0'\nmetadata: {content_hash: {linux-64: abc}}\npackages:\n  a@1: {}\n  a@1: {}\n",
		"a large lock file":            "lockfileVersion: 1\n" + strings.Repeat("a: {b: c}\n", maxNodes/4),
		"a CronJob":                    "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: grafana}\nspec: {suspend: true, suspend: true}\n",
		"a service of another program": "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a, name: a}\n",
		"a chart's template":           "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .Release.Name }}-x\n",
		"a tsconfig":                   "{\n  // comments\n  \"compilerOptions\": {\"target\": \"es2022\",},\n}\n",
		"notes":                        "grafana is great\n",
	}
}

// TestKindIgnoredIsAtThePolicyItNames has two policies of one kind: the warning is at the one with the target that it names.
func TestKindIgnoredIsAtThePolicyItNames(t *testing.T) {
	policy := func(name, spec string) string {
		return "apiVersion: gateway.example.com/v1\nkind: FilterPolicy\nmetadata: {name: " + name + "}\nspec: {" + spec + "}\n---\n"
	}
	ref := func(name string) string {
		return "targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: " + name + "}]"
	}
	problems := newStore(t, Options{}).Apply(treeOf(map[string]string{
		"a.yaml": policy("none", ""), "b.yaml": policy("second", ref("z")) + policy("third", ref("a")),
	})).Problems
	if len(problems) != 1 || problems[0].File != "b.yaml" || problems[0].Line != 2 || !strings.Contains(problems[0].Message, "HTTPRoute default/z is served without it") {
		t.Errorf("%+v", problems)
	}
}

// TestTextsOfOthersAreNotUsed has files of other programs beside a Backend: they close nothing, are no error, and are
// counted.
func TestTextsOfOthersAreNotUsed(t *testing.T) {
	backend := "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: Backend\nmetadata: {name: grafana}\nspec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: 3000}]}}\n"
	for name, text := range foreignTexts() {
		c := newStore(t, Options{}).Apply(treeOf(map[string]string{"a.yaml": backend, "x.yaml": text}))
		if len(c.Set) != 1 || len(c.Invalid) > 0 || len(c.Problems) > 0 || len(c.Ignored) != 1 || c.Ignored[0].Count != 1 {
			t.Errorf("%s: %s, %v, ignored %v", name, told(c), c.Problems, c.Ignored)
		}
	}
}

// TestPoliciesInsideOtherTextsCloseNothing has a policy among the values of a chart that have a mistake.
func TestPoliciesInsideOtherTextsCloseNothing(t *testing.T) {
	text := "replicas: 1\nreplicas: 2\nextra:\n- {apiVersion: gateway.kgateway.dev/v1alpha1, kind: BackendConfigPolicy, spec: {targetRefs: [{kind: Backend, name: grafana}]}}\n"
	if c := newStore(t, Options{}).Apply(treeOf(map[string]string{"x.yaml": text})); len(c.Invalid) > 0 {
		t.Error(told(c))
	}
}

// TestUnreadableTextsKeepTheirObjects has the file of a route become a text that may be another program's: the route
// stays, and the problem is told for as long as it does.
func TestUnreadableTextsKeepTheirObjects(t *testing.T) {
	for _, text := range []string{"x: [\n", "just words\n", "metadata: {name: a}\n", "kind: Deployment\nspec: [\n"} {
		s := newStore(t, Options{})
		s.Apply(treeOf(map[string]string{"a.yaml": route("a", "/1")}))
		c := s.Apply(treeOf(map[string]string{"a.yaml": text}))
		if len(c.Gone) > 0 || len(c.Stale) != 1 || c.Stale[0].Message == "" || len(c.Problems) != 2 {
			t.Errorf("%q: %s, stale %v, %v", text, told(c), c.Stale, c.Problems)
		}
		if c = s.Apply(treeOf(map[string]string{"a.yaml": text, "b.yaml": route("a", "/1")})); len(c.Problems) > 0 || len(c.Stale) > 0 {
			t.Errorf("%q, and the route elsewhere: %v", text, c.Problems)
		}
	}
}

// TestNearlyOursIsAnError has objects whose kind or group is nearly one that gatefold reads.
func TestNearlyOursIsAnError(t *testing.T) {
	for text, want := range map[string]string{
		"kind: HTTPRote\nspec: {}\n":                                                         "RequiredField",
		"Kind: httproutes\nspec: {}\n":                                                       "RequiredField",
		"apiVersion: gateway.networking.k8s.io/v1\nmetadata: {name: a}\n":                    "RequiredField",
		"apiVersion: kgatewy.dev/v1alpha1\nspec: {}\n":                                       "RequiredField",
		"apiVersion: v1\nmetadata: {name: a}\ndata: {a: b}\n":                                "RequiredField",
		"apiVersion: v1\nkind: Secrte\n":                                                     "UnknownKind",
		"apiVersion: v1\nkind: Confgmp\n":                                                    "UnknownKind",
		"metadata: {name: a}\nspec: {hostnames: [a.test], rules: []}\n":                      "RequiredField",
		"kind: HTTPRoute\nspec: [\n":                                                         "InvalidYAML",
		"kind: {{ .Values.kind }}\nspec: [\n":                                                "InvalidYAML",
		"apiVersion: gateway.kgateway.dev/v1alpha1\nknd: Backend\nx: [\n":                    "InvalidYAML",
		"apiVersion: apps/v1\nkind: Deployment\nkind: HTTPRoute\napiVersion: apps/v1\n":      "DuplicateKey",
		"apiVersion: networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: a}\nspec: {}\n": "UnknownKind",
	} {
		c := newStore(t, Options{}).Apply(treeOf(map[string]string{"x.yaml": text}))
		if len(c.Problems) == 0 || c.Problems[0].Code != want || len(c.Ignored) > 0 {
			t.Errorf("%q: %v, ignored %v", text, c.Problems, c.Ignored)
		}
	}
}

// TestEveryKindHasItsGroup writes each kind in groups that are nearly the right one, or one of Kubernetes: an error names
// the apiVersion that works.
func TestEveryKindHasItsGroup(t *testing.T) {
	for i := range kinds {
		k := &kinds[i]
		for _, apiVersion := range []string{"networking.k8s.io/v1", "networking.x-k8s.io/v1alpha1", "core/v1", "gateway.networking.k8s/v1", "gateway.networkin.k8s.io/v1", "kgateway.dev/v1alpha1", "gatway.kgateway.dev/v1alpha1", "apps/v1"} {
			c := newStore(t, Options{}).Apply(treeOf(map[string]string{"x.yaml": "apiVersion: " + apiVersion + "\nkind: " + k.name + "\nmetadata: {name: a}\n"}))
			if len(c.Problems) != 1 || c.Problems[0].Hint != "did you mean apiVersion: "+k.apiVersions()[0]+" with kind: "+k.name+"?" {
				t.Errorf("%s %s: %v", apiVersion, k.name, c.Problems)
			}
		}
	}
	for _, other := range []string{"policy.linkerd.io/v1beta3\nkind: HTTPRoute", "networking.istio.io/v1\nkind: Gateway", "serving.knative.dev/v1\nkind: Service", "gateway.envoyproxy.io/v1alpha1\nkind: Backend"} {
		if c := newStore(t, Options{}).Apply(treeOf(map[string]string{"x.yaml": "apiVersion: " + other + "\nmetadata: {name: a}\n"})); len(c.Problems) > 0 || len(c.Ignored) != 1 {
			t.Errorf("%s: %v", other, c.Problems)
		}
	}
}
