package ir

// Infra is what a Gateway needs of the machine that its Envoy runs on: the second
// output of translation (Envoy Gateway's translator design), for whoever starts that Envoy.
type Infra struct {
	// Gateway is "namespace/name", the node.cluster of its Envoy.
	Gateway string
	// Origin is of the Gateway, for the order of those that want the same.
	Origin *Origin `json:"-"`
	// Addresses are the IP addresses to bind, sorted. A Gateway that can use none
	// has none.
	Addresses []string
	// Ports are those that Envoy listens on, sorted; none while no listener serves.
	Ports []uint32
}

// InfraUpdate is a step from one Infra of a Gateway to the next.
type InfraUpdate struct {
	Gateway string
	Infra   *Infra // nil when the Gateway is gone, or is no longer ours
}
