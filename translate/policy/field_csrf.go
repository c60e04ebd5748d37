package policy

import (
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// csrfOff reports whether csrf rejects no request: percentageEnabled is 0, or percentageShadowed is set.
func csrfOff(s *api.TrafficPolicySpec) bool {
	return s.CSRF.PercentageShadowed != nil || number(s.CSRF.PercentageEnabled, 100) == 0
}

// lowerCSRF converts the policy field csrf (see Field.lower). Without a percentage, Envoy checks every request.
// With percentageShadowed, Envoy rejects no request.
func lowerCSRF(spec *api.TrafficPolicySpec, extras *ir.Extras) []manifest.Problem {
	from := spec.CSRF
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

// stringMatch converts a comparison of texts. The schema allows only one kind of comparison to be set.
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
