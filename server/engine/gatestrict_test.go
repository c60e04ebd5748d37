package engine

import (
	"maps"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store"
)

// strictFolder has a Gateway, a route with a policy, a backend, and a route of another file.
func strictFolder() map[string]string {
	return map[string]string{
		"gateway.yaml": openGateway,
		"shop.yaml": `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop, labels: {app: shop}}
spec:
  parentRefs: [{name: eg}]
  hostnames: [shop.test]
  rules:
  - matches: [{path: {value: /}}]
    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: cart}]
`,
		"policy.yaml": `
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: office}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: shop}]
  acl: {defaultAction: deny, rules: [{name: office, action: allow, cidrs: [192.0.2.0/24]}]}
`,
		"backend.yaml": `
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: cart}
spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: 9001}]}}
`,
		"other.yaml": teamRoute("default", "one"),
	}
}

// newStrict is newTestPipeline with a strict gate.
func newStrict(t *testing.T) (*recorder, func(files map[string]string) string) {
	p, r, log := newTestPipeline(t)
	p.gate = newGate(p.reader, false, true)
	return r, func(files map[string]string) string {
		log.Reset()
		p.reload(teamsTree(files))
		return log.String()
	}
}

// TestARevisionThatBringsAnErrorIsNotApplied: with --strict, none of its changes is, wherever the error is found. It is
// applied when the error is fixed.
func TestARevisionThatBringsAnErrorIsNotApplied(t *testing.T) {
	for name, edit := range map[string]struct{ file, from, to, code string }{
		"an unknown field":           {"shop.yaml", "hostnames:", "hostname:", "UnknownField"},
		"a text that is no YAML":     {"shop.yaml", "rules:", "rules: [", "InvalidYAML"},
		"no document in YAML":        {"shop.yaml", "kind: HTTPRoute", "kind: HTTPRout", "UnknownKind"},
		"a backend without object":   {"shop.yaml", "name: cart", "name: cort", "BackendNotFound"},
		"a parent without object":    {"shop.yaml", "name: eg", "name: ge", "NoMatchingParent"},
		"an expression":              {"shop.yaml", "value: /", "type: RegularExpression, value: '/['", "RefusedByEnvoy"},
		"a class without object":     {"gateway.yaml", "gatewayClassName: gatefold", "gatewayClassName: gatefolt", "GatewayClassNotFound"},
		"a protocol of nobody":       {"gateway.yaml", "protocol: HTTP", "protocol: HTPS", "UnsupportedProtocol"},
		"a network":                  {"policy.yaml", "192.0.2.0/24", "192.0.2.1/24", "InvalidValue"},
		"a target without object":    {"policy.yaml", "name: shop", "name: shap", "TargetNotFound"},
		"an object that others need": {"backend.yaml", "name: cart", "name: card", "BackendNotFound"},
	} {
		t.Run(name, func(t *testing.T) {
			r, reload := newStrict(t)
			files := strictFolder()
			reload(files)
			if !r.applied() || !r.serves("shop.test") || !r.serves("one.default.test") {
				t.Fatalf("at first: %+v", r.reloads)
			}
			wrong := maps.Clone(files)
			wrong[edit.file] = strings.Replace(files[edit.file], edit.from, edit.to, 1)
			for _, other := range []string{"one", "two", "two"} { // alone, with another edit, and with each further state of the folder
				wrong["other.yaml"] = teamRoute("default", other)
				log := reload(wrong)
				last := r.reloads[len(r.reloads)-1]
				if last.Result != "frozen" || !strings.Contains(last.Hold, "With --strict gatefold applies none of the folder's changes, and still serves the last revision. Fix the errors") {
					t.Errorf("with the error: %+v\n%s", last, log)
				}
				if !r.serves("shop.test") || !r.serves("one.default.test") || r.serves("two.default.test") {
					t.Error("the revision is served")
				}
				at := edit.file
				if edit.file == "backend.yaml" {
					at = "shop.yaml"
				}
				if !r.reports(edit.code, at) || !r.reports(revisionInvalid, "folder") {
					t.Errorf("the problems are %+v", r.published[len(r.published)-1].Problems)
				}
			}
			wrong[edit.file] = files[edit.file]
			if reload(wrong); !r.applied() || !r.serves("two.default.test") || r.serves("one.default.test") {
				t.Errorf("fixed: %+v", r.reloads[len(r.reloads)-1])
			}
		})
	}
}

// TestAStartWithErrorsServesNothing: with --strict and without a saved state.
func TestAStartWithErrorsServesNothing(t *testing.T) {
	r, reload := newStrict(t)
	files := strictFolder()
	right := files["shop.yaml"]
	files["shop.yaml"] = strings.Replace(right, "name: cart", "name: cort", 1)
	reload(files)
	last := r.reloads[len(r.reloads)-1]
	if len(r.published) > 0 || last.Result != "frozen" || !strings.Contains(last.Hold, "the newest change of the folder brings an error; the first is shop.yaml:10:") ||
		!strings.Contains(last.Hold, "With --strict gatefold serves nothing until it is fixed") {
		t.Errorf("%d publications, %+v", len(r.published), last)
	}
	files["shop.yaml"] = right
	if reload(files); !r.applied() || !r.serves("shop.test") {
		t.Errorf("fixed: %+v", last)
	}
}

// TestStrictHoldsTheTeamThatBringsTheError: under path policies, an error holds the namespaces of its file. One that an
// edit brings to another team's object holds the team that edited. One in cluster paths holds everything.
func TestStrictHoldsTheTeamThatBringsTheError(t *testing.T) {
	f := newTeams(t)
	f.p.gate = newGate(f.p.reader, false, true)
	backend := func(grant string) string {
		return `{apiVersion: gateway.kgateway.dev/v1alpha1, kind: Backend, metadata: {name: cart, namespace: b}, spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: 9001}]}}}
---
{apiVersion: gateway.networking.k8s.io/v1beta1, kind: ReferenceGrant, metadata: {name: grant, namespace: b}, spec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: ` + grant + `}], to: [{group: gateway.kgateway.dev, kind: Backend}]}}
`
	}
	uses := func(host, backend string) string {
		return strings.Replace(teamRoute("a", host), "parentRefs", "rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: "+backend+", namespace: b}]}], parentRefs", 1)
	}
	f.edit("teams/a/routes.yaml", uses("one", "cart"), "teams/b/backend.yaml", backend("a"))
	f.wants("at first", "one.a", "one.b")

	f.edit("teams/a/routes.yaml", uses("one", "cart")+uses("two", "cort"), "teams/b/routes.yaml", teamRoute("b", "two"))
	f.wants("an error of a", "one.a", "two.b")
	if !f.reports(revisionInvalid, "teams/a/routes.yaml") || !f.reports("BackendNotFound", "teams/a/routes.yaml") {
		t.Errorf("the problems are %+v", f.published[len(f.published)-1].Problems)
	}
	f.edit("teams/a/routes.yaml", uses("one", "cart"))
	f.wants("fixed", "one.a", "two.b")

	f.edit("teams/b/backend.yaml", backend("nobody"), "teams/b/routes.yaml", teamRoute("b", "one"))
	f.wants("b takes from a what it uses", "one.a", "two.b")
	f.edit("teams/a/routes.yaml", uses("one", "cart")+uses("two", "cart"))
	f.wants("a goes on", "one.a", "two.a", "two.b")
	f.edit("teams/b/backend.yaml", backend("a"))
	f.wants("b gives it back", "one.a", "two.a", "one.b")
	f.edit("teams/b/backend.yaml", backend("nobody"), "teams/b/routes.yaml", teamRoute("b", "two"), "teams/a/routes.yaml", uses("one", "cart"))
	f.wants("b takes it, and a edits what uses it", "one.a", "one.b")
	f.edit("teams/b/backend.yaml", backend("a"), "teams/b/routes.yaml", teamRoute("b", "one"), "teams/a/routes.yaml", uses("one", "cart")+uses("two", "cart"))
	f.wants("b gives it back again", "one.a", "two.a", "one.b")

	f.edit("platform/gateway.yaml", strings.Replace(openGateway, "protocol: HTTP", "protocol: HTPS", 1), "teams/b/routes.yaml", teamRoute("b", "two"))
	f.wants("an error of the platform", "one.a", "two.a", "one.b")
	f.edit("platform/gateway.yaml", openGateway)
	f.wants("fixed by the platform", "one.a", "two.a", "two.b")
}

// TestStrictAfterARestart: errors of what the saved state serves hold nothing back, and what was held is held on, also where
// the state lacks a Secret and users of a policy, which the folder has.
func TestStrictAfterARestart(t *testing.T) {
	for name, unsaved := range map[string]string{
		"all is saved": "", "a Secret": "apiVersion: v1\nkind: Secret\nmetadata: {name: unused}\n",
		"users": "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata: {name: users}\nspec:\n" +
			"  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: shop}]\n  basicAuth: {users: ['a:{SHA}fEqNCco3Yq9h5ZUglD3CZJT4lBs=']}\n",
	} {
		t.Run(name, func(t *testing.T) { testStrictAfterARestart(t, unsaved) })
	}
}

func testStrictAfterARestart(t *testing.T, unsaved string) {
	files := strictFolder()
	files["unsaved.yaml"] = unsaved
	delete(files, "backend.yaml")
	p, _, _ := newTestPipelineOf(t, Folder{Store: store.Options{Save: true}})
	p.reload(teamsTree(files)) // without --strict
	restart := func() (*pipeline, *recorder) {
		next, r, _ := newTestPipelineOf(t, Folder{Store: store.Options{Save: true}})
		next.gate = newGate(next.reader, false, true)
		if unusable := next.reader.store.Restore(p.reader.store.Saved(), false); len(unusable) > 0 {
			t.Fatal(unusable)
		}
		next.reload(teamsTree(files))
		p = next
		return next, r
	}

	files["other.yaml"] = teamRoute("default", "two")
	p, r := restart()
	if !r.applied() || !r.serves("two.default.test") || !r.reports("BackendNotFound", "shop.yaml") {
		t.Errorf("an old error: %+v", r.reloads[len(r.reloads)-1])
	}
	files["gateway.yaml"] = strings.Replace(openGateway, "protocol: HTTP", "protocol: HTPS", 1)
	if p.reload(teamsTree(files)); r.outcome() != "frozen" {
		t.Errorf("a new error: %+v", r.reloads[len(r.reloads)-1])
	}
	if _, r := restart(); r.outcome() != "frozen" || !r.serves("two.default.test") {
		t.Errorf("the new error after a restart: %+v", r.reloads[len(r.reloads)-1])
	}
	if delete(files, "unsaved.yaml"); unsaved == "" {
		return
	}
	if _, r := restart(); len(r.published) > 0 {
		t.Error("Envoys get an update without what only the state could have had")
	}
}
