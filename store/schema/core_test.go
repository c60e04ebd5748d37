package schema

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestCoreFindings(t *testing.T) {
	service := func(spec string) string { return doc("v1", "Service", "spec: "+spec) }
	slice := func(fields string) string { return doc("discovery.k8s.io/v1", "EndpointSlice", fields) }
	for _, c := range []struct {
		name, text, code, field string
	}{
		{"no ports", service("{}"), RequiredField, "spec.ports"},
		{"no spec", doc("v1", "Service", ""), RequiredField, "spec"},
		{"port 0", service("{ports: [{port: 0}]}"), InvalidValue, "spec.ports[0].port"},
		{"no port", service("{ports: [{name: a}]}"), RequiredField, "spec.ports[0].port"},
		{"unnamed of several", service("{ports: [{port: 1, name: a}, {port: 2}]}"), RequiredField, "spec.ports[1].name"},
		{"same name", service("{ports: [{port: 1, name: a}, {port: 2, name: a}]}"), DuplicateEntry, "spec.ports[1].name"},
		{"same port", service("{ports: [{port: 1, name: a}, {port: 1, name: b}]}"), DuplicateEntry, "spec.ports[1]"},
		{"port name", service("{ports: [{port: 1, name: A_b}]}"), InvalidValue, "spec.ports[0].name"},
		{"protocol", service("{ports: [{port: 1, protocol: tcp}]}"), NotAllowedValue, "spec.ports[0].protocol"},
		{"target port", service("{ports: [{port: 1, targetPort: 70000}]}"), InvalidValue, "spec.ports[0].targetPort"},
		{"target port quoted", service("{ports: [{port: 1, targetPort: '80'}]}"), InvalidValue, "spec.ports[0].targetPort"},
		{"target port list", service("{ports: [{port: 1, targetPort: []}]}"), WrongType, "spec.ports[0].targetPort"},
		{"type", service("{type: Externalname, ports: [{port: 1}]}"), NotAllowedValue, "spec.type"},
		{"no external name", service("{type: ExternalName}"), RequiredField, "spec.externalName"},
		{"external name", service("{type: ExternalName, externalName: 'https://a'}"), InvalidValue, "spec.externalName"},
		{"service name", "{apiVersion: v1, kind: Service, metadata: {name: a.b}, spec: {ports: [{port: 1}]}}", InvalidValue, "metadata.name"},

		{"address type", slice("endpoints: []"), RequiredField, "addressType"},
		{"unknown address type", slice("addressType: IPv5"), NotAllowedValue, "addressType"},
		{"address of another type", slice("addressType: IPv4\nendpoints: [{addresses: ['::1']}]"), InvalidValue, "endpoints[0].addresses[0]"},
		{"no address", slice("addressType: IPv4\nendpoints: [{addresses: []}]"), InvalidValue, "endpoints[0].addresses"},
		{"name for address", slice("addressType: IPv6\nendpoints: [{addresses: [a.b]}]"), InvalidValue, "endpoints[0].addresses[0]"},
		{"bad name", slice("addressType: FQDN\nendpoints: [{addresses: [a_b..c]}]"), InvalidValue, "endpoints[0].addresses[0]"},
		{"slice port", slice("addressType: IPv4\nports: [{port: 65536}]"), InvalidValue, "ports[0].port"},
		{"slice port twice", slice("addressType: IPv4\nports: [{port: 1}, {port: 2}]"), DuplicateEntry, "ports[1]"},
		{"condition", slice("addressType: IPv4\nendpoints: [{addresses: [10.0.0.1], conditions: {ready: 'true'}}]"), WrongType, "endpoints[0].conditions.ready"},

		{"config key", doc("v1", "ConfigMap", "data: {'a/b': c}"), InvalidValue, "data[a/b]"},
		{"config value", doc("v1", "ConfigMap", "data: {a: 1}"), WrongType, "data[a]"},
		{"config twice", doc("v1", "ConfigMap", "data: {a: b}\nbinaryData: {a: YQ==}"), DuplicateEntry, "binaryData[a]"},
		{"config binary", doc("v1", "ConfigMap", "binaryData: {a: '#'}"), InvalidValue, "binaryData[a]"},
		{"authorities", doc("v1", "ConfigMap", "data: {ca.crt: junk}"), InvalidValue, "data[ca.crt]"},
		{"authorities of a Secret", doc("v1", "Secret", "data: {ca.crt: anVuaw==}"), InvalidValue, "data[ca.crt]"},
		{"authorities in plain text", doc("v1", "Secret", "stringData: {ca.crt: junk}"), InvalidValue, "stringData[ca.crt]"},
		{"namespace name", "{apiVersion: v1, kind: Namespace, metadata: {name: A}}", InvalidValue, "metadata.name"},
		{"time", "{apiVersion: v1, kind: Namespace, metadata: {name: a, creationTimestamp: today}}", InvalidValue, "metadata.creationTimestamp"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, found := checked(t, c.text)
			if len(found) != 1 || !has(found, c.code, c.field) {
				t.Errorf("want %s at %s, got %+v", c.code, c.field, found)
			}
		})
	}
}

// TestSecretsAreNotShown writes one value everywhere a Secret may hold it, in
// every wrong way, and looks for it in the findings.
func TestSecretsAreNotShown(t *testing.T) {
	const value = "31337s3cr3t"
	for _, c := range []struct{ rest, code, field string }{
		{"data: {a: '" + value + "#'}", InvalidValue, "data[a]"},
		{"data: {a: 31337}", WrongType, "data[a]"},
		{"data: '" + value + "'", WrongType, "data"},
		{"data: [" + value + "]", WrongType, "data"},
		{"stringData: {a: 31337}", WrongType, "stringData[a]"},
		{"stringData: {a: {b: " + value + "}}", WrongType, "stringData[a]"},
		{"stringdata: {a: " + value + "}", UnknownField, "stringdata"},
		{"immutable: " + value, WrongType, "immutable"},
		{"type: kubernetes.io/tls\nstringData: {tls.crt: " + value + "}", RequiredField, "data[tls.key]"},
	} {
		_, found := checked(t, doc("v1", "Secret", c.rest))
		if !has(found, c.code, c.field) {
			t.Errorf("%s: no %s at %s in %+v", c.rest, c.code, c.field, found)
		}
		if text := fmt.Sprint(found); strings.Contains(text, "31337") {
			t.Errorf("shown: %s", text)
		}
	}
}

func TestCoreDefaults(t *testing.T) {
	object, found := checked(t, doc("v1", "Service", "spec: {ports: [{port: 80}, {port: 81, name: b, targetPort: http}, ]}"))
	if len(found) != 1 {
		t.Errorf("%+v", found) // the name of the first port only
	}
	want := map[string]any{"type": "ClusterIP", "ports": []any{
		map[string]any{"port": int64(80), "protocol": "TCP", "targetPort": int64(80)},
		map[string]any{"port": int64(81), "protocol": "TCP", "targetPort": "http", "name": "b"},
	}}
	if !reflect.DeepEqual(object["spec"], want) {
		t.Errorf("service: %v", object["spec"])
	}
	object, _ = checked(t, doc("discovery.k8s.io/v1", "EndpointSlice", "addressType: IPv4\nports: [{port: 80}]"))
	if want := []any{map[string]any{"port": int64(80), "protocol": "TCP", "name": ""}}; !reflect.DeepEqual(object["ports"], want) {
		t.Errorf("slice: %v", object["ports"])
	}
	object, found = checked(t, doc("v1", "Secret", "data: {a: YQ==, b: Yg==}\nstringData: {b: x, c: z}"))
	want = map[string]any{"a": "YQ==", "b": "eA==", "c": "eg=="}
	if !reflect.DeepEqual(object["data"], want) || object["stringData"] != nil || object["type"] != "Opaque" || len(found) > 0 {
		t.Errorf("secret: %v, %+v", object, found)
	}
}

// TestNamesOfContainers holds that endpoints may have names with _, as container engines give them, and routes may not.
func TestNamesOfContainers(t *testing.T) {
	for _, text := range []string{
		doc("gateway.kgateway.dev/v1alpha1", "Backend", "spec: {static: {hosts: [{host: shop_app_1, port: 80}, {host: _http.shop_app.local, port: 80}]}}"),
		doc("v1", "Service", "spec: {type: ExternalName, externalName: shop_app}"),
		doc("discovery.k8s.io/v1", "EndpointSlice", "addressType: FQDN\nendpoints: [{addresses: [shop_app]}]"),
	} {
		if _, found := checked(t, text); len(found) > 0 {
			t.Errorf("%s\n%+v", text, found)
		}
	}
	if _, found := checked(t, route("{hostnames: [shop_app]}")); !has(found, InvalidValue, "spec.hostnames[0]") {
		t.Errorf("%+v", found)
	}
}

// TestLoopbackEndpoints holds that on one machine 127.0.0.1 is a backend.
func TestLoopbackEndpoints(t *testing.T) {
	_, found := checked(t, doc("discovery.k8s.io/v1", "EndpointSlice", "addressType: IPv4\nendpoints: [{addresses: [127.0.0.1]}]"))
	if len(found) > 0 {
		t.Errorf("%+v", found)
	}
}
