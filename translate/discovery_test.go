package translate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// discover sets what is known of issuers.
func (w *world) discover(set translate.Discoveries) {
	w.discovered = set
	w.translator.Discover(set)
	w.hear(w.translator.Apply(store.Change{}))
	w.rebuilt = w.ran()
}

const discovering = `apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {client-secret: s1}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: GatewayExtension
metadata: {name: login}
spec:
  oauth2:
    backendRef: {group: gateway.kgateway.dev, kind: Backend, name: s1}
    issuerURI: https://idp.test/realm
    scopes: [openid]
    credentials: {clientID: shop, clientSecretRef: {name: keys}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: login}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r1}]
  oauth2: {extensionRef: {name: login}}
`

var testAnswer = ir.IssuerAnswer{Authorization: "https://idp.test/a", Token: "https://idp.test/t", EndSession: "https://idp.test/e", JWKS: "https://idp.test/k"}

// tables returns all route tables.
func (w *world) tables() string {
	var all []string
	for _, u := range w.resources {
		if u.Type == xds.RouteType {
			all = append(all, string(u.Resource.Body))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// problem returns the problem of an object with a code.
func (w *world) problem(t *testing.T, kind, code string) manifest.Problem {
	t.Helper()
	for _, p := range w.problems {
		if p.Object.Kind == kind && p.Code == code {
			return p
		}
	}
	t.Fatalf("no %s of a %s: %+v", code, kind, w.problems)
	return manifest.Problem{}
}

// A policy whose endpoints come from an issuer closes until there is an answer, with what is known of
// it, and follows every later one.
func TestEndpointsOfAnIssuer(t *testing.T) {
	w := newWorld(t)
	w.apply(tree(map[string]string{"base.yaml": guarded, "login.yaml": discovering}))
	if !slices.Equal(w.last.Issuers, []string{"https://idp.test/realm"}) {
		t.Errorf("issuers %q", w.last.Issuers)
	}
	for _, kind := range []string{"GatewayExtension", "TrafficPolicy"} {
		if p := w.problem(t, kind, "IssuerNotAsked"); p.Severity != manifest.Warning || !strings.Contains(p.Message, "https://idp.test/realm/.well-known/openid-configuration") {
			t.Errorf("%+v", p)
		}
	}
	closed := w.tables()
	w.discover(translate.Discoveries{"https://idp.test/realm": {Fault: "status 503", Hint: "wait"}, "https://other.test": testAnswer})
	if p := w.problem(t, "GatewayExtension", "IssuerNoAnswer"); p.Severity != manifest.Error || !strings.Contains(p.Message, "status 503") || p.Hint != "wait" {
		t.Errorf("%+v", p)
	}
	if w.problem(t, "TrafficPolicy", "ExtensionNotUsable"); strings.Contains(w.tables(), "idp.test") || strings.Contains(closed, "idp.test") {
		t.Error("a table names endpoints that are not known")
	}
	w.discover(translate.Discoveries{"https://idp.test/realm": testAnswer})
	for _, endpoint := range []string{testAnswer.Authorization, testAnswer.Token, testAnswer.EndSession} {
		if !strings.Contains(w.tables(), endpoint) {
			t.Errorf("no table names %s", endpoint)
		}
	}
	if len(w.problems) > 0 && slices.ContainsFunc(w.problems, func(p manifest.Problem) bool { return strings.HasPrefix(p.Code, "Issuer") }) {
		t.Errorf("%+v", w.problems)
	}
	changed := testAnswer
	changed.Token = "https://idp.test/t2"
	w.discover(translate.Discoveries{"https://idp.test/realm": changed})
	if !strings.Contains(w.tables(), changed.Token) {
		t.Error("a changed endpoint is not served")
	}
	w.discover(nil)
	if w.problem(t, "GatewayExtension", "IssuerNotAsked"); w.tables() != closed {
		t.Error("without the answer, the tables are others than before it")
	}
}

// Endpoints that an extension names are not asked for, and go before those of the issuer.
func TestOwnEndpointsGoBeforeAnIssuers(t *testing.T) {
	w := newWorld(t)
	own := strings.Replace(discovering, "    scopes:", "    tokenEndpoint: https://own.test/t\n    scopes:", 1)
	w.apply(tree(map[string]string{"base.yaml": guarded, "login.yaml": own}))
	if len(w.last.Issuers) != 1 {
		t.Errorf("issuers %q", w.last.Issuers)
	}
	w.discover(translate.Discoveries{"https://idp.test/realm": testAnswer})
	if tables := w.tables(); !strings.Contains(tables, "https://own.test/t") || strings.Contains(tables, testAnswer.Token) || !strings.Contains(tables, testAnswer.Authorization) {
		t.Error("the extension's own endpoint is not served beside that of the issuer")
	}
	both := strings.Replace(own, "    scopes:", "    authorizationEndpoint: https://own.test/a\n    scopes:", 1)
	w.apply(tree(map[string]string{"base.yaml": guarded, "login.yaml": both}))
	if len(w.last.Issuers) != 0 || strings.Contains(w.tables(), "idp.test") {
		t.Errorf("an issuer is asked for what is known: %q", w.last.Issuers)
	}
}

// Under path policies, an extension of a team's files has nobody asked.
func TestNoIssuerOfATeamIsAsked(t *testing.T) {
	for file, want := range map[string]int{"team/login.yaml": 0, "platform/login.yaml": 1} {
		w := newFenced(t, translate.Options{})
		w.apply(tree(map[string]string{
			"platform/spaces.yaml": declared(map[string]string{"default": "80", "shop": ""}), "platform/base.yaml": guarded, file: discovering,
		}))
		if got := w.last.Issuers; len(got) != want {
			t.Errorf("%s: %v", file, got)
		}
	}
}

// Of several levels that close a rule, a mistake is the reason, wherever it is: the rule is closed whatever the issuer answers that
// nobody has asked yet.
func TestAMistakeGoesBeforeAnIssuerThatNobodyHasAsked(t *testing.T) {
	const delegating = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  listeners: [{name: http, port: 8080, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: root}
spec:
  parentRefs: [{name: eg}]
  rules: [{matches: [{path: {value: /app}}], backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: middle}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: middle}
spec:
  rules: [{matches: [{path: {value: /app}}], backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: leaf}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: leaf}
spec:
  rules: [{matches: [{path: {value: /app}}], filters: [{type: RequestRedirect, requestRedirect: {hostname: x.test}}]}]
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: s1}
spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: 443}]}}
`
	const mistake = `apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: mistake}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: %s}]
  apiKeyAuth: {secretRef: {name: missing}}
`
	for _, unasked := range []string{"root", "middle", "leaf"} {
		for _, mistaken := range []string{"", "root", "middle", "leaf"} {
			files := map[string]string{"base.yaml": delegating, "login.yaml": strings.Replace(discovering, "name: r1}]", "name: "+unasked+"}]", 1)}
			want := "https://idp.test/realm"
			if mistaken != "" {
				files["mistake.yaml"], want = fmt.Sprintf(mistake, mistaken), ""
			}
			w := newWorld(t)
			w.apply(tree(files))
			var answers []string
			for _, host := range w.view().Gateways[0].Ports[0].Hosts {
				for rule := range host.Rules {
					if r := rule.Action.Respond; r != nil && r.Status == 500 {
						answers = append(answers, r.Unasked)
					}
				}
			}
			if !slices.Equal(answers, []string{want}) {
				t.Errorf("%s has the issuer, %q the mistake: the rules wait for the issuers %q, want %q", unasked, mistaken, answers, want)
			}
		}
	}
}
