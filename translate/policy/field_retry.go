package policy

import (
	"slices"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// lowerRetry converts the policy field retry (see Field.lower). If retry.retryOn is not set, Envoy retries only after
// a response with one of retry.statusCodes.
func lowerRetry(spec *api.TrafficPolicySpec, extras *ir.Extras) []manifest.Problem {
	from := spec.Retry
	to := &ir.Retry{On: slices.Clone(from.RetryOn), Attempts: number(from.Attempts, 1)}
	slices.Sort(to.On)
	to.On = slices.Compact(to.On)
	if len(to.On) == 0 {
		to.On = []string{"retriable-status-codes"}
	}
	for _, code := range from.StatusCodes {
		to.Codes = append(to.Codes, uint32(code))
	}
	slices.Sort(to.Codes)
	to.Codes = slices.Compact(to.Codes)
	if backoff := api.ParseDuration(from.BackoffBaseInterval); backoff != nil {
		to.Backoff = *backoff
	}
	if try := api.ParseDuration(from.PerTryTimeout); try != nil {
		to.PerTry = *try
	}
	extras.Retry = to
	return nil
}
