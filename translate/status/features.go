package status

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"
)

// Features are what a GatewayClass of ours says to support (docs/design/status.md),
// sorted. A feature stands here when a case proves it.
func Features() []gwv1.SupportedFeature {
	var out []gwv1.SupportedFeature
	for _, name := range []features.FeatureName{
		features.SupportBackendTLSPolicy,
		features.SupportBackendTLSPolicySANValidation,
		features.SupportGRPCRoute,
		features.SupportGRPCRouteNamedRouteRule,
		features.SupportGateway,
		features.SupportGatewayAddressEmpty,
		features.SupportGatewayBackendClientCertificate,
		features.SupportGatewayFrontendClientCertificateValidation,
		features.SupportGatewayFrontendClientCertificateValidationInsecureFallback,
		features.SupportGatewayHTTPListenerIsolation,
		features.SupportGatewayHTTPSListenerDetectMisdirectedRequests,
		features.SupportGatewayPort8080,
		features.SupportGatewayStaticAddresses,
		features.SupportHTTPRoute,
		features.SupportHTTPRoute303RedirectStatusCode,
		features.SupportHTTPRoute307RedirectStatusCode,
		features.SupportHTTPRoute308RedirectStatusCode,
		features.SupportHTTPRouteBackendProtocolH2C,
		features.SupportHTTPRouteBackendProtocolWebSocket,
		features.SupportHTTPRouteBackendRequestHeaderModification,
		features.SupportHTTPRouteBackendTimeout,
		features.SupportHTTPRouteCORS,
		features.SupportHTTPRouteDestinationPortMatching,
		features.SupportHTTPRouteHostRewrite,
		features.SupportHTTPRouteMethodMatching,
		features.SupportHTTPRouteNamedRouteRule,
		features.SupportHTTPRouteParentRefPort,
		features.SupportHTTPRoutePathRedirect,
		features.SupportHTTPRoutePathRewrite,
		features.SupportHTTPRoutePortRedirect,
		features.SupportHTTPRouteQueryParamMatching,
		features.SupportHTTPRouteRequestMirror,
		features.SupportHTTPRouteRequestMultipleMirrors,
		features.SupportHTTPRouteRequestPercentageMirror,
		features.SupportHTTPRouteRequestTimeout,
		features.SupportHTTPRouteResponseHeaderModification,
		features.SupportHTTPRouteRetry,
		features.SupportHTTPRouteRetryBackendTimeout,
		features.SupportHTTPRouteRetryConnectionError,
		features.SupportHTTPRouteSchemeRedirect,
		features.SupportListenerSet,
		features.SupportReferenceGrant,
		features.SupportTCPRoute,
		features.SupportTLSRoute,
		features.SupportTLSRouteModeMixed,
		features.SupportTLSRouteModeTerminate,
		features.SupportUDPRoute,
	} {
		out = append(out, gwv1.SupportedFeature{Name: gwv1.FeatureName(name)})
	}
	return out
}
