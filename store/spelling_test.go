package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/api"
)

// spelt is a policy of one kind for the object r, and the parts that it is made of.
type spelt struct{ group, version, kind, target, ref, spec, head string }

// speltKinds are all kinds of policies, each with a field that is invalid.
func speltKinds() []spelt {
	all := []spelt{
		{group: "gateway.kgateway.dev", version: "v1alpha1", kind: "TrafficPolicy", target: "gateway.networking.k8s.io HTTPRoute", spec: "timeouts: {request: soon}"},
		{group: "gateway.kgateway.dev", version: "v1alpha1", kind: "TrafficPolicy", target: "gateway.networking.k8s.io ListenerSet", spec: "csrf: {percentageEnabled: 101}"},
		{group: "gateway.kgateway.dev", version: "v1alpha1", kind: "BackendConfigPolicy", target: "gateway.kgateway.dev Backend", spec: "connectTimeout: soon"},
		{group: "gateway.networking.k8s.io", version: "v1", kind: "BackendTLSPolicy", target: "gateway.kgateway.dev Backend", spec: "validation: {hostname: x}"},
	}
	for i := range all {
		p := &all[i]
		group, kind, _ := strings.Cut(p.target, " ")
		p.target = kind
		p.ref = fmt.Sprintf("{group: %s, kind: %s, name: r}", group, kind)
		p.spec = "{targetRefs: [" + p.ref + "], " + p.spec + "}"
		p.head = "apiVersion: " + p.group + "/" + p.version + "\nkind: " + p.kind
	}
	return all
}

func (p spelt) document(head, metadata, spec string) string {
	return head + "\nmetadata: " + metadata + "\nspec: " + spec + "\n"
}

// heads are spellings of apiVersion and kind.
func (p spelt) heads() map[string]string {
	plural := strings.TrimSuffix(p.kind, "y") + "ies"
	version := p.group + "/" + p.version
	of := func(head string) string { return p.document(head, "{name: a}", p.spec) }
	return map[string]string{
		"a key in another case":        of("apiVersion: " + version + "\nKind: " + p.kind),
		"keys in capitals":             of("APIVERSION: " + version + "\nKIND: " + p.kind),
		"a kind in small letters":      of("apiVersion: " + version + "\nkind: " + strings.ToLower(p.kind)),
		"a plural":                     of("apiVersion: " + version + "\nkind: " + plural),
		"a plural in small letters":    of("apiVersion: " + version + "\nkind: " + strings.ToLower(plural)),
		"the name of a CRD":            of("apiVersion: " + version + "\nkind: " + strings.ToLower(plural) + "." + p.group),
		"a kind in two words":          of("apiVersion: " + version + "\nkind: " + strings.Replace(p.kind, "Policy", " Policy", 1)),
		"a kind in a list":             of("apiVersion: " + version + "\nkind: [" + p.kind + "]"),
		"a kind that is null":          of("apiVersion: " + version + "\nkind: "),
		"a kind that is a template":    of("apiVersion: " + version + "\nkind: {{ .Values.kind }}"),
		"a kind that is a quoted one":  of("apiVersion: " + version + "\nkind: \"{{ .Values.kind }}\""),
		"a kind that is written twice": of(p.head + "\nkind: " + p.kind),
		"no kind":                      of("apiVersion: " + version),
		"no version":                   of("kind: " + p.kind),
		"neither":                      of("x: 1"),
		"a group alone":                of("apiVersion: " + p.group + "\nkind: " + p.kind),
		"a version alone":              of("apiVersion: " + p.version + "\nkind: " + p.kind),
		"v2":                           of("apiVersion: " + p.group + "/v2\nkind: " + p.kind),
		"v1beta1":                      of("apiVersion: " + p.group + "/v1beta1\nkind: " + p.kind),
		"a version of three parts":     of("apiVersion: " + version + "/x\nkind: " + p.kind),
		"a version in a list":          of("apiVersion: [" + version + "]\nkind: " + p.kind),
		"a version that is a number":   of("apiVersion: 1\nkind: " + p.kind),
		"a version that is a template": of("apiVersion: {{ .Values.version }}\nkind: " + p.kind),
		"the group of Gloo":            of("apiVersion: gateway.solo.io/v1\nkind: " + p.kind),
		"a key with a question mark":   "? apiVersion\n: " + version + "\n? kind\n: " + p.kind + "\n? metadata\n: {name: a}\n? spec\n: " + p.spec + "\n",
		"a merge of everything":        "<<: {" + strings.ReplaceAll(p.head, "\n", ", ") + ", metadata: {name: a}, spec: " + p.spec + "}\n",
	}
}

// names are spellings of metadata.
func (p spelt) names() map[string]string {
	of := func(metadata string) string { return p.document(p.head, metadata, p.spec) }
	block := func(lines string) string { return p.head + "\nmetadata:\n" + lines + "spec: " + p.spec + "\n" }
	return map[string]string{
		"metadata that is null":             of(""),
		"metadata in a list":                of("[{name: a}]"),
		"metadata that is text":             of("a"),
		"a name that is null":               of("{name: }"),
		"a name that is a boolean":          of("{name: on}"),
		"a name that is a number":           of("{name: 0123}"),
		"a name that is a fraction":         of("{name: 1.50}"),
		"a name in a list":                  of("{name: [a]}"),
		"a name in capitals":                of("{Name: a}"),
		"a name that is written twice":      of("{name: a, name: b}"),
		"a name with a tag":                 of("{name: !!int a}"),
		"an empty namespace":                of("{name: A_B, namespace: \"\"}"),
		"a blank namespace":                 of("{name: a, namespace: \" \"}"),
		"a namespace that is an empty list": of("{name: a, namespace: []}"),
		"a list of an empty namespace":      of("{name: a, namespace: [\"\"]}"),
		"an empty namespace in capitals":    of("{name: a, Namespace: \"\"}"),
		"a name that is an alias":           of("{name: *x}"),
		"a name that is a template":         of("{name: {{ .Values.name }}}"),
		"a name that is a quoted template":  of("{name: \"{{ .Values.name }}\"}"),
		"a name that ends in text":          block("  name: {{ .Release.Name }}-auth\n"),
		"templates in many lines":           block("  name: {{ .Release.Name }}-auth\n  annotations:\n    x: {{ .x }}-y\n  labels:\n    {{- include \"labels\" . | nindent 4 }}\n"),
		"a template around it":              "{{- if .Values.auth }}\n" + block("  name: a\n") + "{{- end }}\n",
		"a conflict of a merge":             block("<<<<<<< HEAD\n  name: a\n=======\n  name: b\n>>>>>>> theirs\n"),
		"bad indentation":                   block("  name: a\n   labels: {}\n"),
		"an alias bomb":                     "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d]\n" + of("{name: a}"),
		"an anchor that contains itself":    of("{name: a, x: &x [*x]}"),
		"a capital in the namespace":        of("{name: a, namespace: Default}"),
		"a namespace in a list":             of("{name: a, namespace: [default]}"),
		"a kubectl export of another shape": of("{name: a, managedFields: [{fieldsV1: {\"f:spec\": {\"f:targetRefs\": {}}}}], ownerReferences: [{kind: " + p.target + ", name: owner}]}"),
	}
}

// specs are spellings of the rest.
func (p spelt) specs() map[string]string {
	of := func(spec string) string { return p.document(p.head, "{name: a}", spec) }
	deep := strings.Repeat("[", 80) + strings.Repeat("]", 80)
	return map[string]string{
		"a spec in a list":                 of("[" + p.spec + "]"),
		"a spec with a tag":                of("!!map " + p.spec),
		"parentRefs":                       of("{parentRefs: [" + p.ref + "]}"),
		"parentRef":                        of("{parentRef: " + p.ref + "}"),
		"targetReferences":                 of("{targetReferences: [{name: r}]}"),
		"target_refs":                      of("{target_refs: [" + p.ref + "]}"),
		"TARGETREFS":                       of("{TARGETREFS: [" + p.ref + "]}"),
		"fields of a target in capitals":   of("{targetRefs: [{KIND: " + p.target + ", Name: r}]}"),
		"a kind of target in other case":   of("{targetRefs: [{kind: " + strings.ToLower(p.target) + ", name: r}], oops: 1}"),
		"a list in a list":                 of("{targetRefs: [[" + p.ref + "]]}"),
		"a target beside one that is null": of("{targetRefs: [null, " + p.ref + "]}"),
		"a target that is written twice":   of("{targetRefs: [" + p.ref + ", " + p.ref + "], oops: 1}"),
		"a name in capitals":               of("{targetRefs: [{kind: " + p.target + ", name: ' R '}], oops: 1}"),
		"a name in binary":                 of("{targetRefs: [{kind: " + p.target + ", name: !!binary cg==}], oops: 1}"),
		"a namespace beside it":            of("{targetRefs: [{kind: " + p.target + ", name: r, namespace: default}]}"),
		"text":                             of("{targetRefs: " + p.target + "/default/r}"),
		"a section that is a number":       of("{targetRefs: [{kind: " + p.target + ", name: r, sectionName: 8080}], oops: 1}"),
		"a section that is a template":     of("{targetRefs: [{kind: " + p.target + ", name: r, sectionName: '{{ .x }}'}], oops: 1}"),
		"a section that is null":           of("{targetRefs: [{kind: " + p.target + ", name: r, sectionName: }], oops: 1}"),
		"a name among the selectors":       of("{targetSelectors: [{kind: " + p.target + ", name: r}]}"),
		"anchors":                          "x: &r [" + p.ref + "]\n" + of("{targetRefs: *r}"),
		"a merge":                          of("{<<: {targetRefs: [" + p.ref + "]}, oops: 1}"),
		"a merge of a list":                of("{<<: [{targetRefs: [" + p.ref + "]}, {oops: 1}]}"),
		"two merges":                       of("{<<: {targetRefs: [" + p.ref + "]}, <<: {oops: 1}}"),
		"a merge of a number":              of("{<<: 5, targetRefs: [" + p.ref + "]}"),
		"too deep behind it":               of("{targetRefs: [" + p.ref + "], x: " + deep + "}"),
		"too deep before it":               of("{a: " + deep + ", targetRefs: [" + p.ref + "]}"),
	}
}

// lists are policies in lists of all sorts.
func (p spelt) lists() map[string]string {
	item := "{" + strings.ReplaceAll(p.head, "\n", ", ") + ", metadata: {name: }, spec: " + p.spec + "}"
	return map[string]string{
		"a list without kind and version": "items:\n- " + item + "\n",
		"a list without a kind":           "apiVersion: v1\nitems:\n- " + item + "\n",
		"a list in capitals":              "apiVersion: v1\nkind: LIST\nItems:\n- " + item + "\n",
		"an item beside one that is null": "apiVersion: v1\nkind: List\nitems:\n- null\n- " + item + "\n",
		"an item that is a list":          "apiVersion: v1\nkind: List\nitems:\n- [" + item + "]\n",
		"a list in a list":                "apiVersion: v1\nkind: List\nitems:\n- kind: List\n  items:\n  - " + item + "\n",
		"a list of a kind":                p.head + "List\nitems:\n- {metadata: {name: {{ .x }}}, spec: " + p.spec + "}\n",
	}
}

// withTargets are files with a text, and the objects r that its policy may be for.
func (p spelt) withTargets(text string) map[string]string {
	r := route("r", "/")
	switch p.target {
	case "Backend":
		r = "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: Backend\nmetadata: {name: r}\nspec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: 3000}]}}\n---\n" + r
	case "ListenerSet":
		r = "apiVersion: gateway.networking.k8s.io/v1\nkind: ListenerSet\nmetadata: {name: r}\nspec: {parentRef: {name: g}, listeners: [{name: a, port: 80, protocol: HTTP}]}\n"
	}
	return map[string]string{"x.yaml": text, "r.yaml": r}
}

// TestOddSpellingsCloseTheirTargets spells policies of all kinds in odd ways: they close what they are for, whatever
// cannot be read.
func TestOddSpellingsCloseTheirTargets(t *testing.T) {
	for _, p := range speltKinds() {
		for _, texts := range []map[string]string{p.heads(), p.names(), p.specs(), p.lists()} {
			for name, text := range texts {
				c := newStore(t, Options{}).Apply(treeOf(p.withTargets(text)))
				closed := closes(c, p.target+" r") || closes(c, "HTTPRoute r")
				harmless := p.kind == api.KindBackendConfigPolicy // it protects nothing: only targets that can be read close
				if !closed && !harmless {
					t.Errorf("%s of a %s: %s of\n%s", name, p.kind, told(c), text)
				}
				if strings.HasPrefix(name, "a kubectl") && (len(c.Invalid[0].Targets) != 1 || c.Invalid[0].Lost) {
					t.Errorf("%s of a %s: %s", name, p.kind, told(c))
				}
			}
		}
	}
}

// TestNamelessPoliciesAreApart has a policy without a name in each of two files: each closes
// its own target, under a name that tells the file.
func TestNamelessPoliciesAreApart(t *testing.T) {
	text := strings.Replace(policyHead, "name: a", "name: ", 1) + "spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: NAME}]}\n"
	c := newStore(t, Options{}).Apply(treeOf(map[string]string{"x.yaml": strings.Replace(text, "NAME", "r", 1), "y/z.yaml": strings.Replace(text, "NAME", "s", 1)}))
	if len(c.Invalid) != 2 || c.Invalid[0].Key.Name != "_in_x_yaml" || c.Invalid[1].Key.Name != "_in_y_z_yaml" || c.Invalid[0].Targets[0].Name != "r" || c.Invalid[1].Targets[0].Name != "s" {
		t.Errorf("%s", told(c))
	}
}

// TestPoliciesOfOthersAreTold has policies of other implementations for what gatefold serves:
// one message a kind names what is served without them.
func TestPoliciesOfOthersAreTold(t *testing.T) {
	for _, test := range []struct{ apiVersion, kind, target, want string }{
		{"gateway.example.com/v1", "FilterPolicy", "HTTPRoute", "warning gatefold does not serve the kind FilterPolicy.gateway.example.com (1 in the folder): HTTPRoute default/r is served without it"},
		{"gateway.envoyproxy.io/v1alpha1", "SecurityPolicy", "HTTPRoute", "error Envoy Gateway has the kind SecurityPolicy; gatefold does not serve it: HTTPRoute default/r answers 500 because of it"},
		{"security.istio.io/v1", "AuthorizationPolicy", "GRPCRoute", "error Istio has the kind AuthorizationPolicy; gatefold does not serve it: GRPCRoute default/r answers UNAVAILABLE because of it"},
		{"gateway.solo.io/v1", "RouteOption", "HTTPRoute", "error Gloo Gateway has the kind RouteOption; gatefold does not serve it: HTTPRoute default/r is served without it"},
		{"gateway.solo.io/v1", "Oops", "HTTPRoute", "error gatefold does not serve the kind \"Oops\" in \"gateway.solo.io\"; its target HTTPRoute default/r is not in the folder, or not valid"},
		{"autoscaling/v2", "HorizontalPodAutoscaler", "Deployment", ""},
	} {
		text := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: a}\nspec: {targetRefs: [{group: gateway.networking.k8s.io, kind: %s, name: r}]}\n", test.apiVersion, test.kind, test.target)
		c := newStore(t, Options{}).Apply(treeOf(map[string]string{"x.yaml": text}))
		got := ""
		for _, p := range c.Problems {
			got += string(p.Severity) + " " + p.Message
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.kind, got, test.want)
		}
	}
}
