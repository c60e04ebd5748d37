package policy

import (
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

func buffer() Field {
	return single[api.Buffer]{
		name: "buffer",
		get:  func(s *api.TrafficPolicySpec) *api.Buffer { return s.Buffer },
		put:  func(s *api.TrafficPolicySpec, buffer *api.Buffer) { s.Buffer = buffer },
		lower: func(from *api.Buffer, extras *ir.Extras) []manifest.Problem {
			if from.MaxRequestSize != nil { // from 1 to 4 GiB - 1, by the schema
				extras.BufferBytes = uint32(from.MaxRequestSize.Value())
			}
			return nil
		},
	}
}
