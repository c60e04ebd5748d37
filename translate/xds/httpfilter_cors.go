package xds

import (
	"fmt"
	"strings"

	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatefold/gatefold/translate/ir"
)

type corsFilter struct{}

func (corsFilter) Name() string { return "envoy.filters.http.cors" }

func (corsFilter) Field() ir.Field { return ir.FieldCORS }

func (corsFilter) Chain() message { return &corsv3.Cors{} }

func (corsFilter) Route(extras *ir.Extras) message {
	cors := extras.CORS
	if cors == nil {
		return nil
	}
	policy := &corsv3.CorsPolicy{
		AllowOriginStringMatch: stringMatchers(cors.Origins),
		AllowMethods:           strings.Join(cors.Methods, ", "),
		AllowHeaders:           strings.Join(cors.Headers, ", "),
		ExposeHeaders:          strings.Join(cors.Show, ", "),
		MaxAge:                 fmt.Sprint(cors.MaxAge),
		AllowCredentials:       wrapperspb.Bool(cors.Credentials),
	}
	if cors.Alone {
		policy.ForwardNotMatchingPreflights = wrapperspb.Bool(false)
	}
	return policy
}
