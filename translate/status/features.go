package status

import (
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatefold/gatefold/translate/route"
)

// Features returns the supportedFeatures of a GatewayClass, sorted (docs/design/status.md). The features of
// filters, timeouts and retry come from package route. A feature is listed only if a test case proves it.
func Features() []gwv1.SupportedFeature {
	names := append(route.Features(), []features.FeatureName{
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
		features.SupportHTTPRouteBackendProtocolH2C,
		features.SupportHTTPRouteBackendProtocolWebSocket,
		features.SupportHTTPRouteDestinationPortMatching,
		features.SupportHTTPRouteMethodMatching,
		features.SupportHTTPRouteNamedRouteRule,
		features.SupportHTTPRouteParentRefPort,
		features.SupportHTTPRouteQueryParamMatching,
		features.SupportListenerSet,
		features.SupportReferenceGrant,
		features.SupportTCPRoute,
		features.SupportTLSRoute,
		features.SupportTLSRouteModeMixed,
		features.SupportTLSRouteModeTerminate,
		features.SupportUDPRoute,
	}...)
	slices.Sort(names)
	var out []gwv1.SupportedFeature
	for _, name := range names {
		out = append(out, gwv1.SupportedFeature{Name: gwv1.FeatureName(name)})
	}
	return out
}
