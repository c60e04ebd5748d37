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
	// leastBackoff is the finest wait that Envoy knows.
	leastBackoff = time.Millisecond
	// backoffGrowth limits the exponential wait between retries.
	backoffGrowth = 10
	// longestBackoff stays below the longest duration that Envoy takes, 292 years,
	// and above any that passes the schema.
	longestBackoff = 100 * 365 * 24 * time.Hour
	// hostSelections is how often a retry looks for an endpoint that has not failed.
	hostSelections = 5
)

func retryPolicy(action *ir.Action) *routev3.RetryPolicy {
	retry := action.Retry
	if retry == nil {
		return nil
	}
	policy := &routev3.RetryPolicy{
		RetryOn:              strings.Join(retryConditions(retry), ","),
		RetriableStatusCodes: retry.Codes,
		NumRetries:           wrapperspb.UInt32(retry.Attempts),
		// An attempt goes where none has failed before, if such an endpoint is
		// found: the one that is dead must not eat up all of them.
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

// retryConditions returns the retry conditions. The default are failures before a backend answers.
// Status codes need a condition of their own.
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
