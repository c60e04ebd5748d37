package policy

import (
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// lowerHashPolicies converts the policy field hashPolicies (see Field.lower).
func lowerHashPolicies(from *api.TrafficPolicySpec, extras *ir.Extras) []manifest.Problem {
	for _, source := range from.HashPolicies {
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
		extras.Hash = append(extras.Hash, hash)
	}
	return nil
}
