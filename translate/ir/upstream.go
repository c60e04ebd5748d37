package ir

import "time"

// Upstream configures how Envoy connects to the endpoints of a Cluster, chooses among them and
// checks them. nil parts keep Envoy's defaults.
type Upstream struct {
	ConnectTimeout *time.Duration
	// BufferLimit limits the buffer of one connection, in bytes; 0 is no limit.
	BufferLimit *uint32
	Keepalive   *Keepalive
	Balancer    *Balancer
	HealthCheck *HealthCheck
	Outliers    *Outliers
	Breakers    *Breakers
}

// Keepalive probes idle connections; 0 is the system's default.
type Keepalive struct {
	Probes         uint32
	Time, Interval time.Duration
}

// BalancerKind is a way to choose an endpoint.
type BalancerKind uint8

// The ways to choose an endpoint.
const (
	RoundRobin BalancerKind = iota
	LeastRequest
	RingHash
	Maglev
	Random
)

// Balancer chooses the endpoint of a request.
type Balancer struct {
	Kind BalancerKind
	// PanicPercent is the share of healthy endpoints below which all are used.
	PanicPercent *uint32
	// MergeWindow is how long changes of endpoints are collected; 0 applies each at once.
	MergeWindow *time.Duration
	// CloseOnChange drains connections when the endpoints change.
	CloseOnChange bool
	// Choices is how many endpoints LeastRequest compares.
	Choices uint32
	// SlowStart is for RoundRobin and LeastRequest.
	SlowStart *SlowStart
	// MinRing and MaxRing are for RingHash; 0 is Envoy's default.
	MinRing, MaxRing uint64
	// HashNames hashes endpoints by their DNS names, not by their addresses.
	HashNames bool
}

// SlowStart raises the share of a new endpoint over a window of time.
type SlowStart struct {
	Window     time.Duration
	Aggression float64 // 0 is Envoy's own
	// MinPercent is the share to begin with.
	MinPercent *uint32
}

// HealthCheck checks endpoints by HTTP, by gRPC or, if both are nil, by a connection.
type HealthCheck struct {
	Timeout, Interval  time.Duration
	Unhealthy, Healthy uint32 // how many answers in a row turn an endpoint
	HTTP               *HTTPCheck
	GRPC               *GRPCCheck
}

// HTTPCheck is one request.
type HTTPCheck struct {
	Host     string // "" is a name made from the backend
	Path     string
	Method   string   // "" is GET
	Statuses []uint32 // sorted; none is 200
}

// GRPCCheck is a call of grpc.health.v1.Health.
type GRPCCheck struct {
	Service   string
	Authority string // "" is a name made from the backend
}

// Outliers ejects endpoints that answer with errors. nil is Envoy's default.
type Outliers struct {
	Consecutive5xx     *uint32 // 0 turns it off
	Interval, Ejection *time.Duration
	MaxPercent         *uint32
}

// Breakers limit the load of a cluster at a time; nil is Envoy's default.
type Breakers struct {
	Connections, Pending, Requests, Retries *uint32
	// Remaining counts what is left in Envoy's statistics.
	Remaining bool
}
