package api

import (
	"fmt"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Duration parses a Gateway API duration (GEP-2257), a subset of Go's, that passed
// the schema; nil gives nil.
func Duration(d *gwv1.Duration) *time.Duration {
	if d == nil {
		return nil
	}
	parsed, err := time.ParseDuration(string(*d))
	if err != nil {
		panic(fmt.Sprintf("api: duration %q passed the schema: %v", *d, err))
	}
	return &parsed
}
