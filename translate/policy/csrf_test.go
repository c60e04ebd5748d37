package policy

import (
	"testing"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/translate/ir"
)

// TestCSRFOff compares csrfOff with what lowerCSRF sends: csrf is off if Envoy rejects no request.
func TestCSRFOff(t *testing.T) {
	of := func(percent api.Percentage) *api.Percentage { return &percent }
	for _, csrf := range []api.CSRF{
		{},
		{PercentageEnabled: of(0)},
		{PercentageEnabled: of(1)},
		{PercentageEnabled: of(100)},
		{PercentageShadowed: of(0)},
		{PercentageShadowed: of(100)},
	} {
		spec := api.TrafficPolicySpec{CSRF: &csrf}
		var extras ir.Extras
		lowerCSRF(&spec, &extras)
		if off := csrfOff(&spec); off != (extras.CSRF.Enabled == 0) {
			t.Errorf("csrfOff is %v, and Envoy checks %d%% of the requests", off, extras.CSRF.Enabled)
		}
	}
}
