package schema

import "testing"

// TestBackendConfigPolicies holds which policies pass, and at which field the
// others do not.
func TestBackendConfigPolicies(t *testing.T) {
	const check = "timeout: 1s, interval: 1s, unhealthyThreshold: 1, healthyThreshold: 1"
	for _, c := range []struct {
		spec, code, field string // no code: sound
	}{
		{spec: `{targetRefs: [{group: "", kind: Service, name: a}, {group: gateway.kgateway.dev, kind: Backend, name: a}]}`},
		{spec: `{targetRefs: [{group: "", kind: Backend, name: a}]}`, code: RuleViolated, field: "spec.targetRefs[0]"},
		{spec: `{targetRefs: [{group: "", kind: Service, name: a, sectionName: b}]}`, code: UnknownField, field: "spec.targetRefs[0].sectionName"},
		{spec: "{connectTimeout: 0s}", code: RuleViolated, field: "spec.connectTimeout"},
		{spec: "{perConnectionBufferLimitBytes: 1024, tcpKeepalive: {keepAliveProbes: 3, keepAliveTime: 30s, keepAliveInterval: 5s}}"},
		{spec: "{tcpKeepalive: {keepAliveTime: 500ms}}", code: RuleViolated, field: "spec.tcpKeepalive.keepAliveTime"},
		{spec: "{tcpKeepalive: {keepAliveInterval: 10h}}", code: RuleViolated, field: "spec.tcpKeepalive.keepAliveInterval"},
		{spec: "{loadBalancer: {leastRequest: {choiceCount: 3, slowStart: {window: 10s, aggression: '1.5', minWeightPercent: 20}}}}"},
		{spec: "{loadBalancer: {roundRobin: {slowStart: {aggression: '0.0'}}}}", code: RuleViolated, field: "spec.loadBalancer.roundRobin.slowStart.aggression"},
		{spec: "{loadBalancer: {leastRequest: {choiceCount: 1}}}", code: InvalidValue, field: "spec.loadBalancer.leastRequest.choiceCount"},
		{spec: "{loadBalancer: {random: {}, healthyPanicThreshold: 50, updateMergeWindow: 0s}}"},
		{spec: "{loadBalancer: {random: {}, maglev: {}}}", code: RuleViolated, field: "spec.loadBalancer"},
		{spec: "{loadBalancer: {}}", code: RuleViolated, field: "spec.loadBalancer"},
		{spec: "{loadBalancer: {ringHash: {minimumRingSize: 1024, maximumRingSize: 2048, hashPolicies: [{header: {name: x}, terminal: true}]}}}"},
		{spec: "{loadBalancer: {ringHash: {maximumRingSize: 1023}}}", code: RuleViolated, field: "spec.loadBalancer.ringHash"},
		{spec: "{healthCheck: {" + check + ", http: {path: /, host: a, method: HEAD, expectedStatuses: [200, 204]}}}"},
		{spec: "{healthCheck: {" + check + ", grpc: {serviceName: a, authority: b}}}"},
		{spec: "{healthCheck: {" + check + ", tcp: {}}}"},
		{spec: "{healthCheck: {" + check + "}}", code: RuleViolated, field: "spec.healthCheck"},
		{spec: "{healthCheck: {" + check + ", tcp: {}, grpc: {}}}", code: RuleViolated, field: "spec.healthCheck"},
		{spec: "{healthCheck: {" + check + ", http: {path: /, method: CONNECT}}}", code: NotAllowedValue, field: "spec.healthCheck.http.method"},
		{spec: "{outlierDetection: {consecutive5xx: 0, interval: 1s, baseEjectionTime: 30s, maxEjectionPercent: 100}}"},
		{spec: "{outlierDetection: {interval: 0s}}", code: RuleViolated, field: "spec.outlierDetection.interval"},
		{spec: "{circuitBreakers: {maxConnections: 1, maxPendingRequests: 1, maxRequests: 1, maxRetries: 0, trackRemaining: true}}"},
		{spec: "{circuitBreakers: {trackRemaining: true}}", code: RuleViolated, field: "spec.circuitBreakers"},
		{spec: "{tls: {sni: a, secretRef: {name: b}}}", code: NotServed, field: "spec.tls"},
		{spec: "{targetSelectors: [{group: '', kind: Service, matchLabels: {a: b}}]}"},
		{spec: "{targetSelectors: [{group: '', kind: Backend, matchLabels: {a: b}}]}", code: RuleViolated, field: "spec.targetSelectors[0]"},
		{spec: "{tsl: {}}", code: UnknownField, field: "spec.tsl"},
	} {
		_, found := checked(t, doc("gateway.kgateway.dev/v1alpha1", "BackendConfigPolicy", "spec: "+c.spec))
		if c.code == "" && len(found) > 0 || c.code != "" && (len(found) != 1 || found[0].Code != c.code || found[0].Field != c.field) {
			t.Errorf("%s\n\twant %s at %s, got %+v", c.spec, c.code, c.field, found)
		}
	}
}
