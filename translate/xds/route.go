package xds

import (
	"regexp"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// Route encodes a rule as one envoy.config.route.v3.Route with the rule's name. If Envoy would reject the rule,
// Route returns nil and the problems. The caller then uses Closed. Equal rules have equal bytes.
func Route(rule *ir.Rule) ([]byte, []manifest.Problem) {
	encoded, problems := RouteAndWarnings(rule)
	if encoded != nil {
		return encoded, nil
	}
	return nil, problems
}

// RouteAndWarnings returns what Route returns. With the encoding it returns the warnings about the rule.
func RouteAndWarnings(rule *ir.Rule) ([]byte, []manifest.Problem) {
	problems := checkRule(rule)
	if hasErrors(problems) {
		return nil, problems
	}
	route := newRoute(rule)
	if err := route.ValidateAll(); err != nil {
		return nil, append(problems, rejected(rule, err))
	}
	return marshal(route), problems
}

// Closed returns the replacement of a rule that fails closed, for example because Envoy would reject the rule. The
// replacement has the same name, order and match, but answers 500, or 503 for a GRPCRoute. If Envoy would reject
// the replacement, too, the match is at fault, and the caller must leave the rule out.
func Closed(rule *ir.Rule) *ir.Rule {
	closed := *rule
	closed.Action = ir.Action{Respond: &ir.Respond{Status: rule.Match.Path.Unresolved()}}
	return &closed
}

// newRoute returns the message that the function Route encodes.
func newRoute(rule *ir.Rule) *routev3.Route {
	action := pushHosts(pushDown(withExtras(rule.Action)))
	if rule.Preflight != nil {
		extras := action.Extras.OrNone()
		extras.Preflight, action.Extras = true, &extras
	}
	route := &routev3.Route{
		Name:                    rule.Name,
		Match:                   routeMatch(&rule.Match),
		RequestHeadersToAdd:     headersToAdd(action.RequestHeaders),
		RequestHeadersToRemove:  action.RequestHeaders.OrNone().Remove,
		ResponseHeadersToAdd:    headersToAdd(action.ResponseHeaders),
		ResponseHeadersToRemove: action.ResponseHeaders.OrNone().Remove,
		TypedPerFilterConfig:    routeFilters(action.Extras),
	}
	if by := rule.Action.ClosedBy(); by != "" {
		route.Metadata = &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{
			metadataNamespace: {Fields: map[string]*structpb.Value{metadataClosedBy: structpb.NewStringValue(by)}},
		}}
	}
	switch {
	case action.Redirect != nil:
		route.Action = &routev3.Route_Redirect{Redirect: redirect(&rule.Match, action.Redirect)}
	case action.Respond != nil:
		route.Action = respond(action.Respond.Status)
	case rule.Preflight != nil:
		route.Action = &routev3.Route_Route{Route: preflightAction(&rule.Match)}
	case Live(action.Forward):
		route.Action = &routev3.Route_Route{Route: routeAction(&rule.Match, &action)}
	default:
		route.Action = respond(rule.Match.Path.Unresolved())
	}
	return route
}

// respond returns the action that answers with a status, without a backend.
func respond(status uint32) *routev3.Route_DirectResponse {
	return &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: status}}
}

// routeMatch converts a match to the condition of an Envoy route.
func routeMatch(match *ir.Match) *routev3.RouteMatch {
	m := &routev3.RouteMatch{}
	switch path := match.Path; {
	case path.Kind == ir.PathExact:
		m.PathSpecifier = &routev3.RouteMatch_Path{Path: path.Value}
	case path.Kind == ir.PathRegex:
		m.PathSpecifier = &routev3.RouteMatch_SafeRegex{SafeRegex: regex(path.Value)}
	case path.Value == "/": // path_separated_prefix may not end in a slash
		m.PathSpecifier = &routev3.RouteMatch_Prefix{Prefix: "/"}
	default:
		m.PathSpecifier = &routev3.RouteMatch_PathSeparatedPrefix{PathSeparatedPrefix: path.Value}
	}
	if match.Method != "" {
		m.Headers = append(m.Headers, headerMatch(ir.ValueMatch{Name: ":method", Value: match.Method}))
	}
	if match.Within != "" {
		inside := regexp.QuoteMeta(match.Within) + "(?:[/?].*)?"
		m.Headers = append(m.Headers, headerMatch(ir.ValueMatch{Name: ":path", Value: inside, Regex: true}))
	}
	if len(match.Hosts) > 0 {
		m.Headers = append(m.Headers, headerMatch(ir.ValueMatch{Name: ":authority", Value: hostsPattern(match.Hosts), Regex: true}))
	}
	for _, header := range match.Headers {
		m.Headers = append(m.Headers, headerMatch(header))
	}
	for _, parameter := range match.Query {
		m.QueryParameters = append(m.QueryParameters, &routev3.QueryParameterMatcher{
			Name: parameter.Name,
			QueryParameterMatchSpecifier: &routev3.QueryParameterMatcher_StringMatch{
				StringMatch: stringMatch(parameter),
			},
		})
	}
	return m
}

// hostsPattern returns a regular expression for the :authority of requests to one of the hosts. The expression
// compares hosts as Envoy compares the domains of virtual hosts: it ignores case, and the last colon outside of
// brackets with everything after it, even if that is not a port number.
func hostsPattern(hosts []string) string {
	patterns := make([]string, len(hosts))
	for i, host := range hosts {
		suffix, wild := strings.CutPrefix(host, "*")
		patterns[i] = regexp.QuoteMeta(suffix)
		if wild {
			patterns[i] = ".+" + patterns[i]
		}
	}
	return "(?i:" + strings.Join(patterns, "|") + `)(?::[^:\]]*)?`
}

// headerMatch returns the condition for one header. Envoy's name for Host is ":authority".
func headerMatch(match ir.ValueMatch) *routev3.HeaderMatcher {
	name := match.Name
	if name == "host" {
		name = ":authority"
	}
	if match.Regex && match.Value == ir.AnyValue { // as not "", which costs less than an expression
		return &routev3.HeaderMatcher{
			Name: name, InvertMatch: true, TreatMissingHeaderAsEmpty: true,
			HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: stringMatch(ir.ValueMatch{})},
		}
	}
	return &routev3.HeaderMatcher{
		Name:                 name,
		HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: stringMatch(match)},
	}
}

// checkRule returns what Envoy would reject in a rule. It does not check the settings that policies add (see
// CheckExtras).
func checkRule(rule *ir.Rule) []manifest.Problem {
	c := checker{rule: rule}
	c.checkMatch(&rule.Match)
	c.checkAction(&rule.Action)
	return c.problems
}
