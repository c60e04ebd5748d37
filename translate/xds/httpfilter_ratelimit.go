package xds

import (
	limitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatefold/gatefold/translate/ir"
)

// limitStat is the prefix of the counters of localRateLimitFilter.
const limitStat = "http_local_rate_limiter"

// localRateLimitFilter returns the HTTP filter for the policy field rateLimit.local.
func localRateLimitFilter() httpFilter {
	return httpFilter{name: "envoy.filters.http.local_ratelimit", chain: noLimit, route: tokenBucket}
}

// noLimit returns the configuration of localRateLimitFilter in the filter chain of the listener. With it, the filter
// limits nothing.
func noLimit() message { return &limitv3.LocalRateLimit{StatPrefix: limitStat} }

// tokenBucket returns the configuration of localRateLimitFilter, or nil without a limit.
func tokenBucket(extras *ir.Extras) message {
	limit := extras.RateLimit
	if limit == nil {
		return nil
	}
	return &limitv3.LocalRateLimit{
		StatPrefix: limitStat,
		TokenBucket: &typev3.TokenBucket{
			MaxTokens: limit.Max, TokensPerFill: wrapperspb.UInt32(limit.Fill), FillInterval: durationpb.New(limit.Interval),
		},
		FilterEnabled:  percentage(limit.Enabled),
		FilterEnforced: percentage(limit.Enforced),
	}
}
