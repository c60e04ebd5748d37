package translate_test

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/translate/status"
)

// provedBy names for each feature a case, and what of it stands there.
func provedBy() map[gwv1.FeatureName][2]string {
	return map[gwv1.FeatureName][2]string{
		"BackendTLSPolicy":              {"backend-tls", "caCertificateRefs"},
		"BackendTLSPolicySANValidation": {"backend-tls", "subjectAltNames"},
		"GRPCRoute":                     {"grpc-match", "service: shop.Cart"},
		"GRPCRouteNamedRouteRule":       {"grpc-filters", "name: policed"},
		"Gateway":                       {"https", "protocol: HTTPS"},
		"GatewayStaticAddresses":        {"address-pool", "[{value: 127.9.200.3}]"},
		"GatewayAddressEmpty":           {"address-pool", "[{type: IPAddress}]"},
		"ListenerSet":                   {"listener-sets", "kind: ListenerSet"},
		"GatewayFrontendClientCertificateValidation":                 {"frontend-clients", "perPort"},
		"GatewayBackendClientCertificate":                            {"backend-client", "clientCertificateRef"},
		"GatewayFrontendClientCertificateValidationInsecureFallback": {"frontend-clients", "AllowInsecureFallback"},
		"GatewayHTTPSListenerDetectMisdirectedRequests":              {"https", "-> 421"},
		"ReferenceGrant":                            {"https-certificates", "kind: ReferenceGrant"},
		"GatewayHTTPListenerIsolation":              {"listener-isolation", "hostname:"},
		"GatewayPort8080":                           {"hostnames", "8080"},
		"HTTPRoute":                                 {"path-precedence", "PathPrefix"},
		"HTTPRoute303RedirectStatusCode":            {"filter-redirect", "statusCode: 303"},
		"HTTPRoute307RedirectStatusCode":            {"filter-redirect", "statusCode: 307"},
		"HTTPRoute308RedirectStatusCode":            {"filter-redirect", "statusCode: 308"},
		"HTTPRouteBackendRequestHeaderModification": {"filter-request-headers", "      filters:"},
		"HTTPRouteBackendTimeout":                   {"timeouts-and-retries", "backendRequest:"},
		"HTTPRouteBackendProtocolH2C":               {"backend-protocols", "protocol HTTP/2.0"},
		"HTTPRouteBackendProtocolWebSocket":         {"backend-protocols", "status 101"},
		"HTTPRouteRetryBackendTimeout":              {"retry-causes", "delay=50s&times=2"},
		"HTTPRouteRetryConnectionError":             {"retry-causes", "/connect -> half"},
		"HTTPRouteCORS":                             {"filter-cors", "type: CORS"},
		"HTTPRouteDestinationPortMatching":          {"parent-refs", "port: 8099"},
		"HTTPRouteHostRewrite":                      {"filter-rewrite", "hostname:"},
		"HTTPRouteMethodMatching":                   {"match-method", "method:"},
		"HTTPRouteNamedRouteRule":                   {"rule-names", "name: named-rule"},
		"HTTPRouteParentRefPort":                    {"parent-refs", "port: 8081"},
		"HTTPRoutePathRedirect":                     {"filter-redirect-prefix", "ReplacePrefixMatch"},
		"HTTPRoutePathRewrite":                      {"filter-rewrite-prefix", "ReplacePrefixMatch"},
		"HTTPRoutePortRedirect":                     {"filter-redirect", "port: 9000"},
		"HTTPRouteQueryParamMatching":               {"match-query", "queryParams"},
		"HTTPRouteRequestMirror":                    {"filter-mirror", "requestMirror"},
		"HTTPRouteRequestMultipleMirrors":           {"filter-mirror-share", "mirror one | mirror two"},
		"HTTPRouteRequestPercentageMirror":          {"filter-mirror-share", "mirror one=50"},
		"HTTPRouteRequestTimeout":                   {"timeouts-and-retries", "request:"},
		"HTTPRouteResponseHeaderModification":       {"filter-response-headers", "responseHeaderModifier"},
		"HTTPRouteRetry":                            {"timeouts-and-retries", "attempts:"},
		"TCPRoute":                                  {"stream-tcp", "a=3 b=1"},
		"TLSRoute":                                  {"stream-tls", "mode: Passthrough"},
		"TLSRouteModeMixed":                         {"stream-tls", "tls://db.example.org:8443 -> plain"},
		"TLSRouteModeTerminate":                     {"stream-tls", "mode: Terminate"},
		"UDPRoute":                                  {"stream-udp", "a=2 b=1"},
		"HTTPRouteSchemeRedirect":                   {"filter-redirect", "scheme: https"},
	}
}

// What a GatewayClass says to support is proved by a case, and sorted as the
// Gateway API wants it.
func TestSupportedFeaturesAreProved(t *testing.T) {
	list, proofs := status.Features(), provedBy()
	if !slices.IsSortedFunc(list, func(a, b gwv1.SupportedFeature) int { return cmp.Compare(a.Name, b.Name) }) {
		t.Errorf("not sorted: %v", list)
	}
	for _, feature := range list {
		proof, ok := proofs[feature.Name]
		text, err := os.ReadFile(filepath.Join("testdata", proof[0]+".txtar"))
		if !ok || err != nil || !strings.Contains(string(text), proof[1]) {
			t.Errorf("no case proves %s: %v", feature.Name, err)
		}
	}
	if len(list) != len(proofs) {
		t.Errorf("%d features, %d proofs", len(list), len(proofs))
	}
}
