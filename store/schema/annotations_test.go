package schema

import (
	"fmt"
	"strings"
	"testing"
)

// TestUnknownAnnotations writes annotations that look like gatefold's in every spelling.
func TestUnknownAnnotations(t *testing.T) {
	object := func(kind, field, name string) string {
		head := map[string]string{
			"Namespace": "apiVersion: v1\nkind: Namespace", "Service": "apiVersion: v1\nkind: Service\nspec: {ports: [{port: 80}]}",
			"Secret":  "apiVersion: v1\nkind: Secret",
			"Gateway": "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nspec: {gatewayClassName: gatefold, listeners: [{name: a, port: 80, protocol: HTTP}]}",
		}[kind]
		return fmt.Sprintf("%s\nmetadata: {name: a, %s: {%q: %q}}", head, field, name, "true")
	}
	for _, c := range []struct{ kind, name, code, hint string }{
		{"Namespace", "gatefold.io/path", UnknownField, `did you mean "gatefold.io/paths"?`},
		{"Namespace", "gatefold.io/Paths", UnknownField, `did you mean "gatefold.io/paths"?`},
		{"Namespace", "Gatefold.io/paths", UnknownField, `did you mean "gatefold.io/paths"?`},
		{"Namespace", "gatefold.io/gateway-port", UnknownField, `did you mean "gatefold.io/gateway-ports"?`},
		{"Namespace", "gatefold/paths", UnknownField, `did you mean "gatefold.io/paths"?`},
		{"Namespace", "gatefold.dev/paths", UnknownField, `did you mean "gatefold.io/paths"?`},
		{"Namespace", "gateflod.io/paths", UnknownField, `did you mean "gatefold.io/paths"?`},
		{"Namespace", "policy.gatefold.io/paths", UnknownField, `did you mean "gatefold.io/paths"?`},
		{"Namespace", "gatefold.io", UnknownField, "the annotations of a Namespace are "},
		{"Namespace", "gatefold.io.paths", UnknownField, "the annotations of a Namespace are "},
		{"Namespace", "paths", UnknownField, `did you mean "gatefold.io/paths"?`},
		{"Namespace", "gatefold.io/zzzz", UnknownField, "the annotations of a Namespace are "},
		{"Namespace", "gatefold.io/proxy-protocol", UnknownField, "belongs on a Gateway"},
		{"Namespace", "gatefold.io/ paths", InvalidValue, ""},
		{"Namespace", " gatefold.io/paths", InvalidValue, ""},
		{"Namespace", "gatefold.io/pаths", InvalidValue, ""}, // a Cyrillic а
		{"Namespace", "gatefold.io//paths", InvalidValue, ""},
		{"Gateway", "gatefold.io/proxy-protocl", UnknownField, `did you mean "gatefold.io/proxy-protocol"?`},
		{"Gateway", "gatefold.io/gateway-ports", UnknownField, "belongs on a Namespace"},
		{"Service", "gatefold.io/paths", UnknownField, "belongs on a Namespace"},
		{"Secret", "gatefold.io/x", UnknownField, "gatefold reads no annotation of gatefold.io on a Secret"},
		{"Gateway", "kgateway.dev/inherited-policy-prioritty", UnknownField, `did you mean "kgateway.dev/inherited-policy-priority" in metadata.annotations?`},
		{"Service", "delegation.kgateway.dev/inherited-policy-priority", UnknownField, `did you mean "kgateway.dev/inherited-policy-priority"`},
		{"Secret", "kgateway.dev/Inherited-Policy-Priority", UnknownField, `did you mean "kgateway.dev/inherited-policy-priority"`},
		{"Gateway", "kgatway.dev/inherited-policy-priority", UnknownField, `did you mean "kgateway.dev/inherited-policy-priority"`},
		{"Gateway", "gateway.kgateway.dev/inherited-policy-priority", UnknownField, `did you mean "kgateway.dev/inherited-policy-priority"`},
		{"Gateway", "inherited-policy-priority", UnknownField, `did you mean "kgateway.dev/inherited-policy-priority"`},
		{"Namespace", "kgateway.dev/route-wieght", UnknownField, `did you mean "kgateway.dev/route-weight"`},
		{"Gateway", "kgateway.dev/inherit-parent-matcher", UnknownField, `did you mean "delegation.kgateway.dev/inherit-parent-matcher"`},
		{"Gateway", "kgateway.dev/inherited-policy-priority", "", ""},
		{"Service", "kgateway.dev/inherited-policy-priority", "", ""},
		{"Gateway", "kgateway.dev/per-connection-buffer-limit", "", ""},
		{"Gateway", "delegation.kgateway.dev/enable-policy-override", "", ""},
		{"Gateway", "example.com/inherited-policy-prioritty", "", ""},
		{"Service", "route-wieght", "", ""},
		{"Gateway", "gatefold.io/proxy-protocol", "", ""},
		{"Service", "paths", "", ""},
		{"Namespace", "example.com/paths", "", ""},
		{"Namespace", "kubernetes.io/metadata.name", "", ""},
	} {
		_, found := checked(t, object(c.kind, "annotations", c.name))
		if c.code == "" {
			if len(found) > 0 {
				t.Errorf("%s %q: %+v", c.kind, c.name, found)
			}
			continue
		}
		if !has(found, c.code, "metadata.annotations["+c.name+"]") || found[0].Warning || c.hint != "" && !strings.Contains(found[0].Hint, c.hint) {
			t.Errorf("%s %q: want %s and %q, got %+v", c.kind, c.name, c.code, c.hint, found)
		}
	}
	for name, hint := range map[string]string{
		"kgateway.dev/inherited-policy-priority": "metadata.annotations", "delegation.kgateway.dev/lable": `did you mean "delegation.kgateway.dev/label" in metadata.labels?`,
	} {
		if _, found := checked(t, object("Gateway", "labels", name)); !has(found, UnknownField, "metadata.labels["+name+"]") || !strings.Contains(found[0].Hint, hint) {
			t.Errorf("label %s: %+v", name, found)
		}
	}
	_, found := checked(t, object("Namespace", "labels", "gatefold.io/gateway-ports"))
	if !has(found, UnknownField, "metadata.labels[gatefold.io/gateway-ports]") {
		t.Errorf("a label: %+v", found)
	}
}

func TestGrantsThatCannotBeRead(t *testing.T) {
	for _, annotation := range []string{"gatefold.io/paths: /a", "gatefold.io/paths: ''", "gatefold.io/paths: null", "gatefold.io/gateway-ports: ~", "gatefold.io/gateway-ports: '0'", "gatefold.io/gateway-ports: http"} {
		_, found := checked(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, annotations: {"+annotation+"}}")
		name, _, _ := strings.Cut(annotation, ":")
		if len(found) != 1 || !has(found, InvalidValue, "metadata.annotations["+name+"]") {
			t.Errorf("%s: %+v", annotation, found)
		}
	}
	for _, value := range []string{"8443", "[8443]", "{}", "true"} {
		_, found := checked(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, annotations: {gatefold.io/gateway-ports: "+value+"}}")
		if !has(found, WrongType, "metadata.annotations[gatefold.io/gateway-ports]") {
			t.Errorf("%s: %+v", value, found)
		}
	}
}
