package explain_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/policy"
)

// Every field of a TrafficPolicy that is in force has words.
func TestEveryPolicyFieldHasWords(t *testing.T) {
	limit := 5 * time.Second
	use := ir.ExtensionUse{Extension: &ir.Extension{Service: ir.Service{Cluster: "sso"}, Auth: &ir.AuthService{Percent: 100}, Processor: &ir.ProcessorService{}, Limiter: &ir.LimitService{}}}
	rule := prefixed("a", 0, "/")
	rule.Action.Extras = &ir.Extras{
		Request:   []ir.HeaderChange{{Kind: ir.SetHeader, Name: "x-a"}, {Kind: ir.RemoveHeader, Name: "x-b"}},
		Response:  []ir.HeaderChange{{Kind: ir.AddHeader, Name: "x-c"}},
		RateLimit: &ir.RateLimit{Max: 1, Fill: 1, Interval: limit}, GlobalLimit: &ir.GlobalLimit{ExtensionUse: use},
		RBAC:       &ir.RBAC{Deny: true, Expressions: []string{"true"}, Blocked: []string{"10.0.0.0/8"}},
		BasicAuth:  &ir.BasicAuth{CredentialUse: ir.CredentialUse{List: []ir.Credential{{Name: "a"}}}},
		APIKeyAuth: &ir.APIKeyAuth{CredentialUse: ir.CredentialUse{List: []ir.Credential{{Name: "a"}}}, Sources: []ir.KeySource{{Header: "a"}}},
		OAuth2:     &ir.OAuth2{ExtensionUse: ir.ExtensionUse{Extension: &ir.Extension{SignIn: &ir.SignIn{Authorization: "https://idp.test/a?b", RedirectPath: "/back", LogoutPath: "/bye"}}}},
		JWTAuth:    &ir.JWTAuth{ExtensionUse: ir.ExtensionUse{Extension: &ir.Extension{JWT: &ir.JWT{Providers: []ir.JWTProvider{{Name: "corp"}}}}}},
		ACL:        &ir.ACL{Rules: []ir.ACLRule{{Name: "office", Allow: true, Ranges: []string{"10.0.0.0/8"}}}},
		ExtAuth:    &ir.ExtAuth{ExtensionUse: use}, ExtProc: &ir.ExtProc{ExtensionUse: use},
		CORS: &ir.CORS{}, CSRF: &ir.CSRF{Enabled: 100, Origins: []ir.StringMatch{{Value: "b.test"}}}, BufferBytes: 9, AutoHost: true,
		RequestHeaders: ir.HeaderMods{Remove: []string{"x"}}, RequestTimeout: &limit, IdleTimeout: &limit, Retry: &ir.Retry{Attempts: 2},
		Hash: []ir.Hash{{Header: "x-user"}, {Cookie: &ir.HashCookie{Name: "id"}}, {SourceIP: true}},
	}
	for i := range reflect.TypeFor[ir.Extras]().NumField() {
		field := reflect.ValueOf(*rule.Action.Extras).Field(i)
		if name := reflect.TypeFor[ir.Extras]().Field(i).Name; field.IsZero() && !slices.Contains([]string{"ResponseHeaders", "Replaced", "Portless", "Preflight", "Forged"}, name) {
			t.Errorf("the test leaves out ir.Extras.%s: set it", name)
		}
	}
	for _, field := range policy.Fields() {
		rule.Action.Parts = append(rule.Action.Parts, ir.Part{Kind: field.Name.PartKind(), Object: manifest.Key{Kind: api.KindTrafficPolicy, Name: "p"}})
	}
	words := map[string]string{}
	for _, action := range ask(t, explain.Facts{View: viewWith("a.test", rule)}, "http://a.test/").Actions {
		if words[strings.TrimPrefix(action.Type, api.KindTrafficPolicy+" ")] = action.Does; action.Does == "" {
			t.Errorf("explain has no words for %s: add a row to policyFields in translate/explain/field.go (ARCHITECTURE.md, Where to add)", action.Type)
		}
	}
	for field, want := range map[string]string{
		"acl":             "only requests from office (10.0.0.0/8) pass; others are answered with 403",
		"rbac":            "requests that match are rejected with 403; expressions: 1; blocked: 10.0.0.0/8",
		"oauth2":          "users sign in at https://idp.test, which sends them back to /back; /bye signs them out",
		"csrf":            "requests that change something from another origin are answered with 403, but for b.test",
		"transformation":  "set x-a, remove x-b, in answers add x-c",
		"headerModifiers": "remove x",
		"autoHostRewrite": "the host becomes the DNS name of the endpoint",
		"hashPolicies":    "nothing: no backend of the rule is balanced by a hash of the route",
		"timeouts":        "request 5s, streamIdle 5s",
	} {
		if words[field] != want {
			t.Errorf("%s: got %s", field, words[field])
		}
	}
}

// Every filter of an HTTPRoute has words, but for those that no rule is served with, and
// ExtensionRef: the policy's fields have.
func TestEveryFilterHasWords(t *testing.T) {
	limit, rule := 5*time.Second, prefixed("a", 0, "/")
	mods := &ir.HeaderMods{Remove: []string{"x"}}
	rule.Action.RequestHeaders, rule.Action.ResponseHeaders, rule.Action.RequestTimeout = mods, mods, &limit
	rule.Action.ExternalAuth = &ir.ExtAuth{ExtensionUse: ir.ExtensionUse{Filter: true, Extension: &ir.Extension{Service: ir.Service{Cluster: "sso"}, Auth: &ir.AuthService{HTTP: &ir.HTTPAuth{}}}}}
	rule.Action.Redirect, rule.Action.Rewrite = &ir.Redirect{Status: 301}, &ir.Rewrite{Hostname: "b.test"}
	rule.Action.Mirrors, rule.Action.CORS, rule.Action.Retry = []ir.Mirror{{Cluster: "m"}}, &ir.CORS{}, &ir.Retry{Attempts: 1}
	kinds := []string{ir.PartTimeouts, ir.PartRetry}
	for i := range reflect.TypeFor[gwv1.HTTPRouteFilter]().NumField() {
		if name := reflect.TypeFor[gwv1.HTTPRouteFilter]().Field(i).Name; !slices.Contains([]string{"Type", "ExtensionRef"}, name) {
			kinds = append(kinds, name)
		}
	}
	for _, kind := range kinds {
		rule.Action.Parts = append(rule.Action.Parts, ir.Part{Kind: kind})
	}
	actions := ask(t, explain.Facts{View: viewWith("a.test", rule)}, "http://a.test/").Actions
	if len(actions) != len(kinds) {
		t.Errorf("%d actions of %v", len(actions), kinds)
	}
	for _, action := range actions {
		if action.Does == "" {
			t.Errorf("explain has no words for %s: add them to ActionWords in translate/explain/filter.go (ARCHITECTURE.md, Where to add)", action.Type)
		}
	}
}

// A rule says which requests it does not try again: those whose body Envoy does not keep.
func TestRetryWords(t *testing.T) {
	service := func(percent uint32, partial bool) *ir.ExtAuth {
		auth := &ir.ExtAuth{}
		auth.Extension = &ir.Extension{Auth: &ir.AuthService{Percent: percent, Body: &ir.RequestBody{Max: 100, Partial: partial}}}
		return auth
	}
	const bounded = ", none for a body of more than 32 KiB"
	for want, action := range map[string]ir.Action{
		"2 more attempts, on 5xx or reset or 409" + bounded:                  {Retry: &ir.Retry{Attempts: 2, On: []string{"5xx", "reset"}, Codes: []uint32{409}}},
		"2 more attempts, on no answer" + bounded:                            {Retry: &ir.Retry{Attempts: 2}, ExternalAuth: service(100, true)},
		"3 more attempts, on no answer" + bounded:                            {Retry: &ir.Retry{Attempts: 3}, ExternalAuth: service(50, false)},
		"4 more attempts, on no answer":                                      {Retry: &ir.Retry{Attempts: 4}, ExternalAuth: service(100, false)},
		"5 more attempts, on no answer":                                      {Retry: &ir.Retry{Attempts: 5}, Extras: &ir.Extras{BufferBytes: 10}},
		"0 more attempts, on no answer":                                      {Retry: &ir.Retry{}},
		"1 more attempt, on no answer, the first after at most 1s" + bounded: {Retry: &ir.Retry{Attempts: 1, Backoff: time.Second}},
	} {
		action.Forward = &ir.Forward{Backends: []ir.Backend{{Cluster: "c", Weight: 1}}}
		if got := explain.ActionWords(ir.Part{Kind: ir.PartRetry}, &action); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}
