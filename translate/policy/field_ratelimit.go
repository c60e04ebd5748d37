package policy

import (
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/translate/ir"
)

// localRateLimit counts apart from other parts of rateLimit (delegation notes,
// section 10).
func localRateLimit() Field {
	return single[api.LocalRateLimit]{
		name: "rateLimit.local",
		get: func(s *api.TrafficPolicySpec) *api.LocalRateLimit {
			if s.RateLimit == nil {
				return nil
			}
			return s.RateLimit.Local
		},
		put: func(s *api.TrafficPolicySpec, local *api.LocalRateLimit) {
			var copied api.RateLimit
			if s.RateLimit != nil {
				copied = *s.RateLimit
			}
			copied.Local = local
			s.RateLimit = &copied
		},
		lower: lowerLocalRateLimit,
	}
}

// lowerLocalRateLimit gives no limit without a bucket: so a route below lifts
// the limit of one above.
func lowerLocalRateLimit(from *api.LocalRateLimit, extras *ir.Extras) []store.Problem {
	bucket := from.TokenBucket
	if bucket == nil {
		return nil
	}
	extras.RateLimit = &ir.RateLimit{
		Max: uint32(bucket.MaxTokens), Fill: number(bucket.TokensPerFill, 1), Interval: *api.Duration(&bucket.FillInterval),
		Enabled: number(from.PercentEnabled, 100), Enforced: number(from.PercentEnforced, 100),
	}
	return nil
}
