package policy

import (
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

func timeouts() Field {
	return single[api.Timeouts]{
		name: "timeouts",
		get:  func(s *api.TrafficPolicySpec) *api.Timeouts { return s.Timeouts },
		put:  func(s *api.TrafficPolicySpec, timeouts *api.Timeouts) { s.Timeouts = timeouts },
		lower: func(from *api.Timeouts, extras *ir.Extras) []manifest.Problem {
			extras.RequestTimeout = api.ParseDuration(from.Request)
			extras.IdleTimeout = api.ParseDuration(from.StreamIdle)
			return nil
		},
	}
}
