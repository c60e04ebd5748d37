package xds

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

const million = 1_000_000

// Live reports whether a Forward has a backend that can get requests: one with a weight above 0 and a cluster. It
// returns false if forward is nil. A route whose Forward has no such backend answers 500, or 503 for a GRPCRoute
// (Gateway API, backendRefs).
func Live(forward *ir.Forward) bool {
	return forward != nil && slices.ContainsFunc(forward.Backends, func(b ir.Backend) bool {
		return b.Weight > 0 && b.Cluster != ""
	})
}

// routeAction returns Envoy's action for a route that forwards requests. The parameter match is the route's
// condition. The parameter from is the rule's action. The action's field Forward must be set.
func routeAction(match *ir.Match, from *ir.Action) *routev3.RouteAction {
	timeout, idle := timeouts(from)
	action := &routev3.RouteAction{
		ClusterNotFoundResponseCode: notFound(match.Path),
		Timeout:                     durationpb.New(timeout),
		IdleTimeout:                 idle,
		RetryPolicy:                 retryPolicy(from),
		RequestMirrorPolicies:       mirrors(from.Mirrors),
	}
	setClusters(action, from.Forward.Backends)
	setRewrite(action, match, from.Rewrite)
	setExtras(action, from.Extras)
	return action
}

// preflightAction returns the action of a rule for preflight requests (ir.Rule.Preflight). The filter for CORS answers
// only on routes with a cluster, and before the cluster is asked.
func preflightAction(match *ir.Match) *routev3.RouteAction {
	return &routev3.RouteAction{
		ClusterNotFoundResponseCode: notFound(match.Path), ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: NoCluster},
	}
}

// notFound returns the status with which Envoy answers if the cluster of a backend does not exist. The status is 503
// if the path is from a GRPCRoute, and 500 if the path is from an HTTPRoute.
func notFound(path ir.Path) routev3.RouteAction_ClusterNotFoundResponseCode {
	if path.RPC.Is {
		return routev3.RouteAction_SERVICE_UNAVAILABLE
	}
	return routev3.RouteAction_INTERNAL_SERVER_ERROR
}

// setClusters sets the clusters to which the action sends requests. Backends with weight 0 are left out. If only one
// backend is left, and it has neither header changes nor a Rewrite, the action gets a plain cluster. In all other
// cases it gets weighted clusters.
func setClusters(action *routev3.RouteAction, backends []ir.Backend) {
	weighted := &routev3.WeightedCluster{}
	plain := true
	for _, backend := range backends {
		if backend.Weight == 0 {
			continue
		}
		plain = plain && backend.Rewrite == nil && backend.RequestHeaders.IsZero() && backend.ResponseHeaders.IsZero()
		weighted.Clusters = append(weighted.Clusters, clusterWeight(backend))
	}
	if len(weighted.Clusters) == 1 && plain {
		action.ClusterSpecifier = &routev3.RouteAction_Cluster{Cluster: weighted.Clusters[0].Name}
		return
	}
	action.ClusterSpecifier = &routev3.RouteAction_WeightedClusters{WeightedClusters: weighted}
}

// clusterWeight converts a backend to an entry of Envoy's weighted clusters, with its header changes and its
// new host. The cluster of a backend that is not resolved is NoCluster.
func clusterWeight(backend ir.Backend) *routev3.WeightedCluster_ClusterWeight {
	name := backend.Cluster
	if name == "" {
		name = NoCluster
	}
	weight := &routev3.WeightedCluster_ClusterWeight{
		Name:                    name,
		Weight:                  wrapperspb.UInt32(backend.Weight),
		RequestHeadersToAdd:     headersToAdd(backend.RequestHeaders),
		RequestHeadersToRemove:  backend.RequestHeaders.OrNone().Remove,
		ResponseHeadersToAdd:    headersToAdd(backend.ResponseHeaders),
		ResponseHeadersToRemove: backend.ResponseHeaders.OrNone().Remove,
	}
	if backend.Rewrite != nil {
		weight.HostRewriteSpecifier = &routev3.WeightedCluster_ClusterWeight_HostRewriteLiteral{HostRewriteLiteral: backend.Rewrite.Hostname}
	}
	return weight
}

// timeouts returns the timeout of the whole exchange, and the idle timeout.
//
// Without a setting, the result timeout is 0, which means no limit: Envoy's default of 15 s would end downloads. If
// the route does not retry, there is only one attempt, so BackendTimeout limits the exchange, too. The stricter of
// the two limits applies.
//
// The result idle replaces the listener's idle timeout for this route. It is needed if the user sets a limit that is
// 0, or longer than the listener's idle timeout, which would otherwise end the exchange too early. The result idle
// is then equal to the result timeout. In all other cases, idle is nil.
func timeouts(action *ir.Action) (timeout time.Duration, idle *durationpb.Duration) {
	limit := action.RequestTimeout
	if action.Retry == nil {
		limit = smaller(limit, action.BackendTimeout)
	}
	if limit == nil {
		return 0, nil
	}
	if *limit == 0 || *limit > streamIdleTimeout {
		idle = durationpb.New(*limit)
	}
	return *limit, idle
}

// smaller returns the stricter of two timeouts. A nil timeout is not set, and a timeout of 0 means no limit. The
// result is nil only if both are nil.
func smaller(a, b *time.Duration) *time.Duration {
	switch {
	case a == nil:
		return b
	case b == nil || *b == 0:
		return a
	case *a == 0 || *b < *a:
		return b
	}
	return a
}

// mirrors returns the policies by which Envoy copies requests to other clusters. Mirrors without a cluster are left
// out.
func mirrors(list []ir.Mirror) []*routev3.RouteAction_RequestMirrorPolicy {
	var policies []*routev3.RouteAction_RequestMirrorPolicy
	for _, mirror := range list {
		if mirror.Cluster == "" {
			continue
		}
		policies = append(policies, &routev3.RouteAction_RequestMirrorPolicy{
			Cluster:         mirror.Cluster,
			RuntimeFraction: &corev3.RuntimeFractionalPercent{DefaultValue: fraction(mirror)},
			// Without it, the copy is for "HOST-shadow", which a backend that looks at Host does not have.
			DisableShadowHostSuffixAppend: true,
		})
	}
	return policies
}

// fraction returns the share of the requests that a mirror copies, with a denominator that Envoy supports. Fractions
// are rounded down to millionths. A Denominator of 0 means all requests (Gateway API, HTTPRequestMirrorFilter).
func fraction(mirror ir.Mirror) *typev3.FractionalPercent {
	switch denominator := uint64(mirror.Denominator); {
	case denominator == 0 || mirror.Numerator >= mirror.Denominator:
		return &typev3.FractionalPercent{Numerator: 100, Denominator: typev3.FractionalPercent_HUNDRED}
	case denominator == 100:
		return &typev3.FractionalPercent{Numerator: mirror.Numerator, Denominator: typev3.FractionalPercent_HUNDRED}
	default:
		return &typev3.FractionalPercent{
			Numerator:   uint32(uint64(mirror.Numerator) * million / denominator),
			Denominator: typev3.FractionalPercent_MILLION,
		}
	}
}

// headersToAdd returns the headers that Envoy sets and adds. Their order has no effect: Envoy removes first,
// then overwrites, then appends, and the Gateway API allows one action for each name.
func headersToAdd(mods *ir.HeaderMods) []*corev3.HeaderValueOption {
	set, add := mods.OrNone().Set, mods.OrNone().Add
	var options []*corev3.HeaderValueOption
	for _, header := range set {
		options = append(options, headerOption(header, corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD))
	}
	for _, header := range add {
		options = append(options, headerOption(header, corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD))
	}
	return options
}

// headerOption returns a header with a plain value. It escapes "%", because Envoy would execute commands in the
// value, such as %REQ(NAME)%, and one team could read the headers of another team.
func headerOption(header ir.Header, action corev3.HeaderValueOption_HeaderAppendAction) *corev3.HeaderValueOption {
	return &corev3.HeaderValueOption{
		Header:         &corev3.HeaderValue{Key: header.Name, Value: strings.ReplaceAll(header.Value, "%", "%%")},
		AppendAction:   action,
		KeepEmptyValue: header.Value == "",
	}
}

// checkAction rejects what Envoy would reject in an action: in its filters and its backends. The settings of
// policies (Extras) are checked by CheckExtras.
func (c *checker) checkAction(action *ir.Action) {
	filters := c.place(false, "filters")
	c.headers(filters, action.RequestHeaders.OrNone())
	c.headers(filters, action.ResponseHeaders.OrNone())
	if action.Redirect != nil {
		c.checkRedirect(filters, action.Redirect)
	}
	if action.Rewrite != nil {
		c.text(filters, action.Rewrite.Hostname)
		c.checkPathChange(filters, action.Rewrite.Path)
	}
	if action.ExternalAuth != nil {
		c.checkHTTPAuth(filterFields(c.rule, action, filters), action.ExternalAuth.Extension.Auth)
		c.message(extAuthz(&ir.Extras{ExtAuth: action.ExternalAuth}))
	}
	if action.Forward != nil {
		c.checkBackends(action.Forward.Backends)
	}
}

// checkBackends rejects what Envoy would reject in the backends of a rule.
func (c *checker) checkBackends(backends []ir.Backend) {
	var total uint64
	for i, backend := range backends {
		total += uint64(backend.Weight)
		filters := c.place(false, fmt.Sprintf("backendRefs[%d].filters", i))
		c.headers(filters, backend.RequestHeaders.OrNone())
		c.headers(filters, backend.ResponseHeaders.OrNone())
		if backend.Rewrite != nil {
			c.text(filters, backend.Rewrite.Hostname)
		}
	}
	if total > math.MaxUint32 {
		c.reject(c.place(false, "backendRefs"),
			fmt.Sprintf("the weights add up to %d, over the limit of %d", total, uint32(math.MaxUint32)),
			"use smaller weights; only their ratio counts")
	}
}

// checkRedirect rejects what Envoy would reject in a redirect.
func (c *checker) checkRedirect(field string, redirect *ir.Redirect) {
	if _, ok := redirectCodes[redirect.Status]; !ok {
		c.reject(field, fmt.Sprintf("cannot redirect with status %d", redirect.Status),
			"use 301, 302, 303, 307 or 308")
	}
	c.text(field, redirect.Scheme)
	c.text(field, redirect.Hostname)
	c.checkPathChange(field, redirect.Path)
}

// checkPathChange rejects a new path that is not empty and does not begin with a slash: the path ".evil.example"
// would turn "Location: http://host" into the address of another host. It also rejects text that an HTTP message
// cannot contain. The parameter change may be nil.
func (c *checker) checkPathChange(field string, change *ir.PathChange) {
	if change == nil {
		return
	}
	c.text(field, change.Value)
	if change.Value != "" && !strings.HasPrefix(change.Value, "/") {
		c.reject(field, fmt.Sprintf("the new path %q does not begin with a slash", manifest.Shorten(change.Value)), `write "/" in front`)
	}
}
