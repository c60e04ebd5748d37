package translate_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/explain"
)

// headerUses says for the end of a field's path what the header named there is for. A
// field that speaks of headers and is not here fails TestProtectedHeaders.
func headerUses() []struct{ path, use string } {
	const written, value, sent = "written", "value", "sent"
	return []struct{ path, use string }{
		{`HeaderModifier\.(set|add)\[\]\.name`, written},
		{`HeaderModifier\.(set|add)\[\]\.value`, value},
		{`HeaderModifier\.remove\[\]`, written},
		{`spec\.headerModifiers\.(request|response)\.(set|add)\[\]\.name`, written},
		{`spec\.headerModifiers\.(request|response)\.(set|add)\[\]\.value`, value},
		{`spec\.headerModifiers\.(request|response)\.remove\[\]`, written},
		{`spec\.transformation\.(request|response)\.(set|add)\[\]\.name`, written},
		{`spec\.transformation\.(request|response)\.(set|add)\[\]\.value`, value},
		{`spec\.transformation\.(request|response)\.remove\[\]`, written},
		{`spec\.acl\.denyResponse\.(addBlockedByHeader|blockedByHeaderName|headers\[\]\.name)`, written},
		{`spec\.acl\.denyResponse\.headers\[\]\.value`, value},
		{`spec\.apiKeyAuth\.clientIdHeader`, "identity"},
		{`spec\.jwt\.providers\[\]\.claimsToHeaders\[\]\.header`, written},
		{`spec\.jwt\.providers\[\]\.claimsToHeaders\[\]\.name`, "read"},
		{`spec\.jwt\.providers\[\]\.tokenSource\.header\.(header|prefix)`, "read"},
		{`spec\.apiKeyAuth\.keySources\[\]\.header`, "read"},
		{`spec\.oauth2\.denyRedirect\.headers\[\]\.(name|type|value)`, "read"},
		// Browsers read these names in Access-Control-*, nobody writes headers of them.
		{`cors\.(allow|expose)Headers\[\]`, "listed"},
		{`matches\[\]\.headers\[\]\.(name|type|value)`, "read"},
		{`spec\.(loadBalancer\.(ringHash|maglev)\.)?hashPolicies\[\]\.header\.name`, "read"},
		{`spec\.rateLimit\.global\.descriptors\[\]\.entries\[\]\.header`, "read"},
		{`spec\.extAuth\.headersToForward\[\]`, sent},
		{`spec\.extAuth\.httpService\.authorizationRequest\.headersToAdd\{\}`, value},
		{`spec\.extAuth\.httpService\.authorizationResponse\.headersTo(Backend|Client|ClientOnSuccess)\[\]`, written},
		{`backendRefs\[\]\.filters\[\]\.externalAuth\..*`, "not served"}, // the rule answers 500
		{`filters\[\]\.externalAuth\.http\.allowedResponseHeaders\[\]`, written},
		{`filters\[\]\.externalAuth\.http\.allowedHeaders\[\]`, sent},
		{`filters\[\]\.externalAuth\.grpc\.allowedHeaders\[\]`, "read"}, // a gRPC service gets them as a map
		{`(request|response)HeaderMode`, "no name"},
		{`spec\.rateLimit\.xRateLimitHeaders`, "no name"},
	}
}

// hostileNames are the names that no field may write, with their spellings.
func hostileNames() []string {
	var names []string
	for _, name := range []string{
		"content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection",
		"te", "trailer", "upgrade", "http2-settings", "expect", "host",
	} {
		names = append(names, name, strings.ToUpper(name), strings.ReplaceAll(name, "-", "_"), " "+name, name+" ", name+":", name+"\r\nx")
	}
	return append(names, ":authority", ":path", ":method", ":scheme", ":status", "x y", "x\x00", "")
}

// TestProtectedHeaders looks for headers in the schemas of all kinds. Wherever one can be
// written, no name of the connection and no broken value is taken: the rule answers 500 with a
// problem at the attacker's file, and the route beside it serves.
func TestProtectedHeaders(t *testing.T) {
	s := newWorld(t).store
	written := 0
	for _, field := range headerFields(t) {
		use := useOf(field.path)
		bad := hostileNames()
		switch use {
		case "":
			t.Errorf("%s %s speaks of headers: say in headerUses what for", field.kind, field.path)
		case "value":
			bad = []string{"a\r\nb: c", "a\nb", "a\rb", "a\x00b", "\x1b[31m", "a\x7f", `{{ default(header("x"), "a` + "\r\n" + `b") }}`}
		case "written":
			if !strings.HasSuffix(field.path, "remove[]") {
				bad = append(bad, "x-envoy-upstream-alt-stat-name", "X-Envoy-Retry-On", "x_envoy_max_retries")
			}
		case "sent": // those that a service by HTTP always gets are left out
			bad = slices.DeleteFunc(bad, func(name string) bool {
				return slices.Contains([]string{"content-length", "host", ":authority", ":path", ":method"}, strings.ToLower(name))
			})
		case "identity":
			bad = append(bad, "x-envoy-upstream-alt-stat-name", "Authorization", "cookie", "content-type", "Sec-Fetch-Site", "X-Request-Id", "x-forwarded-user", "x_user", "grpc-timeout")
		case "listed":
			bad = []string{"a\r\nb", "a b", "", "a,\x00"}
		default:
			continue
		}
		written++
		if field.version == "v1beta1" { // the same fields once more
			bad = bad[:1]
		}
		w := startedOn(s, translate.Options{})
		for _, text := range bad {
			compareProtected(t, w, field, text)
		}
	}
	if written < 40 {
		t.Errorf("%d fields write headers, more are known", written)
	}
}

// compareProtected applies a folder in which a field holds a bad text. No valid version of it was served before.
func compareProtected(t *testing.T, w *world, field headerField, text string) {
	t.Helper()
	problems := w.apply(tree(map[string]string{"a.yaml": attacker(t, field, text), "b.yaml": innocent}))
	if !hasError(problems, "a.yaml") || hasError(problems, "b.yaml") {
		t.Errorf("%s %s: %q: problems %v", field.kind, field.path, text, problems)
	}
	if status := w.answer("attack.example"); status != http.StatusInternalServerError {
		t.Errorf("%s %s: %q: the rule answers %d", field.kind, field.path, text, status)
	}
	if status := w.answer("calm.example"); status != 0 {
		t.Errorf("%s %s: %q: the route beside it answers %d", field.kind, field.path, text, status)
	}
}

// answer returns the status that explain gives for a host; 0 is a backend's. An invalid route
// stands in no table, and 503 is how a rule of a GRPCRoute is closed.
func (w *world) answer(host string) int {
	query := explain.Query{Scheme: "http", Host: host, Port: 80, Method: http.MethodPost, Path: "/a/b", Headers: http.Header{}}
	query.Headers.Set("Content-Type", "application/grpc")
	query.Headers.Set("Api-Key", "k-acme")
	outcome := explain.Request(w.view(), query).Outcome
	if outcome.Status == http.StatusServiceUnavailable || outcome.Status == http.StatusNotFound && len(w.invalid) > 0 {
		return http.StatusInternalServerError
	}
	return int(outcome.Status)
}

// TestEnvoyHeadersMayBeRemoved holds what protectedHeaders leaves to users.
func TestEnvoyHeadersMayBeRemoved(t *testing.T) {
	s := newWorld(t).store
	for _, field := range headerFields(t) {
		if useOf(field.path) != "written" {
			continue
		}
		names := []string{"x-forwarded-proto", "proxy-authorization", "server", "te-x"}
		if strings.HasSuffix(field.path, "remove[]") {
			names = append(names, "x-envoy-upstream-service-time")
		}
		for _, name := range names {
			w := startedOn(s, translate.Options{})
			problems := w.apply(tree(map[string]string{"a.yaml": attacker(t, field, name), "b.yaml": innocent}))
			if status := w.answer("attack.example"); hasError(problems, "a.yaml") || status != 0 {
				t.Errorf("%s %s: %q answers %d: %v", field.kind, field.path, name, status, problems)
			}
		}
	}
}

// publicKey is a JWK.
const publicKey = `{"kty":"EC","crv":"P-256","kid":"a","x":"AfpN6LMkIDhsCiMfLQ3c5esWUqq6-AsgUxyrmwf7V3s","y":"AbEy9CJD0cffmCd1aDUWSr9FMsqhjwa4LUO8Q1xWB8Q"}`

const innocent = `
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {acme: k-acme}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec: {gatewayClassName: gatefold, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: a}
spec: {type: Static, static: {hosts: [{host: 10.0.0.1, port: 80}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: calm}
spec: {parentRefs: [{name: eg}], hostnames: [calm.example], rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]}]}
`

// headerField is a field of a kind that has to do with headers, [] for a list.
type headerField struct{ group, version, kind, path string }

// headerFields are those of all embedded schemas.
func headerFields(t *testing.T) (fields []headerField) {
	t.Helper()
	files, err := filepath.Glob("../store/schema/crds/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.Split(strings.TrimSuffix(filepath.Base(file), ".json"), "_")
		field := headerField{group: name[0], kind: name[1], version: name[2]}
		var version map[string]any
		if err := json.Unmarshal(text, &version); err != nil {
			t.Fatal(err)
		}
		root := version["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)["properties"].(map[string]any)
		eachLeaf(root["spec"], "spec", func(path string) {
			if regexp.MustCompile(`(?i)header|\.(set|add|remove)\[\]`).MatchString(path) {
				field.path = path
				fields = append(fields, field)
			}
		})
	}
	return fields
}

// eachLeaf calls fn for the paths of all texts in a schema.
func eachLeaf(schema any, path string, fn func(string)) {
	s, _ := schema.(map[string]any)
	if s["type"] == "string" {
		fn(path)
	}
	properties, _ := s["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		eachLeaf(properties[name], path+"."+name, fn)
	}
	if s["items"] != nil {
		eachLeaf(s["items"], path+"[]", fn)
	}
	if more, ok := s["additionalProperties"].(map[string]any); ok {
		eachLeaf(more, path+"{}", fn)
	}
}

func useOf(path string) string {
	for _, known := range headerUses() {
		if regexp.MustCompile(`(^|\.|[a-z])` + known.path + `$`).MatchString(path) {
			return known.use
		}
	}
	return ""
}

// attacker writes a route, or a policy of one, that has text in a field.
func attacker(t *testing.T, field headerField, text string) string {
	t.Helper()
	backend := map[string]any{"group": "gateway.kgateway.dev", "kind": "Backend", "name": "a"}
	rule := map[string]any{"backendRefs": []any{backend}}
	route := map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": map[string]any{"name": "attack"},
		"spec": map[string]any{"parentRefs": []any{map[string]any{"name": "eg"}}, "hostnames": []any{"attack.example"}, "rules": []any{rule}},
	}
	documents := []any{route}
	if strings.HasSuffix(field.kind, "Route") {
		route["kind"], route["apiVersion"] = field.kind, field.group+"/"+field.version
		fill(route, strings.Split(field.path, "."), text)
	} else {
		spec := map[string]any{"targetRefs": []any{map[string]any{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "attack"}}}
		policy := map[string]any{
			"apiVersion": field.group + "/" + field.version, "kind": field.kind, "metadata": map[string]any{"name": "attack"}, "spec": spec,
		}
		if field.kind == "GatewayExtension" {
			documents = append(documents, extensionUse(field, spec, policy, backend))
		}
		fill(policy, strings.Split(field.path, "."), text)
		documents = append(documents, policy)
	}
	var out []string
	for _, document := range documents {
		encoded, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.ReplaceAll(string(encoded), "\x7f", `\u007f`))
	}
	return strings.Join(out, "\n---\n")
}

// extensionUse makes an extension of an object that has a field, and returns a policy that names it.
func extensionUse(field headerField, spec, extension, backend map[string]any) map[string]any {
	named := map[string]any{"extensionRef": map[string]any{"name": "attack"}}
	if strings.HasPrefix(field.path, "spec.jwt") {
		spec["jwtAuth"], extension["spec"] = named, map[string]any{}
	} else {
		service := map[string]any{"httpService": map[string]any{"backendRef": backend}}
		spec["extAuth"], extension["spec"] = named, map[string]any{"extAuth": service}
	}
	return map[string]any{
		"apiVersion": field.group + "/" + field.version, "kind": "TrafficPolicy", "metadata": map[string]any{"name": "attack"}, "spec": spec,
	}
}

// fill writes text at a path, in the first element of each list, with what the schema
// wants beside it.
func fill(into map[string]any, path []string, text string) {
	name, list := strings.CutSuffix(path[0], "[]")
	switch {
	case len(path) == 1 && list:
		into[name] = []any{text}
		return
	case len(path) == 1 && strings.HasSuffix(name, "{}"):
		into[strings.TrimSuffix(name, "{}")] = map[string]any{"x-good": text}
		return
	case len(path) == 1:
		into[name] = text
		return
	case list && into[name] == nil:
		into[name] = []any{map[string]any{}}
	case into[name] == nil:
		into[name] = map[string]any{}
	}
	next, ok := into[name].(map[string]any)
	if !ok {
		next = into[name].([]any)[0].(map[string]any)
	}
	switch {
	case name == "filters":
		kind, _ := strings.CutSuffix(path[1], "[]")
		next["type"] = strings.ToUpper(kind[:1]) + kind[1:]
		if kind == "cors" {
			next["type"] = "CORS"
		}
	case name == "externalAuth":
		next["protocol"], next["backendRef"] = "HTTP", map[string]any{"group": "gateway.kgateway.dev", "kind": "Backend", "name": "a"}
		next["http"] = map[string]any{}
	case name == "acl":
		next["defaultAction"] = "allow"
	case name == "jwt":
		next["validationMode"] = "AllowMissing"
	case name == "providers":
		next["name"], next["jwks"] = "corp", map[string]any{"local": map[string]any{"inline": publicKey}}
	case name == "claimsToHeaders":
		next["name"] = "sub"
	case name == "apiKeyAuth":
		next["secretRef"] = map[string]any{"name": "keys"}
	case name == "headers" && path[0] == "headers[]":
		next["name"], next["value"] = "x-good", "good"
	case name == "set" || name == "add":
		next["name"], next["value"] = "x-good", "good"
	}
	fill(next, path[1:], text)
}
