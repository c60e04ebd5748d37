package policy

import (
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
	"github.com/gatefold/gatefold/translate/ir"
)

// lowerHashPolicies converts the policy field hashPolicies (see Field.lower). kgateway moved the field to the load
// balancers of BackendConfigPolicy.
func lowerHashPolicies(from *api.TrafficPolicySpec, extras *ir.Extras) []manifest.Problem {
	extras.Hash = Hashes(from.HashPolicies)
	return []manifest.Problem{{
		Code: schema.DeprecatedField, Severity: manifest.Warning, Field: ir.FieldHashPolicies.Path(),
		Message: "hashPolicies works here, but kgateway has moved it: no cluster with kgateway accepts this policy",
		Hint:    "move it to spec.loadBalancer.ringHash or spec.loadBalancer.maglev of a BackendConfigPolicy for the backends",
	}}
}

// Hashes converts the hashPolicies of a TrafficPolicy or BackendConfigPolicy. It returns nil for an empty list.
func Hashes(from []api.HashPolicy) (out []ir.Hash) {
	for _, source := range from {
		hash := ir.Hash{SourceIP: source.SourceIP != nil, Terminal: isTrue(source.Terminal)}
		if source.Header != nil {
			hash.Header = source.Header.Name
		}
		if c := source.Cookie; c != nil {
			hash.Cookie = &ir.HashCookie{
				Name: c.Name, Path: api.Text(c.Path), TTL: api.ParseDuration(c.TTL),
				Secure: isTrue(c.Secure), HTTPOnly: isTrue(c.HTTPOnly), SameSite: api.Text(c.SameSite),
			}
		}
		out = append(out, hash)
	}
	return out
}
