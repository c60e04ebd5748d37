package ir

// Infra is what a Gateway needs from the machine that its Envoy runs on: the second output of
// translation (Envoy Gateway's translator design). The program that starts that Envoy reads it.
type Infra struct {
	// Gateway is "namespace/name", the node.cluster of its Envoy.
	Gateway string
	// Origin is that of the Gateway, for conflict resolution.
	Origin *Origin `json:"-"`
	// Addresses are the IP addresses to bind, sorted; empty if the Gateway can use none.
	Addresses []string
	// Ports are those that Envoy listens on, sorted; empty while no listener is served.
	Ports []uint32
}

// InfraUpdate is a change of a Gateway's Infra.
type InfraUpdate struct {
	Gateway string
	Infra   *Infra // nil when the Gateway is gone, or is no longer ours
}
