package policy

import (
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

func csrf() Field {
	return single[api.CSRF]{
		name:  "csrf",
		get:   func(s *api.TrafficPolicySpec) *api.CSRF { return s.CSRF },
		put:   func(s *api.TrafficPolicySpec, csrf *api.CSRF) { s.CSRF = csrf },
		lower: lowerCSRF,
	}
}

// lowerCSRF protects every request unless a percentage says otherwise; a policy
// that is shadowed refuses none.
func lowerCSRF(from *api.CSRF, extras *ir.Extras) []manifest.Problem {
	to := &ir.CSRF{Enabled: number(from.PercentageEnabled, 100)}
	if from.PercentageShadowed != nil {
		to.Enabled, to.Shadowed = 0, uint32(*from.PercentageShadowed)
	}
	for _, origin := range from.AdditionalOrigins {
		to.Origins = append(to.Origins, stringMatch(origin))
	}
	extras.CSRF = to
	return nil
}

// stringMatch takes the one way that the schema has let through.
func stringMatch(from api.StringMatch) ir.StringMatch {
	to := ir.StringMatch{IgnoreCase: isTrue(from.IgnoreCase)}
	for kind, value := range []*string{
		ir.StringExact: from.Exact, ir.StringPrefix: from.Prefix, ir.StringSuffix: from.Suffix,
		ir.StringContains: from.Contains, ir.StringRegex: from.SafeRegex,
	} {
		if value != nil {
			to.Kind, to.Value = ir.StringKind(kind), *value
		}
	}
	return to
}
