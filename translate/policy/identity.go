package policy

import (
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// IdentityHeaders returns the identity headers (ir.Identity) that a TrafficPolicy writes, sorted by name, whether or
// not the policy can be used. Namespaces must be filled in (WithNamespace). The parameter headersOf returns the names
// of the headers that a GatewayExtension writes (ExtensionHeaders).
func IdentityHeaders(spec *api.TrafficPolicySpec, headersOf func(manifest.Key) []string) (out []ir.Identity) {
	if spec.APIKeyAuth != nil && spec.APIKeyAuth.ClientIDHeader != nil {
		out = Identities(ir.FieldAPIKeyAuth.Path()+".clientIdHeader", *spec.APIKeyAuth.ClientIDHeader)
	}
	for _, use := range extensionUses(spec) {
		out = append(out, Identities(use.Field.Path()+".extensionRef", headersOf(use.Key)...)...)
	}
	slices.SortStableFunc(out, func(a, b ir.Identity) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(out, func(a, b ir.Identity) bool { return a.Name == b.Name })
}

// extensionUses returns the references to the GatewayExtensions whose identity headers a TrafficPolicy writes.
// Namespaces must be filled in (WithNamespace).
func extensionUses(spec *api.TrafficPolicySpec) (uses []ir.ExtensionUse) {
	if spec.ExtAuth != nil && spec.ExtAuth.ExtensionRef != nil {
		uses = append(uses, extensionUse(ir.FieldExtAuth, spec.ExtAuth.ExtensionRef))
	}
	if spec.JWTAuth != nil && spec.JWTAuth.ExtensionRef != nil {
		uses = append(uses, extensionUse(ir.FieldJWTAuth, spec.JWTAuth.ExtensionRef))
	}
	return uses
}

// ExtensionHeaders returns the names of the identity headers that a GatewayExtension writes, in lower case, whether
// or not it can be used: those of claimsToHeaders, and those of headersToBackend that the service does not read from
// the client.
func ExtensionHeaders(spec *api.GatewayExtensionSpec) (names []string) {
	if spec.JWT != nil {
		for _, p := range spec.JWT.Providers {
			for _, claim := range p.ClaimsToHeaders {
				names = append(names, strings.ToLower(claim.Header))
			}
		}
	}
	if auth := spec.ExtAuth; auth != nil && auth.HTTPService != nil && auth.HTTPService.AuthorizationResponse != nil {
		received := HeaderNames(auth.HeadersToForward)
		for _, name := range HeaderNames(auth.HTTPService.AuthorizationResponse.HeadersToBackend) {
			if !slices.Contains(received, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Identities returns the headers that count as identity headers (ir.IdentityName), sorted, each once. The parameter
// field is the path of the field that writes them.
func Identities(field string, headers ...string) (out []ir.Identity) {
	for _, header := range headers {
		if name, ok := ir.IdentityName(header); ok {
			out = append(out, ir.Identity{Name: name, Field: field})
		}
	}
	slices.SortFunc(out, func(a, b ir.Identity) int { return strings.Compare(a.Name, b.Name) })
	return slices.Compact(out)
}
