package ir

import "iter"

// View shows how requests are routed: what explain reads. It is immutable.
type View struct {
	Gateways []GatewayView // sorted by Name
}

// GatewayView is one Gateway.
type GatewayView struct {
	Name  string     // "namespace/name"
	Ports []PortView // sorted by port
}

// PortView is one port of a Gateway.
type PortView struct {
	Port  *Port
	Hosts []HostView // sorted by Domain
}

// HostView is one virtual host.
type HostView struct {
	Domain string // "shop.example.com", "*.example.com" or "*"
	// Rules yields the rules in the order in which they are tried.
	Rules iter.Seq[*Rule]
	Len   int
}
