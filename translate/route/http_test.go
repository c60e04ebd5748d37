package route

import (
	"math"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// A number of attempts beyond Envoy's does not wrap round to few.
func TestAttemptsDoNotWrap(t *testing.T) {
	for attempts, want := range map[int]uint32{-1: 0, 0: 0, 3: 3, math.MaxUint32 + 1: math.MaxUint32} {
		if got := httpRetry(&gwv1.HTTPRouteRetry{Attempts: &attempts}).Attempts; got != want {
			t.Errorf("%d attempts become %d, want %d", attempts, got, want)
		}
	}
}
