package policy

import (
	"fmt"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// ForStreams reports whether a field of policies applies to TCP and TLS connections and to UDP datagrams, and not
// only to HTTP requests. It returns false for an unknown field.
func ForStreams(name ir.Field) bool {
	for _, field := range Fields() {
		if field.Name == name {
			return field.streams
		}
	}
	return false
}

// SetsForStreams reports whether a spec sets a field that applies to connections and datagrams.
func SetsForStreams(spec *api.TrafficPolicySpec) bool {
	for _, field := range Fields() {
		if field.streams && field.has(spec) {
			return true
		}
	}
	return false
}

// Unchecked returns the fields that a spec sets to protect backends from requests, and that have no effect on
// connections and datagrams.
func Unchecked(spec *api.TrafficPolicySpec) (out []ir.Field) {
	for _, field := range Fields() {
		if !field.streams && field.has(spec) && field.protects.off != nil && !field.protects.silent && !field.protects.off(spec) {
			out = append(out, field.Name)
		}
	}
	return out
}

// CheckStreams returns the problems of a policy that targets a TCPRoute, TLSRoute or UDPRoute. The parameter kind is
// the kind of the route. A field that does not apply to connections and datagrams is an error, so that the target
// fails closed instead of being unprotected. A denyResponse of the field acl, which has no effect, is a warning.
func CheckStreams(spec *api.TrafficPolicySpec, kind string) (problems []manifest.Problem) {
	for _, name := range SetFields(spec) {
		if !ForStreams(name) {
			problems = append(problems, manifest.Problem{
				Code: "UnsupportedValue", Severity: manifest.Error, Field: name.Path(),
				Message: fmt.Sprintf("a policy for a %s can have acl alone: Envoy sees connections there, and no requests", kind),
				Hint:    "move the field into a policy for HTTPRoutes or GRPCRoutes",
			})
		}
	}
	if spec.ACL != nil && spec.ACL.DenyResponse != nil {
		problems = append(problems, warning(ir.FieldACL.Path()+".denyResponse",
			fmt.Sprintf("a %s has no responses: what is denied is closed or dropped", kind), "remove it, or keep it for the other targets"))
	}
	return problems
}
