package policy

import (
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// rateLimit.local and rateLimit.global are merged as two fields
// (docs/design/kgateway.md#attachment-and-merging-of-trafficpolicies).

// takeLocalRateLimit copies rateLimit.local from one spec to another (see Field.take).
func takeLocalRateLimit(into, from *api.TrafficPolicySpec) {
	limits := rateLimits(into)
	limits.Local = from.RateLimit.Local
	into.RateLimit = &limits
}

// takeGlobalRateLimit copies rateLimit.global from one spec to another (see Field.take).
func takeGlobalRateLimit(into, from *api.TrafficPolicySpec) {
	limits := rateLimits(into)
	limits.Global = from.RateLimit.Global
	into.RateLimit = &limits
}

// rateLimits returns a copy of the spec's rateLimit, or an empty one if the spec has none.
func rateLimits(spec *api.TrafficPolicySpec) api.RateLimit {
	if spec.RateLimit == nil {
		return api.RateLimit{}
	}
	return *spec.RateLimit
}

// localRateLimitOff reports whether the spec sets rateLimit.local without a token bucket, and so without a limit. A
// policy of a child route does this to remove the limit of a parent route. The spec must have rateLimit.local.
func localRateLimitOff(s *api.TrafficPolicySpec) bool { return s.RateLimit.Local.TokenBucket == nil }

// lowerLocalRateLimit converts the policy field rateLimit.local (see Field.lower).
func lowerLocalRateLimit(spec *api.TrafficPolicySpec, extras *ir.Extras) []manifest.Problem {
	if localRateLimitOff(spec) {
		return nil
	}
	from, bucket := spec.RateLimit.Local, spec.RateLimit.Local.TokenBucket
	extras.RateLimit = &ir.RateLimit{
		Max: uint32(bucket.MaxTokens), Fill: number(bucket.TokensPerFill, 1), Interval: *api.ParseDuration(&bucket.FillInterval),
		Enabled: number(from.PercentEnabled, 100), Enforced: number(from.PercentEnforced, 100),
	}
	return nil
}

// globalRateLimitIn sets the namespace of references in the policy field rateLimit.global (see
// Field.inNamespace).
func globalRateLimitIn(spec *api.TrafficPolicySpec, namespace string) {
	limits, global := rateLimits(spec), *spec.RateLimit.Global
	global.ExtensionRef = *global.ExtensionRef.In(namespace)
	limits.Global = &global
	spec.RateLimit = &limits
}

// lowerGlobalRateLimit converts the policy field rateLimit.global (see Field.lower).
func lowerGlobalRateLimit(spec *api.TrafficPolicySpec, extras *ir.Extras) []manifest.Problem {
	from := spec.RateLimit.Global
	to := &ir.GlobalLimit{ExtensionUse: extensionUse(ir.FieldGlobalRateLimit, &from.ExtensionRef)}
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

// limitEntry converts an entry of a descriptor. The keys are those of kgateway, so that rate limit services for
// kgateway find their limits.
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
