package xds

import (
	"net/netip"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	lbcommonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/common/v3"
	maglevv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/maglev/v3"
	ringhashv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/ring_hash/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatefold/gatefold/translate/ir"
)

// aggressionKey is a runtime key that Envoy's message requires. No runtime sets it.
const aggressionKey = "gatefold.slow_start.aggression"

// applyUpstream writes the settings of policies (c.Upstream) into Envoy's cluster (the parameter to). It changes
// nothing if c.Upstream is nil.
func applyUpstream(to *clusterv3.Cluster, c *ir.Cluster) {
	from := c.Upstream
	if from == nil {
		return
	}
	if from.ConnectTimeout != nil {
		to.ConnectTimeout = durationpb.New(*from.ConnectTimeout)
	}
	if from.BufferLimit != nil {
		to.PerConnectionBufferLimitBytes = wrapperspb.UInt32(*from.BufferLimit)
	}
	if from.Keepalive != nil {
		to.UpstreamConnectionOptions = &clusterv3.UpstreamConnectionOptions{TcpKeepalive: keepalive(from.Keepalive)}
	}
	if from.Balancer != nil {
		applyBalancer(to, c.Discovery, from.Balancer)
	}
	if from.HealthCheck != nil {
		to.HealthChecks = []*corev3.HealthCheck{healthCheck(c, from.HealthCheck)}
	}
	if from.Outliers != nil {
		to.OutlierDetection = outliers(from.Outliers)
	}
	if from.Breakers != nil {
		to.CircuitBreakers = breakers(from.Breakers)
	}
}

func keepalive(from *ir.Keepalive) *corev3.TcpKeepalive {
	return &corev3.TcpKeepalive{
		KeepaliveProbes:   unlessZero(from.Probes),
		KeepaliveTime:     unlessZero(uint32(from.Time / time.Second)),
		KeepaliveInterval: unlessZero(uint32(from.Interval / time.Second)),
	}
}

// applyBalancer sets the load balancing of a cluster. It uses lb_policy instead of load_balancing_policy,
// because lb_policy has the same effect and keeps Envoy's defaults for localities. Only hash policies of the cluster
// need load_balancing_policy, and RingHash and Maglev have no such defaults.
func applyBalancer(to *clusterv3.Cluster, discovery ir.Discovery, from *ir.Balancer) {
	slow := slowStart(from.SlowStart)
	switch from.Kind {
	case ir.RoundRobin:
		to.LbConfig = &clusterv3.Cluster_RoundRobinLbConfig_{RoundRobinLbConfig: &clusterv3.Cluster_RoundRobinLbConfig{SlowStartConfig: slow}}
	case ir.LeastRequest:
		to.LbPolicy = clusterv3.Cluster_LEAST_REQUEST
		to.LbConfig = &clusterv3.Cluster_LeastRequestLbConfig_{LeastRequestLbConfig: &clusterv3.Cluster_LeastRequestLbConfig{
			ChoiceCount: unlessZero(from.Choices), SlowStartConfig: slow,
		}}
	case ir.RingHash:
		to.LbPolicy = clusterv3.Cluster_RING_HASH
		to.LbConfig = &clusterv3.Cluster_RingHashLbConfig_{RingHashLbConfig: &clusterv3.Cluster_RingHashLbConfig{
			MinimumRingSize: unlessZero64(from.MinRing), MaximumRingSize: unlessZero64(from.MaxRing),
		}}
	case ir.Maglev:
		to.LbPolicy = clusterv3.Cluster_MAGLEV
	case ir.Random:
		to.LbPolicy = clusterv3.Cluster_RANDOM
	}
	common := to.CommonLbConfig
	if from.PanicPercent != nil {
		common.HealthyPanicThreshold = &typev3.Percent{Value: float64(*from.PanicPercent)}
	}
	common.UpdateMergeWindow = optionalDuration(from.MergeWindow)
	common.CloseConnectionsOnHostSetChange = from.CloseOnChange
	// Endpoints with addresses have no names, so all would have the same hash.
	names := from.HashNames && discovery == ir.DNS
	switch {
	case len(from.Hash) > 0:
		to.LbPolicy, to.LbConfig, to.LoadBalancingPolicy = 0, nil, hashingPolicy(from, names)
	case names:
		common.ConsistentHashingLbConfig = &clusterv3.Cluster_CommonLbConfig_ConsistentHashingLbConfig{UseHostnameForHashing: true}
	}
}

// hashingPolicy returns the load balancing of a cluster with hash policies of its own, for which Envoy ignores those
// of routes. The parameter from is a RingHash or Maglev. If names is true, Envoy hashes the DNS names of endpoints.
func hashingPolicy(from *ir.Balancer, names bool) *clusterv3.LoadBalancingPolicy {
	hashing := &lbcommonv3.ConsistentHashingLbConfig{UseHostnameForHashing: names}
	for _, hash := range from.Hash {
		hashing.HashPolicy = append(hashing.HashPolicy, hashPolicy(hash))
	}
	extension := &corev3.TypedExtensionConfig{Name: "envoy.load_balancing_policies.maglev"}
	if from.Kind == ir.RingHash {
		extension.Name = "envoy.load_balancing_policies.ring_hash"
		extension.TypedConfig = pack(&ringhashv3.RingHash{
			ConsistentHashingLbConfig: hashing,
			MinimumRingSize:           unlessZero64(from.MinRing), MaximumRingSize: unlessZero64(from.MaxRing),
		})
	} else {
		extension.TypedConfig = pack(&maglevv3.Maglev{ConsistentHashingLbConfig: hashing})
	}
	return &clusterv3.LoadBalancingPolicy{Policies: []*clusterv3.LoadBalancingPolicy_Policy{{TypedExtensionConfig: extension}}}
}

func slowStart(from *ir.SlowStart) *clusterv3.Cluster_SlowStartConfig {
	if from == nil {
		return nil
	}
	to := &clusterv3.Cluster_SlowStartConfig{SlowStartWindow: durationpb.New(from.Window)}
	if from.Aggression != 0 {
		to.Aggression = &corev3.RuntimeDouble{DefaultValue: from.Aggression, RuntimeKey: aggressionKey}
	}
	if from.MinPercent != nil {
		to.MinWeightPercent = &typev3.Percent{Value: float64(*from.MinPercent)}
	}
	return to
}

func healthCheck(c *ir.Cluster, from *ir.HealthCheck) *corev3.HealthCheck {
	to := &corev3.HealthCheck{
		Timeout: durationpb.New(from.Timeout), Interval: durationpb.New(from.Interval),
		// With Envoy's default of a minute, the first request after a time without traffic might find that an
		// endpoint is dead.
		NoTrafficInterval:  durationpb.New(from.Interval),
		UnhealthyThreshold: wrapperspb.UInt32(from.Unhealthy), HealthyThreshold: wrapperspb.UInt32(from.Healthy),
	}
	switch {
	case from.HTTP != nil:
		to.HealthChecker = &corev3.HealthCheck_HttpHealthCheck_{HttpHealthCheck: httpCheck(c, from.HTTP)}
	case from.GRPC != nil:
		to.HealthChecker = &corev3.HealthCheck_GrpcHealthCheck_{GrpcHealthCheck: &corev3.HealthCheck_GrpcHealthCheck{
			ServiceName: from.GRPC.Service, Authority: checkHost(c, from.GRPC.Authority),
		}}
	default:
		to.HealthChecker = &corev3.HealthCheck_TcpHealthCheck_{TcpHealthCheck: &corev3.HealthCheck_TcpHealthCheck{}}
	}
	return to
}

func httpCheck(c *ir.Cluster, from *ir.HTTPCheck) *corev3.HealthCheck_HttpHealthCheck {
	to := &corev3.HealthCheck_HttpHealthCheck{
		Host: checkHost(c, from.Host), Path: from.Path,
		Method: corev3.RequestMethod(corev3.RequestMethod_value[from.Method]),
	}
	if c.HTTP2 {
		to.CodecClientType = typev3.CodecClientType_HTTP2
	}
	for _, status := range from.Statuses {
		to.ExpectedStatuses = append(to.ExpectedStatuses, &typev3.Int64Range{Start: int64(status), End: int64(status) + 1})
	}
	return to
}

// checkHost returns the Host header of a health check. The first of these values that exists is the result:
//   - the host that the policy sets (the parameter written; "" if the policy sets none)
//   - the DNS name of the first endpoint that has one
//   - NAME.NAMESPACE of the Service or Backend that the cluster is made from (the first of c.Objects)
//
// If none exists, the result is "". Envoy's own default is the cluster's name, but the slashes in that name are not
// allowed in a Host header.
func checkHost(c *ir.Cluster, written string) string {
	if written != "" {
		return written
	}
	for _, endpoint := range c.Endpoints {
		if _, err := netip.ParseAddr(endpoint.Host); err != nil {
			return endpoint.Host
		}
	}
	if len(c.Objects) == 0 {
		return ""
	}
	return c.Objects[0].Name + "." + c.Objects[0].Namespace
}

// outliers returns Envoy's outlier detection. Unless MaxPercent is 0, Envoy can always eject one endpoint, even if
// that is more than MaxPercent. With Envoy's default of 10 % alone, Envoy would never eject one of two endpoints.
func outliers(from *ir.Outliers) *clusterv3.OutlierDetection {
	to := &clusterv3.OutlierDetection{
		Consecutive_5Xx: optionalNumber(from.Consecutive5xx), Interval: optionalDuration(from.Interval),
		BaseEjectionTime: optionalDuration(from.Ejection), MaxEjectionPercent: optionalNumber(from.MaxPercent),
	}
	if from.MaxPercent == nil || *from.MaxPercent > 0 {
		to.AlwaysEjectOneHost = wrapperspb.Bool(true)
	}
	return to
}

// breakers returns Envoy's circuit breakers. What is not set has Envoy's default, but for maxRetries.
func breakers(from *ir.Breakers) *clusterv3.CircuitBreakers {
	retries := optionalNumber(from.Retries)
	if retries == nil {
		retries = wrapperspb.UInt32(maxRetries)
	}
	return &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{
		MaxConnections: optionalNumber(from.Connections), MaxPendingRequests: optionalNumber(from.Pending),
		MaxRequests: optionalNumber(from.Requests), MaxRetries: retries,
		TrackRemaining: from.Remaining,
	}}}
}

// optionalDuration converts *d, or returns nil if d is nil.
func optionalDuration(d *time.Duration) *durationpb.Duration {
	if d == nil {
		return nil
	}
	return durationpb.New(*d)
}

// optionalNumber converts *n, or returns nil if n is nil.
func optionalNumber(n *uint32) *wrapperspb.UInt32Value {
	if n == nil {
		return nil
	}
	return wrapperspb.UInt32(*n)
}

// unlessZero converts n, or returns nil if n is 0.
func unlessZero(n uint32) *wrapperspb.UInt32Value {
	if n == 0 {
		return nil
	}
	return wrapperspb.UInt32(n)
}

// unlessZero64 converts n, or returns nil if n is 0.
func unlessZero64(n uint64) *wrapperspb.UInt64Value {
	if n == 0 {
		return nil
	}
	return wrapperspb.UInt64(n)
}
