package xds

import (
	"slices"
	"strings"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	previoushostsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/previous_hosts/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatefold/gatefold/translate/ir"
)

const (
	// leastBackoff is the shortest wait that Envoy supports.
	leastBackoff = time.Millisecond
	// backoffGrowth is the ratio of the longest wait before any retry to the longest wait before the first retry.
	backoffGrowth = 10
	// longestBackoff is below the longest duration that Envoy accepts, 292 years, and above any duration that the
	// schema accepts.
	longestBackoff = 100 * 365 * 24 * time.Hour
	// hostSelections is how often Envoy selects an endpoint for a retry, at most, to find one that has not failed.
	hostSelections = 5
)

// retryPolicy returns the retries of an action in Envoy's form, or nil if the action has no Retry. The limit for one
// attempt is BackendTimeout if that is above 0, and Retry.PerTry in all other cases.
func retryPolicy(action *ir.Action) *routev3.RetryPolicy {
	retry := action.Retry
	if retry == nil {
		return nil
	}
	policy := &routev3.RetryPolicy{
		RetryOn:              strings.Join(retryConditions(retry), ","),
		RetriableStatusCodes: retry.Codes,
		NumRetries:           wrapperspb.UInt32(retry.Attempts),
		// Envoy sends a retry to an endpoint that has not failed before, if it finds one. So one dead endpoint does
		// not use up all attempts.
		RetryHostPredicate: []*routev3.RetryPolicy_RetryHostPredicate{{
			Name:       "envoy.retry_host_predicates.previous_hosts",
			ConfigType: &routev3.RetryPolicy_RetryHostPredicate_TypedConfig{TypedConfig: pack(&previoushostsv3.PreviousHostsPredicate{})},
		}},
		HostSelectionRetryMaxAttempts: hostSelections,
	}
	if action.BackendTimeout != nil && *action.BackendTimeout > 0 {
		policy.PerTryTimeout = durationpb.New(*action.BackendTimeout)
	} else if retry.PerTry > 0 {
		policy.PerTryTimeout = durationpb.New(retry.PerTry)
	}
	if retry.Backoff > 0 {
		base := max(retry.Backoff, leastBackoff)
		policy.RetryBackOff = &routev3.RetryPolicy_RetryBackOff{
			BaseInterval: durationpb.New(base),
			MaxInterval:  durationpb.New(min(base, longestBackoff/backoffGrowth) * backoffGrowth),
		}
	}
	return policy
}

// retryConditions returns the conditions under which Envoy retries a request. They are those in retry.On or, if there
// are none, failures before a backend answers. If there are retry.Codes, a condition for these status codes is added.
func retryConditions(retry *ir.Retry) []string {
	const byCode = "retriable-status-codes"
	conditions := slices.Clone(retry.On)
	if len(conditions) == 0 {
		conditions = []string{"connect-failure", "refused-stream", "reset"}
	}
	if len(retry.Codes) > 0 && !slices.Contains(conditions, byCode) {
		conditions = append(conditions, byCode)
	}
	return conditions
}
