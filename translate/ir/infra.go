package ir

// Infra is what a Gateway needs from the machine that its Envoy runs on. It is the second output of translation
// (Envoy Gateway's translator design). The program that starts the Envoy reads the Infra.
type Infra struct {
	// Gateway is the Gateway's "namespace/name", which is the node.cluster of its Envoy.
	Gateway string
	// Origin is the Gateway with its age, for conflict resolution.
	Origin *Origin `json:"-"`
	// Addresses are the IP addresses to bind, sorted. It is empty if the Gateway can use none.
	Addresses []string
	// Ports are the ports that Envoy listens on, sorted. It is empty while no listener is served.
	Ports []uint32
}

// InfraUpdate is a change of a Gateway's Infra.
type InfraUpdate struct {
	Gateway string
	Infra   *Infra // nil if the Gateway does not exist any more, or if gatefold no longer serves it
}
