package backend

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/policy"
)

// Policy is one BackendConfigPolicy with the settings that Lower returns.
type Policy struct {
	Origin *ir.Origin
	// Weight is the weight of the annotation api.AnnotationPolicyWeight.
	Weight   int32
	Upstream *ir.Upstream
	// Closed says why the policy cannot be used. It is "" if the policy can be used. The targets of a policy that
	// cannot be used get no requests.
	Closed string
}

// Config is the merged result of the policies of one Service or Backend.
type Config struct {
	Upstream *ir.Upstream // nil if no policy sets a field
	// Uses says how much of each policy is in force, in the order of precedence. Policies that cannot be used
	// (Policy.Closed) are left out.
	Uses []policy.Use
	// CheckedBy is the policy with the health check in force. It is zero if there is no health check.
	CheckedBy manifest.Key
	// Closed is why the target gets no requests: the reason of the first policy that cannot be used. It is "" if all
	// policies can be used. ClosedBy is the policy with that reason.
	Closed   string
	ClosedBy manifest.Key
}

// Merge returns the Config of the policies of one target. It first sorts the policies: a higher weight comes first.
// The function tie orders policies of equal weight, by Gateway API's rules for conflicts. Each policy then sets the
// fields of its spec that no earlier policy has set. A policy that cannot be used sets no field. The first such
// policy sets Config.Closed and Config.ClosedBy.
func Merge(policies []*Policy, tie func(a, b *ir.Origin) int) Config {
	policies = slices.Clone(policies)
	slices.SortFunc(policies, func(a, b *Policy) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), tie(a.Origin, b.Origin))
	})
	var out Config
	merged := &ir.Upstream{}
	for _, p := range policies {
		if p.Closed != "" {
			if out.Closed == "" {
				out.Closed, out.ClosedBy = p.Closed, p.Origin.Key
			}
			continue
		}
		checked := merged.HealthCheck != nil
		f := filling{}
		f.all(merged, p.Upstream)
		if !checked && merged.HealthCheck != nil {
			out.CheckedBy = p.Origin.Key
		}
		if f.used > 0 {
			out.Upstream = merged
		}
		out.Uses = append(out.Uses, policy.Use{Policy: p.Origin.Key, Effect: f.effect()})
	}
	return out
}

// filling counts how much of a policy takes effect.
type filling struct {
	// set is the number of fields that the policy sets.
	set int
	// used is the number of fields that the policy sets and no earlier policy has set.
	used int
}

// all copies the settings of one policy (the parameter from) into the merged settings (the parameter into). A setting
// that the merged settings already have stays unchanged. The method counts the policy's settings in f.
func (f *filling) all(into, from *ir.Upstream) {
	fill(f, &into.ConnectTimeout, from.ConnectTimeout)
	fill(f, &into.BufferLimit, from.BufferLimit)
	fill(f, &into.Keepalive, from.Keepalive)
	fill(f, &into.Balancer, from.Balancer)
	fill(f, &into.HealthCheck, from.HealthCheck)
	fill(f, &into.Outliers, from.Outliers)
	fill(f, &into.Breakers, from.Breakers)
}

// fill copies one setting of a policy (the parameter from) into the merged settings, if they do not have it yet: if
// *into is nil, it becomes from. fill counts the setting in f. It does nothing if from is nil.
func fill[T any](f *filling, into **T, from *T) {
	if from == nil {
		return
	}
	f.set++
	if *into == nil {
		*into = from
		f.used++
	}
}

// effect returns how much of the policy is effective: all of its settings, some, or none. A policy without
// settings counts as wholly effective.
func (f filling) effect() policy.Effect {
	switch {
	case f.used == f.set:
		return policy.WhollyUsed
	case f.used == 0:
		return policy.Overridden
	}
	return policy.Merged
}

// Apply applies a Config to the cluster of one port of its target. It also adds the policies that have an effect to
// cluster.Objects. If c.Closed is set, Apply applies no setting, but closes the cluster (closeCluster).
//
// Envoy rejects a gRPC health check for a cluster without HTTP/2. For such a cluster, Apply leaves out the health
// check and returns a warning. In all other cases it returns nil.
func (c Config) Apply(cluster *ir.Cluster) []manifest.Problem {
	if c.Closed != "" {
		cluster.Objects = append(cluster.Objects, c.ClosedBy)
		closeCluster(cluster, c.Closed)
		return nil
	}
	if c.Upstream == nil {
		return nil
	}
	cluster.Upstream = c.Upstream
	for _, use := range c.Uses {
		if use.Effect != policy.Overridden {
			cluster.Objects = append(cluster.Objects, use.Policy)
		}
	}
	if check := c.Upstream.HealthCheck; check == nil || check.GRPC == nil || cluster.HTTP2 {
		return nil
	}
	unchecked := *c.Upstream
	unchecked.HealthCheck = nil
	cluster.Upstream = &unchecked
	return []manifest.Problem{{
		Code: "NoEffect", Severity: manifest.Warning, Object: c.CheckedBy, Field: "spec.healthCheck.grpc",
		Message: fmt.Sprintf("%s does not speak HTTP/2: its health is not checked", cluster.Name),
		Hint:    "set appProtocol, or check by http or tcp",
	}}
}

// Lower converts the settings of a BackendConfigPolicy to an ir.Upstream.
func Lower(spec *api.BackendConfigPolicySpec) *ir.Upstream {
	to := &ir.Upstream{ConnectTimeout: api.ParseDuration(spec.ConnectTimeout), BufferLimit: number(spec.PerConnectionBufferLimitBytes)}
	if from := spec.TCPKeepalive; from != nil {
		to.Keepalive = &ir.Keepalive{
			Probes: zero(number(from.KeepAliveProbes)), Time: zero(api.ParseDuration(from.KeepAliveTime)), Interval: zero(api.ParseDuration(from.KeepAliveInterval)),
		}
	}
	if from := spec.LoadBalancer; from != nil {
		to.Balancer = balancer(from)
	}
	if from := spec.HealthCheck; from != nil {
		to.HealthCheck = healthCheck(from)
	}
	if from := spec.OutlierDetection; from != nil {
		to.Outliers = &ir.Outliers{
			Consecutive5xx: number(from.Consecutive5xx), Interval: api.ParseDuration(from.Interval),
			Ejection: api.ParseDuration(from.BaseEjectionTime), MaxPercent: number(from.MaxEjectionPercent),
		}
	}
	if from := spec.CircuitBreakers; from != nil {
		to.Breakers = &ir.Breakers{
			Connections: number(from.MaxConnections), Pending: number(from.MaxPendingRequests),
			Requests: number(from.MaxRequests), Retries: number(from.MaxRetries), Remaining: zero(from.TrackRemaining),
		}
	}
	return to
}

// balancer returns the load balancer settings of a spec.
func balancer(from *api.LoadBalancer) *ir.Balancer {
	to := &ir.Balancer{
		PanicPercent: number(from.HealthyPanicThreshold), MergeWindow: api.ParseDuration(from.UpdateMergeWindow),
		CloseOnChange: zero(from.CloseConnectionsOnHostSetChange),
	}
	switch {
	case from.LeastRequest != nil:
		to.Kind, to.Choices, to.SlowStart = ir.LeastRequest, uint32(from.LeastRequest.ChoiceCount), slowStart(from.LeastRequest.SlowStart)
	case from.RoundRobin != nil:
		to.Kind, to.SlowStart = ir.RoundRobin, slowStart(from.RoundRobin.SlowStart)
	case from.RingHash != nil:
		to.Kind, to.HashNames, to.Hash = ir.RingHash, zero(from.RingHash.UseHostnameForHashing), policy.Hashes(from.RingHash.HashPolicies)
		to.MinRing, to.MaxRing = uint64(zero(from.RingHash.MinimumRingSize)), uint64(zero(from.RingHash.MaximumRingSize))
	case from.Maglev != nil:
		to.Kind, to.HashNames, to.Hash = ir.Maglev, zero(from.Maglev.UseHostnameForHashing), policy.Hashes(from.Maglev.HashPolicies)
	case from.Random != nil:
		to.Kind = ir.Random
	}
	return to
}

// slowStart converts the slow start settings of a load balancer. nil stays nil.
func slowStart(from *api.SlowStart) *ir.SlowStart {
	if from == nil {
		return nil
	}
	to := &ir.SlowStart{Window: zero(api.ParseDuration(from.Window)), MinPercent: number(from.MinWeightPercent)}
	if from.Aggression != nil {
		aggression, err := strconv.ParseFloat(*from.Aggression, 64)
		if err != nil || math.IsInf(aggression, 0) {
			panic(fmt.Sprintf("backend: aggression %q passed the schema: %v", *from.Aggression, err))
		}
		to.Aggression = aggression
	}
	return to
}

// healthCheck returns the health check settings of a spec.
func healthCheck(from *api.HealthCheck) *ir.HealthCheck {
	to := &ir.HealthCheck{
		Timeout: zero(api.ParseDuration(&from.Timeout)), Interval: zero(api.ParseDuration(&from.Interval)),
		Unhealthy: uint32(from.UnhealthyThreshold), Healthy: uint32(from.HealthyThreshold),
	}
	if http := from.HTTP; http != nil {
		to.HTTP = &ir.HTTPCheck{Host: zero(http.Host), Path: http.Path, Method: zero(http.Method)}
		for _, status := range slices.Sorted(slices.Values(http.ExpectedStatuses)) {
			to.HTTP.Statuses = append(to.HTTP.Statuses, uint32(status))
		}
	}
	if grpc := from.GRPC; grpc != nil {
		to.GRPC = &ir.GRPCCheck{Service: zero(grpc.ServiceName), Authority: zero(grpc.Authority)}
	}
	return to
}

// number returns a pointer to the value of n as uint32. It returns nil if n is nil.
func number(n *int32) *uint32 {
	if n == nil {
		return nil
	}
	out := uint32(*n)
	return &out
}

// zero returns the value of p, or the zero value if p is nil.
func zero[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}
