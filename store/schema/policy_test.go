package schema

import (
	"strings"
	"testing"
)

// TestTrafficPolicies holds which policies pass, and at which field the others
// do not.
func TestTrafficPolicies(t *testing.T) {
	for _, c := range []struct {
		spec, code, field string // no code: sound
	}{
		{spec: "{timeouts: {request: 1s}, targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: a, sectionName: b}]}"},
		{spec: "{timeouts: {request: 1s}, targetSelectors: [{group: gateway.networking.k8s.io, kind: ListenerSet, matchLabels: {a: b}, sectionName: c}]}"},
		{spec: "{timeouts: {request: 1s}, targetSelectors: [{group: gateway.networking.k8s.io, kind: HTTPRoute}]}", code: RequiredField, field: "spec.targetSelectors[0].matchLabels"},
		{spec: "{timeouts: {request: 1s}, targetSelectors: [{group: gateway.networking.k8s.io, kind: HTTPRoute, matchLabels: {a: 1}}]}", code: WrongType, field: "spec.targetSelectors[0].matchLabels[a]"},
		{spec: "{targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: a}]}", code: InvalidValue, field: "spec"},
		{spec: "{}", code: InvalidValue, field: "spec"},
		{spec: "{autoHostRewrite: true, targetSelectors: [{group: gateway.networking.k8s.io, kind: Gateway, matchLabels: {a: b}}]}", code: RuleViolated, field: "spec"},
		{spec: "{timeouts: {request: 1s}, targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: a, sectionName: My_Rule}]}", code: InvalidValue, field: "spec.targetRefs[0].sectionName"},
		{spec: "{timeouts: {request: 1s}, targetRefs: [{group: apps, kind: HTTPRoute, name: a}]}", code: NotAllowedValue, field: "spec.targetRefs[0].group"},
		{spec: "{timeouts: {request: 1s}, targetRefs: [{group: gateway.networking.k8s.io, kind: Service, name: a}]}", code: NotAllowedValue, field: "spec.targetRefs[0].kind"},
		{spec: `{transformation: {response: {set: [{name: ":status", value: "{{ header(\"x\") }}"}], remove: [a]}}}`},
		{spec: "{transformation: {response: {set: [{name: a, value: b}, {name: a, value: c}]}}}", code: DuplicateEntry, field: "spec.transformation.response.set[1]"},
		{spec: "{rateLimit: {local: {tokenBucket: {maxTokens: 1, fillInterval: 50ms}}}}"},
		{spec: "{rateLimit: {local: {tokenBucket: {maxTokens: 1, fillInterval: 49ms}}}}", code: RuleViolated, field: "spec.rateLimit.local.tokenBucket.fillInterval"},
		{spec: "{rateLimit: {global: {extensionRef: {name: a}, descriptors: [{entries: [{type: Generic, generic: {key: a, value: b}}, {type: Header, header: x}, {type: RemoteAddress}, {type: Path}]}]}}}"},
		{spec: "{rateLimit: {global: {extensionRef: {name: a}, descriptors: [{entries: []}]}}}", code: InvalidValue, field: "spec.rateLimit.global.descriptors[0].entries"},
		{spec: "{rateLimit: {global: {extensionRef: {name: a}, descriptors: [{entries: [{type: Path, header: a}]}]}}}", code: RuleViolated, field: "spec.rateLimit.global.descriptors[0].entries[0]"},
		{spec: "{rateLimit: {global: {descriptors: [{entries: [{type: Path}]}]}}}", code: RequiredField, field: "spec.rateLimit.global.extensionRef"},
		{spec: "{acl: {defaultAction: deny, rules: [{name: a, cidrs: [10.1.0.0/16, '::1'], action: allow}], denyResponse: {statusCode: 404, headers: [{name: a, value: b}], blockedByHeaderName: x}}}"},
		{spec: "{acl: {defaultAction: Deny}}", code: NotAllowedValue, field: "spec.acl.defaultAction"},
		{spec: "{acl: {rules: []}}", code: RequiredField, field: "spec.acl.defaultAction"},
		{spec: "{acl: {defaultAction: allow, rules: [{cidrs: [], action: allow}]}}", code: InvalidValue, field: "spec.acl.rules[0].cidrs"},
		{spec: "{acl: {defaultAction: allow, rules: [{cidrs: ['::']}]}}", code: RequiredField, field: "spec.acl.rules[0].action"},
		{spec: "{acl: {defaultAction: allow, denyResponse: {}}}", code: RuleViolated, field: "spec.acl.denyResponse"},
		{spec: "{acl: {defaultAction: allow, denyResponse: {statusCode: 600}}}", code: InvalidValue, field: "spec.acl.denyResponse.statusCode"},
		{spec: "{rbac: {policy: {matchExpressions: ['true'], allowedCIDRs: ['::1'], blockedCIDRs: [10.0.0.0/8]}}}"},
		{spec: "{rbac: {action: deny, policy: {matchExpressions: ['true']}}}", code: NotAllowedValue, field: "spec.rbac.action"},
		{spec: "{rbac: {action: Deny}}", code: RequiredField, field: "spec.rbac.policy"},
		{spec: "{rbac: {policy: {}}}", code: RuleViolated, field: "spec.rbac.policy"},
		{spec: "{rbac: {policy: {matchExpressions: []}}}", code: InvalidValue, field: "spec.rbac.policy.matchExpressions"},
		{spec: "{extAuth: {extensionRef: {name: a, namespace: b}, contextExtensions: {a: b}, withRequestBody: {maxRequestBytes: 8192}}}"},
		{spec: "{extAuth: {disable: {}}, extProc: {disable: {}}}"},
		{spec: "{extAuth: {extensionRef: {name: a}, disable: {}}}", code: RuleViolated, field: "spec.extAuth"},
		{spec: "{extAuth: {}}", code: RuleViolated, field: "spec.extAuth"},
		{spec: "{extProc: {extensionRef: {name: a}, processingMode: {requestHeaderMode: SKIP}}}"},
		{spec: "{extProc: {processingMode: {}}}", code: RuleViolated, field: "spec.extProc"},
		{spec: "{cors: {allowOrigins: ['https://*.example.com', 'http://a:8080'], allowMethods: ['*']}}"},
		{spec: "{cors: {allowOrigins: ['*', 'http://a']}}", code: RuleViolated, field: "spec.cors.allowOrigins"},
		{spec: "{cors: {allowOrigins: ['ftp://a']}}", code: InvalidValue, field: "spec.cors.allowOrigins[0]"},
		{spec: "{csrf: {additionalOrigins: [{suffix: .example.com, ignoreCase: true}]}}"},
		{spec: "{csrf: {percentageEnabled: 1, percentageShadowed: 1}}", code: RuleViolated, field: "spec.csrf"},
		{spec: "{csrf: {additionalOrigins: [{suffix: a, prefix: b}]}}", code: RuleViolated, field: "spec.csrf.additionalOrigins[0]"},
		{spec: "{headerModifiers: {}}", code: RuleViolated, field: "spec.headerModifiers"},
		{spec: "{autoHostRewrite: true}"},
		{spec: "{autoHostRewrite: true, targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: a}]}", code: RuleViolated, field: "spec"},
		{spec: "{buffer: {maxRequestSize: 64Ki}}"},
		{spec: "{buffer: {maxRequestSize: 4294967295}}"},
		{spec: "{buffer: {maxRequestSize: 4294967296}}", code: RuleViolated, field: "spec.buffer.maxRequestSize"},
		{spec: "{buffer: {maxRequestSize: 4Gi}}", code: RuleViolated, field: "spec.buffer.maxRequestSize"},
		{spec: "{buffer: {maxRequestSize: lots}}", code: RuleViolated, field: "spec.buffer.maxRequestSize"},
		{spec: "{buffer: {maxRequestSize: 1.5M}}"},
		{spec: "{buffer: {maxRequestSize: '1e3'}}"},
		// A quantity with a long exponent is computed digit by digit: hours for these.
		{spec: "{buffer: {maxRequestSize: '1e-2000000000'}}", code: RuleViolated, field: "spec.buffer.maxRequestSize"},
		{spec: "{buffer: {maxRequestSize: '1e2000000000'}}", code: RuleViolated, field: "spec.buffer.maxRequestSize"},
		{spec: "{buffer: {maxRequestSize: '9999999999999999999999999'}}", code: RuleViolated, field: "spec.buffer.maxRequestSize"},
		{spec: "{buffer: {maxRequestSize: '1e99'}}", code: RuleViolated, field: "spec.buffer.maxRequestSize"},
		{spec: "{buffer: {maxRequestSize: 1, disable: {}}}", code: RuleViolated, field: "spec.buffer"},
		{spec: "{timeouts: {request: 1m30s, streamIdle: 0s}}"},
		{spec: "{timeouts: {request: 1d}}", code: InvalidValue, field: "spec.timeouts.request"},
		{spec: "{retry: {attempts: 2, statusCodes: [503], perTryTimeout: 1s}, timeouts: {request: 2s}}"},
		{spec: "{retry: {statusCodes: [503], perTryTimeout: 2s}, timeouts: {request: 2s}}"}, // since kgateway 2.5.2
		{spec: "{retry: {statusCodes: [503], perTryTimeout: 2001ms}, timeouts: {request: 2s}}", code: RuleViolated, field: "spec"},
		{spec: "{retry: {attempts: 2}}", code: RuleViolated, field: "spec.retry"},
		{spec: "{retry: {retryOn: [sometimes]}}", code: NotAllowedValue, field: "spec.retry.retryOn[0]"},
		{spec: "{hashPolicies: [{header: {name: a}, terminal: true}, {cookie: {name: b, ttl: 1h}}, {sourceIP: {}}]}"},
		{spec: "{hashPolicies: [{terminal: true}]}", code: RuleViolated, field: "spec.hashPolicies[0]"},
	} {
		_, found := checked(t, doc("gateway.kgateway.dev/v1alpha1", "TrafficPolicy", "spec: "+c.spec))
		if c.code == "" && len(found) > 0 || c.code != "" && (len(found) != 1 || found[0].Code != c.code || found[0].Field != c.field) {
			t.Errorf("%s\n\twant %s at %s, got %+v", c.spec, c.code, c.field, found)
		}
	}
}

// A field without a value is an error in what protects: the text may be cut off. Elsewhere it is as if it was not there.
func TestFieldsWithoutValueDoNotOpen(t *testing.T) {
	const policy = "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata: {name: a, creationTimestamp: null}\nspec:\n"
	for text, want := range map[string]string{
		policy + "  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}]\n  acl:\n":                             "spec.acl",
		policy + "  acl: {defaultAction: deny}\n  targetRefs:\n":                                                                      "spec.targetRefs",
		policy + "  acl: {defaultAction: allow, rules: }\n":                                                                           "spec.acl.rules",
		policy + "  acl: {defaultAction: deny}\n":                                                                                     "",
		strings.Replace(policy, "{name: a,", "{name: a, namespace: ,", 1) + "  acl: {defaultAction: deny}\n":                          "metadata.namespace",
		strings.Replace(policy, "{name: a,", "{name: a, labels: {namespace: b},", 1) + "  acl: {defaultAction: deny}\n":               "metadata.labels[namespace]",
		strings.Replace(policy, "{name: a,", "{name: a, namespace: b, labels: {namespace: b},", 1) + "  acl: {defaultAction: deny}\n": "",
		"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80}], selector: }":                                 "",
	} {
		_, found := checked(t, text)
		if want == "" && len(found) > 0 || want != "" && (len(found) != 1 || found[0].Field != want) {
			t.Errorf("%s\n%+v", text, found)
		}
	}
}
