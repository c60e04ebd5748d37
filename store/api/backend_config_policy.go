package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// BackendConfigPolicy says how Envoy reaches the Services and Backends that it targets.
// Each field of the spec except the targets is a policy of its own: several policies can
// set different fields for one target.
type BackendConfigPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec holds the targets and the settings.
	Spec BackendConfigPolicySpec `json:"spec"`
}

// BackendConfigPolicySpec holds what is set; nil fields leave things as they are.
type BackendConfigPolicySpec struct {
	// TargetRefs are Services and Backends in the policy's namespace. A policy of a
	// Service is for all its ports.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	TargetRefs []BackendTarget `json:"targetRefs,omitempty"`
	// TargetSelectors select Services and Backends in the policy's namespace by their labels.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	TargetSelectors []BackendSelector `json:"targetSelectors,omitempty"`

	// ConnectTimeout limits the time that a new connection takes; 5s when it is not set.
	ConnectTimeout *PositiveDuration `json:"connectTimeout,omitempty"`
	// PerConnectionBufferLimitBytes is how many bytes of a connection Envoy buffers;
	// 32768 when it is not set.
	//
	// +kubebuilder:validation:Minimum=0
	PerConnectionBufferLimitBytes *int32 `json:"perConnectionBufferLimitBytes,omitempty"`
	// TCPKeepalive probes idle connections.
	TCPKeepalive *TCPKeepalive `json:"tcpKeepalive,omitempty"`
	// LoadBalancer chooses the endpoint of a request.
	LoadBalancer *LoadBalancer `json:"loadBalancer,omitempty"`
	// HealthCheck sends a probe to each endpoint, and takes out those that fail it.
	HealthCheck *HealthCheck `json:"healthCheck,omitempty"`
	// OutlierDetection takes out endpoints that answer requests badly.
	OutlierDetection *OutlierDetection `json:"outlierDetection,omitempty"`
	// CircuitBreakers limit what each Envoy sends to the target at a time.
	CircuitBreakers *CircuitBreakers `json:"circuitBreakers,omitempty"`
}

// BackendTarget names a Service or a Backend.
//
// +kubebuilder:validation:XValidation:message=`a target is a Service (group: "") or a Backend (group: gateway.kgateway.dev)`,rule=`self.group == "" && self.kind == "Service" || self.group == "gateway.kgateway.dev" && self.kind == "Backend"`
type BackendTarget struct {
	// Group is "" for a Service, and gateway.kgateway.dev for a Backend.
	Group gwv1.Group `json:"group"`
	// Kind is Service or Backend.
	//
	// +kubebuilder:validation:Enum=Service;Backend
	Kind gwv1.Kind `json:"kind"`
	// Name is the name of the target.
	Name gwv1.ObjectName `json:"name"`
}

// BackendSelector selects the Services or the Backends that have all of MatchLabels.
//
// +kubebuilder:validation:XValidation:message=`a target is a Service (group: "") or a Backend (group: gateway.kgateway.dev)`,rule=`self.group == "" && self.kind == "Service" || self.group == "gateway.kgateway.dev" && self.kind == "Backend"`
type BackendSelector struct {
	// Group is "" for Services, and gateway.kgateway.dev for Backends.
	Group gwv1.Group `json:"group"`
	// Kind is Service or Backend.
	//
	// +kubebuilder:validation:Enum=Service;Backend
	Kind gwv1.Kind `json:"kind"`
	// MatchLabels are the labels that an object must have, all of them.
	MatchLabels map[string]string `json:"matchLabels"`
}

// TCPKeepalive probes idle connections. A field that is not set has the default of the
// operating system.
type TCPKeepalive struct {
	// KeepAliveProbes is how many probes without an answer end a connection. Linux accepts
	// at most 127.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=127
	KeepAliveProbes *int32 `json:"keepAliveProbes,omitempty"`
	// KeepAliveTime is how long a connection is idle before the first probe. It is counted in
	// whole seconds. Linux accepts at most 32767s.
	KeepAliveTime *KeepAliveDuration `json:"keepAliveTime,omitempty"`
	// KeepAliveInterval is the time between two probes. It is counted in whole seconds. Linux
	// accepts at most 32767s.
	KeepAliveInterval *KeepAliveDuration `json:"keepAliveInterval,omitempty"`
}

// LoadBalancer chooses the endpoint of a request: exactly one of LeastRequest,
// RoundRobin, RingHash, Maglev and Random is set.
//
// +kubebuilder:validation:XValidation:message="set exactly one of leastRequest, roundRobin, ringHash, maglev and random",rule="[has(self.leastRequest), has(self.roundRobin), has(self.ringHash), has(self.maglev), has(self.random)].filter(x, x).size() == 1"
type LoadBalancer struct {
	// HealthyPanicThreshold is the percentage of healthy endpoints below which
	// Envoy uses all of them; 1 when it is not set.
	HealthyPanicThreshold *Percentage `json:"healthyPanicThreshold,omitempty"`
	// UpdateMergeWindow is how long Envoy gathers changes of endpoints before it applies them;
	// 1s when it is not set. 0s applies each one at once.
	UpdateMergeWindow *Duration `json:"updateMergeWindow,omitempty"`
	// LeastRequest picks a few endpoints at random, and chooses the one of them with the
	// fewest active requests.
	LeastRequest *LeastRequest `json:"leastRequest,omitempty"`
	// RoundRobin chooses one endpoint after the other.
	RoundRobin *RoundRobin `json:"roundRobin,omitempty"`
	// RingHash chooses the endpoint by the hash of the request, on a ring.
	RingHash *RingHash `json:"ringHash,omitempty"`
	// Maglev chooses the endpoint by the hash of the request, in a table.
	Maglev *Maglev `json:"maglev,omitempty"`
	// Random chooses any endpoint.
	Random *Random `json:"random,omitempty"`
	// CloseConnectionsOnHostSetChange drains connections when endpoints change.
	CloseConnectionsOnHostSetChange *bool `json:"closeConnectionsOnHostSetChange,omitempty"`
}

// LeastRequest chooses the least busy of ChoiceCount endpoints.
type LeastRequest struct {
	// ChoiceCount is how many endpoints are compared for a request.
	//
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:default=2
	ChoiceCount int32 `json:"choiceCount,omitempty"`
	// SlowStart sends fewer requests to an endpoint that is new.
	SlowStart *SlowStart `json:"slowStart,omitempty"`
}

// RoundRobin chooses one endpoint after the other.
type RoundRobin struct {
	// SlowStart sends fewer requests to an endpoint that is new.
	SlowStart *SlowStart `json:"slowStart,omitempty"`
}

// SlowStart gives a new endpoint its full share only after Window.
type SlowStart struct {
	// Window is the time after which a new endpoint has its full share.
	Window *Duration `json:"window,omitempty"`
	// Aggression is a number above 0, as text; "1.0" when it is not set. The higher it is, the
	// sooner the share grows.
	//
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^[0-9]+([.][0-9]+)?$`
	// +kubebuilder:validation:XValidation:message="must be above 0",rule="double(self) > 0.0"
	Aggression *string `json:"aggression,omitempty"`
	// MinWeightPercent is the lowest share that a new endpoint gets, in percent of its full
	// share.
	MinWeightPercent *Percentage `json:"minWeightPercent,omitempty"`
}

// RingSize is the size of a RingHash's ring.
//
// +kubebuilder:validation:Minimum=1
// +kubebuilder:validation:Maximum=8388608
type RingSize = int64

// RingHash chooses the endpoint by the hash of the request.
//
// +kubebuilder:validation:XValidation:message="minimumRingSize (1024 when it is not set) is above maximumRingSize",rule="!has(self.maximumRingSize) || (has(self.minimumRingSize) ? self.minimumRingSize : 1024) <= self.maximumRingSize"
type RingHash struct {
	// MinimumRingSize is the least number of entries of the ring; 1024 when it is not set.
	MinimumRingSize *RingSize `json:"minimumRingSize,omitempty"`
	// MaximumRingSize is the highest number of entries of the ring; 8388608 when it is not set.
	MaximumRingSize *RingSize `json:"maximumRingSize,omitempty"`
	// UseHostnameForHashing hashes the name of an endpoint in place of its address.
	UseHostnameForHashing *bool `json:"useHostnameForHashing,omitempty"`
	// HashPolicies are what the endpoint follows from. Requests for which none of them has a value
	// go to any endpoint. Without them, hashPolicies of TrafficPolicies apply.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	HashPolicies []HashPolicy `json:"hashPolicies,omitempty"`
}

// Maglev chooses the endpoint by the hash of the request.
type Maglev struct {
	// UseHostnameForHashing hashes the name of an endpoint in place of its address.
	UseHostnameForHashing *bool `json:"useHostnameForHashing,omitempty"`
	// HashPolicies are what the endpoint follows from. Requests for which none of them has a value
	// go to any endpoint. Without them, hashPolicies of TrafficPolicies apply.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	HashPolicies []HashPolicy `json:"hashPolicies,omitempty"`
}

// Random chooses any endpoint.
type Random struct{}

// HealthCheck sends a probe to each endpoint: exactly one of HTTP, GRPC and TCP is set.
//
// +kubebuilder:validation:XValidation:message="set exactly one of http, grpc and tcp",rule="[has(self.http), has(self.grpc), has(self.tcp)].filter(x, x).size() == 1"
type HealthCheck struct {
	// Timeout limits the time until the answer to a probe.
	Timeout PositiveDuration `json:"timeout"`
	// Interval is the time between two probes.
	Interval PositiveDuration `json:"interval"`
	// UnhealthyThreshold is how many probes must fail before an endpoint is unhealthy.
	//
	// +kubebuilder:validation:Minimum=1
	UnhealthyThreshold int32 `json:"unhealthyThreshold"`
	// HealthyThreshold is how many probes must succeed before an endpoint is healthy again.
	//
	// +kubebuilder:validation:Minimum=1
	HealthyThreshold int32 `json:"healthyThreshold"`
	// HTTP sends an HTTP request.
	HTTP *HealthCheckHTTP `json:"http,omitempty"`
	// GRPC calls the service grpc.health.v1.Health.
	GRPC *HealthCheckGRPC `json:"grpc,omitempty"`
	// TCP opens a connection and no more. kgateway has no such check.
	TCP *HealthCheckTCP `json:"tcp,omitempty"`
}

// HealthCheckHTTP is an HTTP request that must be answered with one of ExpectedStatuses.
type HealthCheckHTTP struct {
	// Host is the Host header of the request; the cluster's name when it is not set.
	Host *HostName `json:"host,omitempty"`
	// Path is the path of the request.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path"`
	// Method is GET when it is not set.
	//
	// +kubebuilder:validation:Enum=GET;HEAD;POST;PUT;DELETE;OPTIONS;TRACE;PATCH
	Method *string `json:"method,omitempty"`
	// ExpectedStatuses are the status codes of a healthy endpoint; 200 alone when they are
	// not set. kgateway has no such field.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	ExpectedStatuses []StatusCode `json:"expectedStatuses,omitempty"`
}

// HealthCheckGRPC calls grpc.health.v1.Health.
type HealthCheckGRPC struct {
	// ServiceName is the gRPC service whose health Envoy asks for. When it is not set, Envoy
	// asks for the health of the whole server.
	//
	// +kubebuilder:validation:MaxLength=253
	ServiceName *string `json:"serviceName,omitempty"`
	// Authority is the :authority header of the call; the cluster's name when it is not set.
	//
	// +kubebuilder:validation:MaxLength=253
	Authority *string `json:"authority,omitempty"`
}

// HealthCheckTCP has nothing to set.
type HealthCheckTCP struct{}

// OutlierDetection takes out endpoints that answer badly.
type OutlierDetection struct {
	// Consecutive5xx is how many errors in a row take an endpoint out; 5 when it is not set.
	// 0 turns this off.
	//
	// +kubebuilder:validation:Minimum=0
	Consecutive5xx *int32 `json:"consecutive5xx,omitempty"`
	// Interval is the time between two looks at the endpoints; 10s when it is not set.
	Interval *PositiveDuration `json:"interval,omitempty"`
	// BaseEjectionTime is how long an endpoint is out the first time. The second time, it is
	// out twice as long, then three times as long, and so on. The default is 30s.
	BaseEjectionTime *PositiveDuration `json:"baseEjectionTime,omitempty"`
	// MaxEjectionPercent is the highest share of endpoints that are out; 10 when it is not set.
	MaxEjectionPercent *Percentage `json:"maxEjectionPercent,omitempty"`
}

// CircuitBreakers limit what one Envoy sends to a backend at a time. A limit that is not set
// has Envoy's default.
//
// +kubebuilder:validation:XValidation:message="set at least one of maxConnections, maxPendingRequests, maxRequests and maxRetries",rule="has(self.maxConnections) || has(self.maxPendingRequests) || has(self.maxRequests) || has(self.maxRetries)"
type CircuitBreakers struct {
	// MaxConnections is the highest number of connections; 1024 when it is not set.
	//
	// +kubebuilder:validation:Minimum=1
	MaxConnections *int32 `json:"maxConnections,omitempty"`
	// MaxPendingRequests is the highest number of requests that wait for a connection; 1024
	// when it is not set.
	//
	// +kubebuilder:validation:Minimum=1
	MaxPendingRequests *int32 `json:"maxPendingRequests,omitempty"`
	// MaxRequests is the highest number of active requests; 1024 when it is not set.
	//
	// +kubebuilder:validation:Minimum=1
	MaxRequests *int32 `json:"maxRequests,omitempty"`
	// MaxRetries is the highest number of active retries; 1024 when it is not set.
	//
	// +kubebuilder:validation:Minimum=0
	MaxRetries *int32 `json:"maxRetries,omitempty"`
	// TrackRemaining adds to Envoy's statistics how much of each limit is still free.
	TrackRemaining *bool `json:"trackRemaining,omitempty"`
}
