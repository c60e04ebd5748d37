package schema

import "testing"

// TestGatewayExtensions holds which extensions pass, and at which field the others
// do not.
func TestGatewayExtensions(t *testing.T) {
	const provider = "backendRef: {name: a, port: 443}, credentials: {clientID: a, clientSecretRef: {name: b}}"
	const service = "grpcService: {backendRef: {name: a, port: 9000}}"
	for _, c := range []struct {
		spec, code, field string // no code: sound
	}{
		{spec: "{type: ExtAuth, extAuth: {" + service + "}}"},
		{spec: "{extAuth: {" + service + ", failOpen: true, statusOnError: 503, headersToForward: [cookie], percentageEnabled: 50, statPrefix: a, clearRouteCache: false, withRequestBody: {maxRequestBytes: 1, allowPartialMessage: true, packAsBytes: true}}}"},
		{spec: "{extAuth: {" + service + ", clearRouteCache: true}}", code: NotServed, field: "spec.extAuth.clearRouteCache"},
		{spec: "{extAuth: {" + service + ", httpService: {backendRef: {name: a, port: 1}, pathPrefix: /}}}", code: RuleViolated, field: "spec.extAuth"},
		{spec: "{extAuth: {httpService: {backendRef: {name: a, port: 1}, pathPrefix: /}}}"},
		{spec: "{extAuth: {httpService: {backendRef: {name: a, port: 1}, pathPrefix: /api/verify, requestTimeout: 2s, authorizationRequest: {headersToAdd: {x-a: '%REQ(:path)%'}}, authorizationResponse: {headersToBackend: [a], headersToClient: [b], headersToClientOnSuccess: [c]}, retry: {attempts: 1, backoff: {baseInterval: 1s, maxInterval: 2s}}}, headersToForward: [cookie], failOpen: true, statusOnError: 503, percentageEnabled: 50, statPrefix: a, withRequestBody: {maxRequestBytes: 1}}}"},
		{spec: "{extAuth: {httpService: {backendRef: {name: a}}}}", code: RuleViolated, field: "spec.extAuth.httpService.backendRef"},
		{spec: "{extAuth: {httpService: {backendRef: {name: a, port: 1}, pathPrefix: a}}}", code: InvalidValue, field: "spec.extAuth.httpService.pathPrefix"},
		{spec: "{extAuth: {httpService: {backendRef: {name: a, port: 1}, pathPrefix: '/a?b'}}}", code: InvalidValue, field: "spec.extAuth.httpService.pathPrefix"},
		{spec: "{extAuth: {httpService: {backendRef: {name: a, port: 1}, requestTimeout: 0s}}}", code: RuleViolated, field: "spec.extAuth.httpService.requestTimeout"},
		{spec: "{extAuth: {httpService: {backendRef: {name: a, port: 1}, authorizationResponse: {headersToBackend: ['a b']}}}}", code: InvalidValue, field: "spec.extAuth.httpService.authorizationResponse.headersToBackend[0]"},
		{spec: "{extAuth: {}}", code: RuleViolated, field: "spec.extAuth"},
		{spec: "{extAuth: {" + service + ", statusOnError: 600}}", code: InvalidValue, field: "spec.extAuth.statusOnError"},
		{spec: "{extAuth: {" + service + ", withRequestBody: {}}}", code: RequiredField, field: "spec.extAuth.withRequestBody.maxRequestBytes"},
		{spec: "{extAuth: {" + service + ", failopen: true}}", code: UnknownField, field: "spec.extAuth.failopen"},
		{spec: "{extAuth: {grpcService: {backendRef: {name: a}}}}", code: RuleViolated, field: "spec.extAuth.grpcService.backendRef"},
		{spec: "{extAuth: {grpcService: {backendRef: {group: gateway.kgateway.dev, kind: Backend, name: a, namespace: b, weight: 1}, authority: 'a.example:1', requestTimeout: 1s, retry: {attempts: 2, backoff: {baseInterval: 1s, maxInterval: 2s}}}}}"},
		{spec: "{extAuth: {grpcService: {backendRef: {name: a, port: 1}, requestTimeout: 0s}}}", code: RuleViolated, field: "spec.extAuth.grpcService.requestTimeout"},
		{spec: "{extAuth: {grpcService: {backendRef: {name: a, port: 1}, retry: {backoff: {baseInterval: 2s, maxInterval: 1s}}}}}", code: RuleViolated, field: "spec.extAuth.grpcService.retry.backoff"},
		{spec: "{extProc: {" + service + ", failOpen: false, processingMode: {responseBodyMode: FULL_DUPLEX_STREAMED, responseTrailerMode: SEND}, messageTimeout: 1s, maxMessageTimeout: 2s, routeCacheAction: Retain, allowProcessingModeOverride: true, allowedProcessingModeOverrides: [{}]}}"},
		{spec: "{extProc: {" + service + ", processingMode: {requestBodyMode: SEND}}}", code: NotAllowedValue, field: "spec.extProc.processingMode.requestBodyMode"},
		{spec: "{extProc: {}}", code: RequiredField, field: "spec.extProc.grpcService"},
		{spec: "{rateLimit: {" + service + ", domain: a, timeout: 1s, failOpen: false, xRateLimitHeaders: DraftVersion03}}"},
		{spec: "{rateLimit: {" + service + "}}", code: RequiredField, field: "spec.rateLimit.domain"},
		{spec: "{rateLimit: {" + service + ", domain: a}, extAuth: {" + service + "}}", code: RuleViolated, field: "spec"},
		{spec: "{type: ExtProc, rateLimit: {" + service + ", domain: a}}", code: RuleViolated, field: "spec"},
		{spec: "{extProc: {" + service + ", routeCacheAction: Clear}}", code: NotServed, field: "spec.extProc.routeCacheAction"},
		{spec: "{extProc: {" + service + ", metadataOptions: {forwarding: {typed: [a]}}}}", code: NotServed, field: "spec.extProc.metadataOptions"},
		{spec: "{type: OAuth2, oauth2: {" + provider + ", authorizationEndpoint: 'https://a/b?c=d', tokenEndpoint: 'https://a:8443/b'}}"},
		{spec: "{oauth2: {" + provider + ", issuerURI: 'https://a/b'}}"},
		{spec: "{oauth2: {" + provider + ", tokenEndpoint: 'https://a/b'}}", code: RuleViolated, field: "spec.oauth2"},
		{spec: "{oauth2: {" + provider + ", issuerURI: 'http://a'}}", code: InvalidValue, field: "spec.oauth2.issuerURI"},
		{spec: "{oauth2: {" + provider + ", issuerURI: 'https://a', endSessionEndpoint: 'https://a/ b'}}", code: InvalidValue, field: "spec.oauth2.endSessionEndpoint"},
		{spec: "{oauth2: {" + provider + ", issuerURI: 'https://a', scopes: ['a b']}}", code: InvalidValue, field: "spec.oauth2.scopes[0]"},
		{spec: "{oauth2: {" + provider + ", issuerURI: 'https://a', cookies: {sameSite: lax}}}", code: NotAllowedValue, field: "spec.oauth2.cookies.sameSite"},
		{spec: "{oauth2: {" + provider + ", issuerURI: 'https://a', cookies: {names: {idToken: 'a;b'}}}}", code: InvalidValue, field: "spec.oauth2.cookies.names.idToken"},
		{spec: "{oauth2: {" + provider + ", issuerURI: 'https://a', denyRedirect: {headers: []}}}", code: InvalidValue, field: "spec.oauth2.denyRedirect.headers"},
		{spec: "{oauth2: {" + provider + ", issuerURI: 'https://a', jwt: {}}}", code: NotServed, field: "spec.oauth2.jwt"},
	} {
		_, found := checked(t, doc("gateway.kgateway.dev/v1alpha1", "GatewayExtension", "spec: "+c.spec))
		if c.code == "" && len(found) > 0 || c.code != "" && (len(found) != 1 || found[0].Code != c.code || found[0].Field != c.field) {
			t.Errorf("%s\n\twant %s at %s, got %+v", c.spec, c.code, c.field, found)
		}
	}
}
