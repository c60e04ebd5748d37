package translate

import (
	"crypto/sha256"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// Closed returns a copy of an HTTPRoute or GRPCRoute. The rules of the copy have only names and matches, and no
// filters or backends. So the copy gets the same requests as the route, and answers them with 500 (a GRPCRoute
// with UNAVAILABLE). Closed returns nil for other kinds.
func Closed(o *manifest.Object) *manifest.Object {
	out := &manifest.Object{Key: o.Key, Hash: sha256.Sum256(append([]byte("closed "), o.Hash[:]...))}
	switch from := o.Value.(type) {
	case *api.HTTPRoute:
		r := *from
		r.Spec.Rules = make([]api.HTTPRouteRule, len(from.Spec.Rules))
		for i, rule := range from.Spec.Rules {
			r.Spec.Rules[i].Name, r.Spec.Rules[i].Matches = rule.Name, rule.Matches
		}
		out.Value = &r
	case *gwv1.GRPCRoute:
		r := *from
		r.Spec.Rules = make([]gwv1.GRPCRouteRule, len(from.Spec.Rules))
		for i, rule := range from.Spec.Rules {
			r.Spec.Rules[i].Name, r.Spec.Rules[i].Matches = rule.Name, rule.Matches
		}
		out.Value = &r
	default:
		return nil
	}
	return out
}
