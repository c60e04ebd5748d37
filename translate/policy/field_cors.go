package policy

import (
	"regexp"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// lowerCORS converts the policy field cors (see Field.lower).
func lowerCORS(from *api.TrafficPolicySpec, extras *ir.Extras) []manifest.Problem {
	if from.CORS.Disable != nil {
		return nil
	}
	var problems []manifest.Problem
	extras.CORS, problems = CORS(ir.FieldCORS.Path(), from.CORS.Filter())
	return problems
}

// CORS converts the Gateway API's CORS filter. The parameter at is the path of the filter in its object, such as
// spec.rules[0].filters[1].cors. The problems name fields below that path; the caller adds the object.
func CORS(at string, from *gwv1.HTTPCORSFilter) (*ir.CORS, []manifest.Problem) {
	to := &ir.CORS{
		Credentials: isTrue(from.AllowCredentials), MaxAge: uint32(from.MaxAge),
		Methods: texts(from.AllowMethods), Headers: texts(from.AllowHeaders), Show: texts(from.ExposeHeaders),
	}
	for _, origin := range from.AllowOrigins {
		to.Origins = append(to.Origins, corsOrigin(string(origin)))
	}
	// If methods or headers are "*", Envoy answers with the names in the preflight request. It cannot do so for
	// exposed headers, and with credentials "the gateway cannot use the `*`" (Gateway API, HTTPCORSFilter.exposeHeaders).
	if to.Credentials && slices.Contains(to.Show, "*") {
		to.Show = slices.DeleteFunc(to.Show, func(name string) bool { return name == "*" })
		return to, []manifest.Problem{warning(at+".exposeHeaders",
			`"*" exposes no header when allowCredentials is true`, "list the headers")}
	}
	return to, nil
}

// corsOrigin converts an origin of the Gateway API. "*" may be the whole origin, or replace the first labels of
// the host.
func corsOrigin(origin string) ir.StringMatch {
	if origin == "*" {
		return ir.StringMatch{Kind: ir.StringRegex, Value: ".*"}
	}
	if before, after, found := strings.Cut(origin, "*"); found {
		return ir.StringMatch{Kind: ir.StringRegex, Value: regexp.QuoteMeta(before) + `[^/:]+` + regexp.QuoteMeta(after)}
	}
	return ir.StringMatch{Kind: ir.StringExact, Value: origin}
}

func texts[S ~string](list []S) []string {
	var out []string
	for _, s := range list {
		out = append(out, string(s))
	}
	return out
}
