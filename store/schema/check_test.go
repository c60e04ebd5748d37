package schema

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// route wraps the spec of an HTTPRoute, in flow style.
func route(spec string) string {
	return doc("gateway.networking.k8s.io/v1", "HTTPRoute", "spec: "+spec)
}

// doc is an object with a name; rest holds its other fields.
func doc(apiVersion, kind, rest string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: a}\n%s\n", apiVersion, kind, rest)
}

// checked returns the checked object and what was found.
func checked(t testing.TB, text string) (map[string]any, []Finding) {
	t.Helper()
	object := documents(t, []byte(text))[0]
	return object, kinds(t).Check(gvkOf(object), object)
}

// TestFindings holds one finding per row, whole: its words are for people, and
// there is one only.
func TestFindings(t *testing.T) {
	const gateway, core = "gateway.networking.k8s.io/v1", "v1"
	listener := func(fields string) string {
		return doc(gateway, "Gateway", "spec: {gatewayClassName: a, listeners: [{"+fields+"}]}")
	}
	backend := func(spec string) string { return doc("gateway.kgateway.dev/v1alpha1", "Backend", "spec: "+spec) }
	for _, c := range []struct {
		name, text string
		want       Finding
	}{
		{"near sibling", route("{hostname: [a.example.com]}"), Finding{UnknownField, "spec.hostname", `unknown field "hostname"`, `did you mean "hostnames"?`, false}},
		{"swapped letters", route("{ruels: []}"), Finding{UnknownField, "spec.ruels", `unknown field "ruels"`, `did you mean "rules"?`, false}},
		{"case", route("{parentrefs: []}"), Finding{UnknownField, "spec.parentrefs", `unknown field "parentrefs"`, `did you mean "parentRefs"?`, false}},
		{"one level too deep", route("{rules: [{parentRefs: []}]}"), Finding{UnknownField, "spec.rules[0].parentRefs", `unknown field "parentRefs"`, "parentRefs belongs in spec", false}},
		{"one level too high", route("{matches: []}"), Finding{UnknownField, "spec.matches", `unknown field "matches"`, "matches belongs in spec.rules[]", false}},
		{"beside spec", doc(gateway, "HTTPRoute", "rules: []\nspec: {}"), Finding{UnknownField, "rules", `unknown field "rules"`, "rules belongs in spec", false}},
		{"nothing alike", route("{rules: [{matches: [{zzzzzz: 1}]}]}"), Finding{UnknownField, "spec.rules[0].matches[0].zzzzzz", `unknown field "zzzzzz"`, "the fields here are headers, method, path, queryParams", false}},
		{"metadata", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, label: {}}", Finding{UnknownField, "metadata.label", `unknown field "label"`, `did you mean "labels"?`, false}},
		{"core kind", doc(core, "Service", "spec: {ports: [{port: 80, targetport: 8080}]}"), Finding{UnknownField, "spec.ports[0].targetport", `unknown field "targetport"`, `did you mean "targetPort"?`, false}},

		{"required", listener("name: a, port: 80"), Finding{RequiredField, "spec.listeners[0].protocol", "protocol is missing", "", false}},
		{"required name", "apiVersion: v1\nkind: Namespace\nmetadata: {}", Finding{RequiredField, "metadata.name", "name is missing", "", false}},
		{"required metadata", "apiVersion: v1\nkind: Namespace", Finding{RequiredField, "metadata", "metadata is missing", "", false}},

		{"boolean for string", route("{hostnames: [yes]}"), Finding{WrongType, "spec.hostnames[0]", "hostnames[0] is a boolean (true), wants a string", "put it in quotes; without them YAML reads true, yes, on and their opposites as booleans", false}},
		{"number for a duration", route("{rules: [{timeouts: {request: 10}}]}"), Finding{WrongType, "spec.rules[0].timeouts.request", "request is a number (10), wants a string", "write a duration such as 500ms, 10s or 1m30s", false}},
		{"number for string", route("{rules: [{matches: [{headers: [{name: a, value: 1}]}]}]}"), Finding{WrongType, "spec.rules[0].matches[0].headers[0].value", "value is a number (1), wants a string", `put it in quotes: "1"`, false}},
		{"string for number", listener("name: a, port: '80', protocol: HTTP"), Finding{WrongType, "spec.listeners[0].port", `port is a string ("80"), wants an integer`, "write it without quotes: 80", false}},
		{"fraction", listener("name: a, port: 80.5, protocol: HTTP"), Finding{WrongType, "spec.listeners[0].port", "port is a number (80.5), wants an integer", "", false}},
		{"string for list", route("{hostnames: a.example.com}"), Finding{WrongType, "spec.hostnames", `hostnames is a string ("a.example.com"), wants a list`, `write it as a list: begin each item with "- "`, false}},
		{"list for object", route("{rules: [{matches: [{path: [{value: /}]}]}]}"), Finding{WrongType, "spec.rules[0].matches[0].path", "path is a list, wants an object", `remove the "- ": it is one object, not a list`, false}},
		{"string for object", route("{rules: [{matches: [{path: /}]}]}"), Finding{WrongType, "spec.rules[0].matches[0].path", `path is a string ("/"), wants an object`, "its fields are type, value", false}},
		{"empty item", route("{hostnames: [null]}"), Finding{WrongType, "spec.hostnames[0]", "hostnames[0] is empty, wants a string", "", false}},

		{"enum", route("{rules: [{matches: [{path: {type: Exat, value: /}}]}]}"), Finding{NotAllowedValue, "spec.rules[0].matches[0].path.type", `type "Exat" is not allowed; it is one of Exact, PathPrefix, RegularExpression, PathPostfix`, `did you mean "Exact"?`, false}},
		{"enum of numbers", route("{rules: [{filters: [{type: RequestRedirect, requestRedirect: {statusCode: 200}}]}]}"), Finding{NotAllowedValue, "spec.rules[0].filters[0].requestRedirect.statusCode", "statusCode 200 is not allowed; it is one of 301, 302, 303, 307, 308", "", false}},

		{"host with scheme", route(`{hostnames: ["https://a.example.com"]}`), Finding{InvalidValue, "spec.hostnames[0]", `hostnames[0] "https://a.example.com" is not ` + hostname + `, perhaps after "*."`, `leave out the scheme and the path: write "a.example.com"`, false}},
		{"host with port", route(`{hostnames: ["a.example.com:80"]}`), Finding{InvalidValue, "spec.hostnames[0]", `hostnames[0] "a.example.com:80" is not ` + hostname + `, perhaps after "*."`, `leave out the port: write "a.example.com"`, false}},
		{"upper case", route(`{hostnames: [A.example.com]}`), Finding{InvalidValue, "spec.hostnames[0]", `hostnames[0] "A.example.com" is not ` + hostname + `, perhaps after "*."`, `write "a.example.com"`, false}},
		{"every host", listener(`name: a, port: 80, protocol: HTTP, hostname: "*"`), Finding{InvalidValue, "spec.listeners[0].hostname", `hostname "*" is not ` + hostname + `, perhaps after "*."`, "leave it out: every host matches then", false}},
		{"every host of a field with one name", route(`{rules: [{filters: [{type: RequestRedirect, requestRedirect: {hostname: "*"}}]}]}`), Finding{InvalidValue, "spec.rules[0].filters[0].requestRedirect.hostname", `hostname "*" is not ` + hostname, "write one name; no wildcard is possible here", false}},
		{"every host of a certificate", doc(gateway, "BackendTLSPolicy", `spec: {targetRefs: [{group: "", kind: Service, name: a}], validation: {hostname: a, wellKnownCACertificates: System, subjectAltNames: [{type: Hostname, hostname: "*"}]}}`), Finding{InvalidValue, "spec.validation.subjectAltNames[0].hostname", `hostname "*" is not ` + hostname + `, perhaps after "*."`, "'*' stands for the first label as a whole: *.example.com", false}},
		{"long host with port", route("{hostnames: ['" + strings.Repeat("a", 59) + ".b:80']}"), Finding{InvalidValue, "spec.hostnames[0]", `hostnames[0] "` + strings.Repeat("a", 59) + `."… is not ` + hostname + `, perhaps after "*."`, "", false}},
		{"empty", route(`{parentRefs: [{name: ""}]}`), Finding{InvalidValue, "spec.parentRefs[0].name", "name must not be empty", "", false}},
		{"range", listener("name: a, port: 70000, protocol: HTTP"), Finding{InvalidValue, "spec.listeners[0].port", "port 70000 is out of range; it must be from 1 to 65535", "", false}},
		{"large range", route("{rules: [{backendRefs: [{name: a, port: 80, weight: 1000001}]}]}"), Finding{InvalidValue, "spec.rules[0].backendRefs[0].weight", "weight 1000001 is out of range; it must be from 0 to 1000000", "", false}},
		{"beyond 32 bits", doc(core, "Service", "spec: {ports: [{port: 80, nodePort: 4294967296}]}"), Finding{InvalidValue, "spec.ports[0].nodePort", "nodePort 4294967296 is out of range; it must be a number of 32 bits", "", false}},
		{"control character", route("{rules: [{filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: a, value: \"x\\r\\ny\"}]}}]}]}"), Finding{InvalidValue, "spec.rules[0].filters[0].requestHeaderModifier.set[0].value", `value "x\r\ny" holds a control character (carriage return, character 2)`, "remove it; a YAML block (|) ends with a line feed, |- does not", false}},
		{"duration", route("{rules: [{timeouts: {request: 10 s}}]}"), Finding{InvalidValue, "spec.rules[0].timeouts.request", `request "10 s" is not a duration such as 500ms, 10s or 1m30s`, "", false}},
		{"address", doc(gateway, "Gateway", "spec: {gatewayClassName: a, addresses: [{value: a.example.com}], listeners: [{name: a, port: 80, protocol: HTTP}]}"), Finding{InvalidValue, "spec.addresses[0].value", `value "a.example.com" is not an IP address`, "write an address of the machine that Envoy runs on; names are not served", false}},
		{"label", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {x: 'a b'}}", Finding{InvalidValue, "metadata.labels[x]", `labels[x] "a b" is not valid: a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character`, "", false}},

		{"too long", route("{hostnames: [" + strings.Repeat("a", 254) + "]}"), Finding{TooLong, "spec.hostnames[0]", "hostnames[0] has 254 characters, at most 253 are allowed", "", false}},
		{"too many", route("{hostnames: [" + strings.Repeat("a.example.com,", 17) + "]}"), Finding{TooMany, "spec.hostnames", "hostnames has 17 items, at most 16 are allowed", "", false}},
		{"duplicate", route("{rules: [{matches: [{headers: [{name: x, value: a}, {name: x, value: b}, {name: x, value: c}]}]}]}"), Finding{DuplicateEntry, "spec.rules[0].matches[0].headers[1]", `headers[1] repeats name "x" of spec.rules[0].matches[0].headers[0]`, "remove one of the two, or tell them apart", false}},
		{"rule", route("{rules: [{backendRefs: [{name: a}]}]}"), Finding{RuleViolated, "spec.rules[0].backendRefs[0]", "Must have port for Service reference", "a Service needs a port; if it is a Backend, write group: gateway.kgateway.dev and kind: Backend", false}},
		// What is inside of too many matches is not looked at, here a path without a slash and a match of nothing.
		{"too many matches", route("{rules: [" + strings.Repeat("{matches: ["+strings.Repeat("{path: {value: x}},", 13)+"]},", 10) + "]}"), Finding{RuleViolated, "spec.rules", tooManyMatches, "", false}},
		{"too many methods", doc(gateway, "GRPCRoute", "spec: {rules: ["+strings.Repeat("{matches: ["+strings.Repeat("{method: {type: Exact}},", 13)+"]},", 10)+"]}"), Finding{RuleViolated, "spec.rules", tooManyMatches, "", false}},
		{"rule with a path", backend("{type: Static}"), Finding{RuleViolated, "spec.static", "static is missing: it has the endpoints of the Backend", "", false}},
		{"unserved", doc("gateway.networking.k8s.io/v1alpha2", "HTTPRoute", "spec: {}"), Finding{UnknownVersion, "apiVersion", `HTTPRoute has no version "v1alpha2"`, "write apiVersion: gateway.networking.k8s.io/v1", false}},
		{"unserved core", doc("v2", "Service", "spec: {}"), Finding{UnknownVersion, "apiVersion", `Service has no version "v2"`, "write apiVersion: v1", false}},

		{"backend's type", backend("{type: AWS}"), Finding{NotServed, "spec.type", `kgateway has the value "AWS" for type; gatefold does not serve it`, "write the addresses or names of the endpoints into static.hosts, and leave out type", false}},
		{"backend's type against its field", backend("{type: PriorityGroups, static: {hosts: [{host: a, port: 80}]}}"), Finding{NotServed, "spec.type", `kgateway has the value "PriorityGroups" for type; gatefold does not serve it`, "write the addresses or names of the endpoints into static.hosts, and leave out type", false}},
		{"backend's host", backend("{type: Static, static: {hosts: [{host: 10.0.0.256, port: 80}]}}"), Finding{RuleViolated, "spec.static.hosts[0].host", "host must be an IP address or a DNS name: lower-case letters, digits, '-' and '_' in labels joined by '.'", "", false}},
		{"backend without hosts", backend("{type: Static, static: {hosts: []}}"), Finding{InvalidValue, "spec.static.hosts", "hosts must not be empty", "", false}},
		{"backend's port", backend("{type: Static, static: {hosts: [{host: a.example.com, port: 0}]}}"), Finding{InvalidValue, "spec.static.hosts[0].port", "port 0 is out of range; it must be from 1 to 65535", "", false}},
		{"backend's protocol", backend("{type: Static, static: {appProtocol: grpcs, hosts: [{host: '::1', port: 1}]}}"), Finding{NotAllowedValue, "spec.static.appProtocol", `appProtocol "grpcs" is not allowed; it is one of http2, grpc, kubernetes.io/h2c`, `did you mean "grpc"?`, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, found := checked(t, c.text); !reflect.DeepEqual(found, []Finding{c.want}) {
				t.Errorf("want %+v\ngot  %+v", c.want, found)
			}
		})
	}
}

// TestBackendType holds that the type of a Backend follows from its fields, as in kgateway.
func TestBackendType(t *testing.T) {
	for _, kind := range []string{"", "type: Static, "} {
		text := doc("gateway.kgateway.dev/v1alpha1", "Backend", "spec: {"+kind+"static: {hosts: [{host: a.example.com, port: 80}]}}")
		if _, found := checked(t, text); len(found) > 0 {
			t.Errorf("%s\n%+v", text, found)
		}
	}
}

// TestAllAtOnce holds that one mistake does not hide another, not even a rule's.
func TestAllAtOnce(t *testing.T) {
	_, found := checked(t, route("{hostname: [a], rules: [{timeouts: {request: x}, backendRefs: [{name: a}]}, {matchs: []}]}"))
	for _, want := range [][2]string{
		{UnknownField, "spec.hostname"}, {UnknownField, "spec.rules[1].matchs"},
		{InvalidValue, "spec.rules[0].timeouts.request"}, {RuleViolated, "spec.rules[0].backendRefs[0]"},
	} {
		if !has(found, want[0], want[1]) {
			t.Errorf("no %s at %s in %+v", want[0], want[1], found)
		}
	}
}

func TestRulesWaitForSoundFields(t *testing.T) {
	_, found := checked(t, route("{parentRefs: [{}], rules: [{backendRefs: [{name: a}]}]}"))
	if len(found) != 1 || found[0].Code != RequiredField {
		t.Errorf("after a missing field rules would guess: %+v", found)
	}
}

func TestFindingsAreBounded(t *testing.T) {
	var fields strings.Builder
	for i := range 10 * maxFindings {
		fmt.Fprintf(&fields, "f%d: 0, ", i)
	}
	text := route("{" + fields.String() + "}")
	_, first := checked(t, text)
	_, second := checked(t, text)
	if len(first) != maxFindings || !reflect.DeepEqual(first, second) {
		t.Errorf("%d findings, the same twice: %v", len(first), reflect.DeepEqual(first, second))
	}
}

func TestDeprecatedVersionWarns(t *testing.T) {
	_, found := checked(t, doc("gateway.networking.k8s.io/v1alpha2", "TCPRoute", "spec: {rules: [{backendRefs: [{name: a, port: 1}]}]}"))
	if len(found) != 1 || found[0].Code != DeprecatedVersion || !found[0].Warning {
		t.Errorf("%+v", found)
	}
}

func TestLongValuesAreCut(t *testing.T) {
	_, found := checked(t, route("{hostnames: ["+strings.Repeat("ü", 200)+"]}"))
	if want := `hostnames[0] "` + strings.Repeat("ü", 60) + `"… is not`; len(found) != 1 || !strings.HasPrefix(found[0].Message, want) {
		t.Errorf("%+v", found)
	}
}
