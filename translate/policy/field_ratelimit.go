package policy

import (
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

func localRateLimit() Field {
	return partOfRateLimit("rateLimit.local", func(r *api.RateLimit) **api.LocalRateLimit { return &r.Local }, lowerLocalRateLimit)
}

func globalRateLimit() Field {
	return partOfRateLimit(globalLimit, func(r *api.RateLimit) **api.GlobalRateLimit { return &r.Global }, lowerGlobalRateLimit)
}

// globalLimit is the name of the field.
const globalLimit = "rateLimit.global"

// partOfRateLimit is a field that counts apart from other parts of rateLimit
// (docs/design/kgateway.md#attachment-and-merging-of-trafficpolicies).
func partOfRateLimit[T any](name string, part func(*api.RateLimit) **T, lower func(*T, *ir.Extras) []manifest.Problem) Field {
	return single[T]{
		name: name,
		get: func(s *api.TrafficPolicySpec) *T {
			if s.RateLimit == nil {
				return nil
			}
			return *part(s.RateLimit)
		},
		put: func(s *api.TrafficPolicySpec, value *T) {
			var copied api.RateLimit
			if s.RateLimit != nil {
				copied = *s.RateLimit
			}
			*part(&copied) = value
			s.RateLimit = &copied
		},
		lower: lower,
	}
}

// lowerLocalRateLimit gives no limit without a bucket: so a route below lifts
// the limit of one above.
func lowerLocalRateLimit(from *api.LocalRateLimit, extras *ir.Extras) []manifest.Problem {
	bucket := from.TokenBucket
	if bucket == nil {
		return nil
	}
	extras.RateLimit = &ir.RateLimit{
		Max: uint32(bucket.MaxTokens), Fill: number(bucket.TokensPerFill, 1), Interval: *api.ParseDuration(&bucket.FillInterval),
		Enabled: number(from.PercentEnabled, 100), Enforced: number(from.PercentEnforced, 100),
	}
	return nil
}

func lowerGlobalRateLimit(from *api.GlobalRateLimit, extras *ir.Extras) []manifest.Problem {
	to := &ir.GlobalLimit{ExtensionUse: extensionUse(globalLimit, &from.ExtensionRef)}
	for _, descriptor := range from.Descriptors {
		var entries []ir.LimitEntry
		for _, entry := range descriptor.Entries {
			entries = append(entries, limitEntry(entry))
		}
		to.Descriptors = append(to.Descriptors, entries)
	}
	extras.GlobalLimit = to
	return nil
}

// limitEntry takes the keys of kgateway, so that its services find their limits.
func limitEntry(from api.RateLimitEntry) ir.LimitEntry {
	switch from.Type {
	case api.EntryGeneric:
		return ir.LimitEntry{Key: from.Generic.Key, Value: from.Generic.Value}
	case api.EntryHeader:
		return ir.LimitEntry{Key: *from.Header, Header: *from.Header}
	case api.EntryPath:
		return ir.LimitEntry{Key: "path", Header: ":path"}
	}
	return ir.LimitEntry{Address: true}
}
