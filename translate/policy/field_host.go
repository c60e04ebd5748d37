package policy

import (
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

func autoHostRewrite() Field {
	return single[bool]{
		name: "autoHostRewrite",
		get:  func(s *api.TrafficPolicySpec) *bool { return s.AutoHostRewrite },
		put:  func(s *api.TrafficPolicySpec, auto *bool) { s.AutoHostRewrite = auto },
		lower: func(from *bool, extras *ir.Extras) []manifest.Problem {
			extras.AutoHost = *from
			return nil
		},
	}
}
