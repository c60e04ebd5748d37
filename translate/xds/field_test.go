package xds

import (
	"bytes"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/policy"
)

// Each field of TrafficPolicies has a row of its own, which does something.
func TestEveryFieldHasARow(t *testing.T) {
	rows := map[ir.Field]bool{}
	for _, f := range policyFields() {
		if rows[f.name] {
			t.Errorf("fields has two rows for %s", f.name)
		}
		if rows[f.name] = true; len(f.filters) == 0 && f.fill == nil && f.action == nil {
			t.Errorf("the row of %s does nothing: set filters, fill or action", f.name)
		}
	}
	for _, field := range policy.Fields() {
		if !rows[field.Name] {
			t.Errorf("Envoy is sent nothing of the field %s of TrafficPolicies: add a row to policyFields in "+
				"translate/xds/field.go (ARCHITECTURE.md, Where to add)", field.Name)
		}
		delete(rows, field.Name)
	}
	for name := range rows {
		t.Errorf("fields has a row for %q, which policy.Fields has not", name)
	}
}

// allExtras returns extras with every field set.
func allExtras() ir.Extras {
	hour := time.Hour
	use := func(e ir.Extension) ir.ExtensionUse { return ir.ExtensionUse{Extension: &e} }
	return ir.Extras{
		Request: []ir.HeaderChange{{Name: "a"}}, Response: []ir.HeaderChange{{Name: "a"}},
		RateLimit:   &ir.RateLimit{Max: 1, Fill: 1, Interval: hour},
		RBAC:        &ir.RBAC{Expressions: []string{"true"}},
		BasicAuth:   &ir.BasicAuth{CredentialUse: ir.CredentialUse{List: []ir.Credential{{Name: "a", Secret: "{SHA}L55TUjtiq8FBorTWAZ0jy6g129A="}}}},
		APIKeyAuth:  &ir.APIKeyAuth{CredentialUse: ir.CredentialUse{List: []ir.Credential{{Name: "a", Secret: "k"}}}, Sources: []ir.KeySource{{Header: "a"}}},
		OAuth2:      &ir.OAuth2{ExtensionUse: use(ir.Extension{SignIn: &ir.SignIn{}})},
		JWTAuth:     &ir.JWTAuth{ExtensionUse: use(ir.Extension{JWT: &ir.JWT{Name: "a/b"}})},
		ACL:         &ir.ACL{Response: &ir.ACLResponse{Status: 403}},
		ExtAuth:     &ir.ExtAuth{ExtensionUse: use(ir.Extension{Auth: &ir.AuthService{}})},
		ExtProc:     &ir.ExtProc{ExtensionUse: use(ir.Extension{Processor: &ir.ProcessorService{}})},
		GlobalLimit: &ir.GlobalLimit{ExtensionUse: use(ir.Extension{Limiter: &ir.LimitService{}})},
		CORS:        &ir.CORS{}, CSRF: &ir.CSRF{}, BufferBytes: 1,
		RequestHeaders: ir.HeaderMods{Remove: []string{"a"}}, ResponseHeaders: ir.HeaderMods{Remove: []string{"a"}},
		AutoHost: true, RequestTimeout: &hour, IdleTimeout: &hour, Retry: &ir.Retry{Attempts: 1}, Hash: []ir.Hash{{SourceIP: true}},
		Portless: &ir.Redirect{Port: 443}, Preflight: true, Forged: []string{"x-user"}, Replaced: []ir.Field{ir.FieldCORS},
	}
}

// allActions returns an action with every field set: one of Forward, Redirect and Respond is
// left out where Envoy can do one alone.
func allActions() ir.Action {
	hour, mods, extras := time.Hour, &ir.HeaderMods{Remove: []string{"a"}}, allExtras()
	return ir.Action{
		Forward:  forwardTo(ir.Backend{Cluster: "a", Weight: 1}).Forward,
		Redirect: &ir.Redirect{Status: 301}, Respond: &ir.Respond{Status: 418},
		RequestHeaders: mods, ResponseHeaders: mods, Rewrite: &ir.Rewrite{Hostname: "a.test"},
		Mirrors: []ir.Mirror{{Cluster: "m"}}, RequestTimeout: &hour, BackendTimeout: &hour,
		Retry: &ir.Retry{Attempts: 1}, CORS: &ir.CORS{}, Extras: &extras,
		ExternalAuth: &ir.ExtAuth{ExtensionUse: ir.ExtensionUse{Filter: true, Extension: &ir.Extension{
			Service: ir.Service{Cluster: "sso"}, Auth: &ir.AuthService{StatusOnError: 403, Percent: 100, HTTP: &ir.HTTPAuth{}},
		}}},
		Parts: []ir.Part{{Kind: ir.PartClosed, Object: manifest.Key{Kind: "TrafficPolicy", Name: "p"}}},
	}
}

// differs reports whether a route is encoded otherwise with a field of all than without.
func differs[T any](t *testing.T, all T, i int, action func(T) ir.Action) bool {
	t.Helper()
	var with, without T
	reflect.ValueOf(&with).Elem().Field(i).Set(reflect.ValueOf(all).Field(i))
	encode := func(action ir.Action) []byte {
		body, problems := Route(prefixRule("/", action))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return body
	}
	return !bytes.Equal(encode(action(with)), encode(action(without)))
}

// What an action and its extras say reaches Envoy: a field that changes nothing was
// forgotten here.
func TestEveryFieldOfAnActionIsEncoded(t *testing.T) {
	extras, action := allExtras(), allActions()
	for i := range reflect.TypeOf(extras).NumField() {
		name := reflect.TypeOf(extras).Field(i).Name
		with := func(extras ir.Extras) ir.Action {
			action := forwardTo(ir.Backend{Cluster: "a", Weight: 1})
			action.Extras = &extras
			return action
		}
		switch {
		case reflect.ValueOf(extras).Field(i).IsZero():
			t.Errorf("allExtras leaves out ir.Extras.%s: set it", name)
		case !differs(t, extras, i, with):
			t.Errorf("ir.Extras.%s changes nothing of what Envoy is sent: add a row to policyFields in translate/xds/field.go", name)
		}
	}
	for i := range reflect.TypeOf(action).NumField() {
		name := reflect.TypeOf(action).Field(i).Name
		with := func(with ir.Action) ir.Action {
			answers := []string{"Forward", "Redirect", "Respond"}
			if name == "Parts" { // of a rule that is closed
				with.Respond = &ir.Respond{Status: 500}
			} else if !slices.Contains(answers, name) {
				with.Forward = action.Forward
			}
			return with
		}
		switch {
		case reflect.ValueOf(action).Field(i).IsZero():
			t.Errorf("allActions leaves out ir.Action.%s: set it", name)
		case !differs(t, action, i, with):
			t.Errorf("ir.Action.%s changes nothing of what Envoy is sent: encode it in translate/xds/action.go, "+
				"or add a row to policyFields in translate/xds/field.go", name)
		}
	}
}
