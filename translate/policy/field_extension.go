package policy

import (
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// extAuthOff reports whether the field turns authorization off.
func extAuthOff(s *api.TrafficPolicySpec) bool { return s.ExtAuth.Disable != nil }

// extAuthIn sets the namespace of references in the policy field extAuth (see Field.inNamespace).
func extAuthIn(spec *api.TrafficPolicySpec, namespace string) {
	auth := *spec.ExtAuth
	if auth.ExtensionRef != nil {
		auth.ExtensionRef = auth.ExtensionRef.In(namespace)
	}
	spec.ExtAuth = &auth
}

// lowerExtAuth converts the policy field extAuth (see Field.lower).
func lowerExtAuth(from *api.TrafficPolicySpec, extras *ir.Extras) []manifest.Problem {
	if auth := from.ExtAuth; auth.ExtensionRef != nil {
		extras.ExtAuth = &ir.ExtAuth{
			ExtensionUse: extensionUse(ir.FieldExtAuth, auth.ExtensionRef),
			Body:         requestBody(auth.WithRequestBody), Context: auth.ContextExtensions,
		}
	}
	return nil
}

// extProcOff reports whether the field turns the processing off.
func extProcOff(s *api.TrafficPolicySpec) bool { return s.ExtProc.Disable != nil }

// extProcIn sets the namespace of references in the policy field extProc (see Field.inNamespace).
func extProcIn(spec *api.TrafficPolicySpec, namespace string) {
	proc := *spec.ExtProc
	if proc.ExtensionRef != nil {
		proc.ExtensionRef = proc.ExtensionRef.In(namespace)
	}
	spec.ExtProc = &proc
}

// lowerExtProc converts the policy field extProc (see Field.lower).
func lowerExtProc(from *api.TrafficPolicySpec, extras *ir.Extras) []manifest.Problem {
	if proc := from.ExtProc; proc.ExtensionRef != nil {
		extras.ExtProc = &ir.ExtProc{
			ExtensionUse: extensionUse(ir.FieldExtProc, proc.ExtensionRef), Mode: processingMode(proc.ProcessingMode),
		}
	}
	return nil
}

// extensionUse returns an ir.ExtensionUse for a policy field that refers to a GatewayExtension. The parameter ref is
// the reference; it must have a namespace (see WithNamespace). The field Extension of the result is nil.
func extensionUse(field ir.Field, ref *api.ExtensionRef) ir.ExtensionUse {
	return ir.ExtensionUse{Field: field, Key: manifest.Key{
		Group: api.Group, Kind: api.KindGatewayExtension, Namespace: string(*ref.Namespace), Name: string(ref.Name),
	}}
}

// requestBody converts the settings for request bodies. nil stays nil.
func requestBody(from *api.RequestBody) *ir.RequestBody {
	if from == nil {
		return nil
	}
	return &ir.RequestBody{Max: uint32(from.MaxRequestBytes), Partial: from.AllowPartialMessage, Bytes: from.PackAsBytes}
}

// processingMode converts a mode of a processor. nil stays nil.
func processingMode(from *api.ProcessingMode) *ir.ProcessingMode {
	if from == nil {
		return nil
	}
	return &ir.ProcessingMode{
		RequestHeaders: from.RequestHeaderMode, ResponseHeaders: from.ResponseHeaderMode,
		RequestBody: from.RequestBodyMode, ResponseBody: from.ResponseBodyMode,
		RequestTrailers: from.RequestTrailerMode, ResponseTrailers: from.ResponseTrailerMode,
	}
}

// WithNamespace returns a copy of a policy's spec in which every reference to a GatewayExtension or Secret names a
// namespace. References without a namespace get the namespace of the policy (the parameter namespace). This is
// needed because a merged spec can have references from policies of several namespaces.
func WithNamespace(from *api.TrafficPolicySpec, namespace string) *api.TrafficPolicySpec {
	spec := *from
	for _, field := range Fields() {
		if field.inNamespace != nil && field.has(&spec) {
			field.inNamespace(&spec, namespace)
		}
	}
	return &spec
}
