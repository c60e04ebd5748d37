package policy

import (
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

func extAuth() Field {
	return single[api.ExtAuth]{
		name: "extAuth",
		get:  func(s *api.TrafficPolicySpec) *api.ExtAuth { return s.ExtAuth },
		put:  func(s *api.TrafficPolicySpec, auth *api.ExtAuth) { s.ExtAuth = auth },
		lower: func(from *api.ExtAuth, extras *ir.Extras) []manifest.Problem {
			if from.ExtensionRef != nil {
				extras.ExtAuth = &ir.ExtAuth{
					ExtensionUse: extensionUse("extAuth", from.ExtensionRef),
					Body:         requestBody(from.WithRequestBody), Context: from.ContextExtensions,
				}
			}
			return nil
		},
	}
}

func extProc() Field {
	return single[api.ExtProc]{
		name: "extProc",
		get:  func(s *api.TrafficPolicySpec) *api.ExtProc { return s.ExtProc },
		put:  func(s *api.TrafficPolicySpec, proc *api.ExtProc) { s.ExtProc = proc },
		lower: func(from *api.ExtProc, extras *ir.Extras) []manifest.Problem {
			if from.ExtensionRef != nil {
				extras.ExtProc = &ir.ExtProc{
					ExtensionUse: extensionUse("extProc", from.ExtensionRef), Mode: processingMode(from.ProcessingMode),
				}
			}
			return nil
		},
	}
}

// extensionUse wants a reference of a policy from WithNamespace.
func extensionUse(field string, ref *api.ExtensionRef) ir.ExtensionUse {
	return ir.ExtensionUse{Field: field, Key: manifest.Key{
		Group: api.Group, Kind: api.KindGatewayExtension, Namespace: string(*ref.Namespace), Name: string(ref.Name),
	}}
}

func requestBody(from *api.RequestBody) *ir.RequestBody {
	if from == nil {
		return nil
	}
	return &ir.RequestBody{Max: uint32(from.MaxRequestBytes), Partial: from.AllowPartialMessage, Bytes: from.PackAsBytes}
}

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

// WithNamespace fills in the policy's namespace where references to GatewayExtensions
// have none: a merge takes them out of their policy.
func WithNamespace(from *api.TrafficPolicySpec, namespace string) *api.TrafficPolicySpec {
	spec := *from
	if from.ExtAuth != nil && from.ExtAuth.ExtensionRef != nil {
		auth := *from.ExtAuth
		auth.ExtensionRef = auth.ExtensionRef.In(namespace)
		spec.ExtAuth = &auth
	}
	if from.ExtProc != nil && from.ExtProc.ExtensionRef != nil {
		proc := *from.ExtProc
		proc.ExtensionRef = proc.ExtensionRef.In(namespace)
		spec.ExtProc = &proc
	}
	if from.RateLimit != nil && from.RateLimit.Global != nil {
		global := *from.RateLimit.Global
		global.ExtensionRef = *global.ExtensionRef.In(namespace)
		spec.RateLimit = &api.RateLimit{Local: from.RateLimit.Local, Global: &global}
	}
	return &spec
}
