package xds

import (
	"fmt"
	"strings"

	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatefold/gatefold/translate/ir"
)

// corsFilter returns the HTTP filter for the policy field cors.
func corsFilter() httpFilter {
	return httpFilter{name: "envoy.filters.http.cors", joined: true, chain: func() message { return &corsv3.Cors{} }, route: corsPolicy}
}

// hostPreflight returns what a route for preflight requests adds to the CORS settings of its virtual host: Envoy's filter
// joins them.
func hostPreflight() message {
	return &corsv3.CorsPolicy{ForwardNotMatchingPreflights: wrapperspb.Bool(false)}
}

// corsPolicy returns the configuration of corsFilter, or nil without cors.
func corsPolicy(extras *ir.Extras) message {
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
	if cors.Alone || extras.Preflight {
		policy.ForwardNotMatchingPreflights = wrapperspb.Bool(false)
	}
	return policy
}
