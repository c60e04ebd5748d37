package ir

import "time"

// ConnectionBuffer is the limit of the buffer of one connection, in bytes: of each connection of a client, and of those
// to backends without Upstream.BufferLimit. Envoy keeps no more of a request's body to send it again.
const ConnectionBuffer = 32 << 10

// Upstream configures how Envoy connects to the endpoints of a Cluster, chooses among them and checks them. nil
// fields keep the defaults: those of package xds for ConnectTimeout, BufferLimit, Balancer.PanicPercent and
// Breakers.Retries, and those of Envoy for the others.
type Upstream struct {
	ConnectTimeout *time.Duration
	// BufferLimit limits the buffer of one connection, in bytes. 0 means no limit.
	BufferLimit *uint32
	Keepalive   *Keepalive
	Balancer    *Balancer
	HealthCheck *HealthCheck
	Outliers    *Outliers
	Breakers    *Breakers
}

// Keepalive configures TCP probes of idle connections. 0 means the system's default.
type Keepalive struct {
	Probes         uint32
	Time, Interval time.Duration
}

// BalancerKind is how an endpoint is chosen.
type BalancerKind uint8

// The kinds of Balancer.
const (
	RoundRobin BalancerKind = iota
	LeastRequest
	RingHash
	Maglev
	Random
)

// Balancer configures how Envoy chooses the endpoint of a request.
type Balancer struct {
	Kind BalancerKind
	// PanicPercent is the percentage of healthy endpoints below which Envoy uses all endpoints.
	PanicPercent *uint32
	// MergeWindow is how long Envoy collects changes of endpoints before it applies them. 0 applies each change at
	// once.
	MergeWindow *time.Duration
	// CloseOnChange is true if Envoy drains connections when the endpoints change.
	CloseOnChange bool
	// Choices is how many endpoints LeastRequest compares.
	Choices uint32
	// SlowStart is used for RoundRobin and LeastRequest.
	SlowStart *SlowStart
	// MinRing and MaxRing are the sizes of the ring for RingHash. 0 means Envoy's default.
	MinRing, MaxRing uint64
	// HashNames is true if endpoints are hashed by their DNS names, not by their addresses.
	HashNames bool
	// Hash are the sources of a request's hash for RingHash and Maglev. If there are none, the Extras.Hash of the
	// route apply.
	Hash []Hash
}

// HashesRoutes reports whether Envoy chooses the endpoint by the hash that the route of a request sets (Extras.Hash).
// The receiver may be nil.
func (b *Balancer) HashesRoutes() bool {
	return b != nil && (b.Kind == RingHash || b.Kind == Maglev) && len(b.Hash) == 0
}

// SlowStart increases the load of a new endpoint over a window of time.
type SlowStart struct {
	Window     time.Duration
	Aggression float64 // 0 means Envoy's default
	// MinPercent is the percentage of the load to begin with.
	MinPercent *uint32
}

// HealthCheck checks endpoints by HTTP or by gRPC. If HTTP and GRPC are nil, it only opens a connection.
type HealthCheck struct {
	Timeout, Interval  time.Duration
	Unhealthy, Healthy uint32 // how many checks in a row change the state of an endpoint
	HTTP               *HTTPCheck
	GRPC               *GRPCCheck
}

// HTTPCheck is one request. An endpoint is healthy if the status of the answer is in Statuses.
type HTTPCheck struct {
	Host     string // "" means a name made from the backend
	Path     string
	Method   string   // "" means GET
	Statuses []uint32 // sorted; empty means 200
}

// GRPCCheck is a call of grpc.health.v1.Health.
type GRPCCheck struct {
	Service   string
	Authority string // "" means a name made from the backend
}

// Outliers ejects endpoints that answer with errors. nil fields mean Envoy's defaults.
type Outliers struct {
	Consecutive5xx     *uint32 // 0 means that these errors eject no endpoint
	Interval, Ejection *time.Duration
	MaxPercent         *uint32
}

// Breakers are Envoy's circuit breakers for a cluster: limits of the load that Envoy sends to the cluster at the
// same time. nil fields mean the defaults (see Upstream).
type Breakers struct {
	Connections, Pending, Requests, Retries *uint32
	// Remaining is true if Envoy's statistics show how much of each limit is unused.
	Remaining bool
}
