package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// BackendConfigPolicy says how Envoy reaches the Services and Backends that it
// targets. Every field of its spec but TargetRefs is a policy of its own, so that
// several policies fill each other up; package translate/backend merges them.
type BackendConfigPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec BackendConfigPolicySpec `json:"spec"`
}

// BackendConfigPolicySpec holds what is set; nil fields leave things as they are.
type BackendConfigPolicySpec struct {
	// TargetRefs are at most 16 Services and Backends, in the policy's namespace.
	// A Service is meant with all its ports. SectionName is never set.
	TargetRefs []PolicyTarget `json:"targetRefs,omitempty"`
	// TargetSelectors select Services and Backends in the policy's namespace by their labels.
	TargetSelectors []PolicySelector `json:"targetSelectors,omitempty"`

	// ConnectTimeout bounds a new connection; 5s when it is not set.
	ConnectTimeout *gwv1.Duration `json:"connectTimeout,omitempty"`
	// PerConnectionBufferLimitBytes is 32 KiB when it is not set.
	PerConnectionBufferLimitBytes *int32            `json:"perConnectionBufferLimitBytes,omitempty"`
	TCPKeepalive                  *TCPKeepalive     `json:"tcpKeepalive,omitempty"`
	LoadBalancer                  *LoadBalancer     `json:"loadBalancer,omitempty"`
	HealthCheck                   *HealthCheck      `json:"healthCheck,omitempty"`
	OutlierDetection              *OutlierDetection `json:"outlierDetection,omitempty"`
	CircuitBreakers               *CircuitBreakers  `json:"circuitBreakers,omitempty"`
}

// Unread is an object of which only is known that it is there.
type Unread struct{}

// TCPKeepalive probes idle connections. What is not set is the system's.
type TCPKeepalive struct {
	KeepAliveProbes   *int32         `json:"keepAliveProbes,omitempty"`
	KeepAliveTime     *gwv1.Duration `json:"keepAliveTime,omitempty"`
	KeepAliveInterval *gwv1.Duration `json:"keepAliveInterval,omitempty"`
}

// LoadBalancer chooses the endpoint of a request: exactly one of LeastRequest,
// RoundRobin, RingHash, Maglev and Random is set.
type LoadBalancer struct {
	// HealthyPanicThreshold is the percentage of healthy endpoints below which
	// Envoy uses all of them; 1 when it is not set.
	HealthyPanicThreshold *int32 `json:"healthyPanicThreshold,omitempty"`
	// UpdateMergeWindow is how long changes of endpoints are gathered; 1s when it
	// is not set, 0s is not at all.
	UpdateMergeWindow *gwv1.Duration `json:"updateMergeWindow,omitempty"`
	LeastRequest      *LeastRequest  `json:"leastRequest,omitempty"`
	RoundRobin        *RoundRobin    `json:"roundRobin,omitempty"`
	RingHash          *RingHash      `json:"ringHash,omitempty"`
	Maglev            *Maglev        `json:"maglev,omitempty"`
	Random            *Random        `json:"random,omitempty"`
	// CloseConnectionsOnHostSetChange drains connections when endpoints change.
	CloseConnectionsOnHostSetChange *bool `json:"closeConnectionsOnHostSetChange,omitempty"`
}

// LeastRequest takes the least busy of ChoiceCount endpoints.
type LeastRequest struct {
	ChoiceCount int32      `json:"choiceCount,omitempty"` // 2 by default
	SlowStart   *SlowStart `json:"slowStart,omitempty"`
}

// RoundRobin takes one endpoint after the other.
type RoundRobin struct {
	SlowStart *SlowStart `json:"slowStart,omitempty"`
}

// SlowStart gives a new endpoint its full share only after Window.
type SlowStart struct {
	Window *gwv1.Duration `json:"window,omitempty"`
	// Aggression is a number above 0, as text; "1.0" when it is not set.
	Aggression       *string `json:"aggression,omitempty"`
	MinWeightPercent *int32  `json:"minWeightPercent,omitempty"`
}

// RingHash takes the endpoint by the hash of the request.
type RingHash struct {
	MinimumRingSize       *int64 `json:"minimumRingSize,omitempty"`
	MaximumRingSize       *int64 `json:"maximumRingSize,omitempty"`
	UseHostnameForHashing *bool  `json:"useHostnameForHashing,omitempty"`
	// HashPolicies are not supported here: a TrafficPolicy has them.
	HashPolicies []Unread `json:"hashPolicies,omitempty"`
}

// Maglev takes the endpoint by the hash of the request.
type Maglev struct {
	UseHostnameForHashing *bool `json:"useHostnameForHashing,omitempty"`
	// HashPolicies are not supported here: a TrafficPolicy has them.
	HashPolicies []Unread `json:"hashPolicies,omitempty"`
}

// Random takes any endpoint.
type Random struct{}

// HealthCheck asks each endpoint whether it is well: exactly one of HTTP, GRPC
// and TCP is set.
type HealthCheck struct {
	Timeout            gwv1.Duration    `json:"timeout"`
	Interval           gwv1.Duration    `json:"interval"`
	UnhealthyThreshold int32            `json:"unhealthyThreshold"`
	HealthyThreshold   int32            `json:"healthyThreshold"`
	HTTP               *HealthCheckHTTP `json:"http,omitempty"`
	GRPC               *HealthCheckGRPC `json:"grpc,omitempty"`
	// TCP wants a connection and no more. kgateway has no such check.
	TCP *HealthCheckTCP `json:"tcp,omitempty"`
}

// HealthCheckHTTP wants one of ExpectedStatuses for a request.
type HealthCheckHTTP struct {
	// Host is the cluster's name when it is not set.
	Host *string `json:"host,omitempty"`
	Path string  `json:"path"`
	// Method is GET when it is not set.
	Method *string `json:"method,omitempty"`
	// ExpectedStatuses are 200 alone when there are none. kgateway has no such
	// field.
	ExpectedStatuses []int32 `json:"expectedStatuses,omitempty"`
}

// HealthCheckGRPC calls grpc.health.v1.Health.
type HealthCheckGRPC struct {
	ServiceName *string `json:"serviceName,omitempty"`
	// Authority is the cluster's name when it is not set.
	Authority *string `json:"authority,omitempty"`
}

// HealthCheckTCP has nothing to set.
type HealthCheckTCP struct{}

// OutlierDetection leaves out endpoints that answer badly.
type OutlierDetection struct {
	// Consecutive5xx is 5 when it is not set; 0 turns it off.
	Consecutive5xx *int32 `json:"consecutive5xx,omitempty"`
	// Interval is 10s when it is not set, BaseEjectionTime 30s, MaxEjectionPercent 10.
	Interval           *gwv1.Duration `json:"interval,omitempty"`
	BaseEjectionTime   *gwv1.Duration `json:"baseEjectionTime,omitempty"`
	MaxEjectionPercent *int32         `json:"maxEjectionPercent,omitempty"`
}

// CircuitBreakers bound what one Envoy asks of a back end at a time. What is not
// set is Envoy's: 1024, and 3 for retries.
type CircuitBreakers struct {
	MaxConnections     *int32 `json:"maxConnections,omitempty"`
	MaxPendingRequests *int32 `json:"maxPendingRequests,omitempty"`
	MaxRequests        *int32 `json:"maxRequests,omitempty"`
	MaxRetries         *int32 `json:"maxRetries,omitempty"`
	// TrackRemaining counts what is left in Envoy's statistics.
	TrackRemaining *bool `json:"trackRemaining,omitempty"`
}
