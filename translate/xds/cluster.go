package xds

import (
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	httpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatefold/gatefold/translate/ir"
)

const (
	connectTimeout = 5 * time.Second
	// edsTimeout is how long Envoy waits for endpoints that do not come (docs/design/xds.md).
	edsTimeout = 5 * time.Second
	// panicPercent is the percentage of healthy endpoints below which Envoy uses all endpoints. With Envoy's
	// default of 50, Envoy would send new requests to draining endpoints during every larger rollout. With 1,
	// draining endpoints are the last resort.
	panicPercent = 1
	// maxRetries is how many requests Envoy retries at a time for one cluster. With Envoy's default of 3, a rule with
	// retries would fail with its fourth client while an endpoint is dead. It is as many as Envoy's defaults allow
	// requests, and connections, so that no retry fails where a first attempt would not.
	maxRetries = 1024

	httpOptions = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
)

// Cluster returns the Envoy cluster as a resource. Depending on c.Discovery, the resource has the addresses of the
// endpoints, or their host names, which Envoy resolves by DNS, or no endpoints: they are then sent by EDS over the
// same xDS stream (see Assignment). Static endpoints must be IP addresses.
func Cluster(c *ir.Cluster) Resource {
	return newResource(ClusterType, c.Name, marshal(clusterMessage(c)))
}

// clusterMessage returns the message that Cluster encodes.
func clusterMessage(c *ir.Cluster) *clusterv3.Cluster {
	cluster := &clusterv3.Cluster{
		Name:                          c.Name,
		ConnectTimeout:                durationpb.New(connectTimeout),
		PerConnectionBufferLimitBytes: wrapperspb.UInt32(ir.ConnectionBuffer),
		CommonLbConfig: &clusterv3.Cluster_CommonLbConfig{
			HealthyPanicThreshold: &typev3.Percent{Value: panicPercent},
		},
		CircuitBreakers:               breakers(&ir.Breakers{}),
		TypedExtensionProtocolOptions: protocolOptions(c),
	}
	switch c.Discovery {
	case ir.Static:
		cluster.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}
		cluster.LoadAssignment = loadAssignment(c)
	case ir.DNS:
		cluster.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STRICT_DNS}
		cluster.LoadAssignment = loadAssignment(c)
		// With both families, half of the requests would go to addresses that a host without IPv6 cannot reach.
		cluster.DnsLookupFamily = clusterv3.Cluster_V4_PREFERRED
	case ir.EDS:
		cluster.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS}
		source := adsSource()
		source.InitialFetchTimeout = durationpb.New(edsTimeout)
		cluster.EdsClusterConfig = &clusterv3.Cluster_EdsClusterConfig{EdsConfig: source}
	}
	if c.TLS != nil {
		cluster.TransportSocket = upstreamTLS(c)
	}
	applyUpstream(cluster, c)
	return cluster
}

// Assignment returns the endpoints of an EDS cluster, as a resource with the cluster's name. ok is false for
// other kinds of discovery.
func Assignment(c *ir.Cluster) (resource Resource, ok bool) {
	if c.Discovery != ir.EDS {
		return Resource{}, false
	}
	return newResource(EndpointType, c.Name, marshal(loadAssignment(c))), true
}

// loadAssignment returns the message with the endpoints of a cluster.
func loadAssignment(c *ir.Cluster) *endpointv3.ClusterLoadAssignment {
	assignment := &endpointv3.ClusterLoadAssignment{ClusterName: c.Name}
	if len(c.Endpoints) == 0 {
		return assignment
	}
	endpoints := make([]*endpointv3.LbEndpoint, len(c.Endpoints))
	for i, endpoint := range c.Endpoints {
		endpoints[i] = lbEndpoint(endpoint)
	}
	assignment.Endpoints = []*endpointv3.LocalityLbEndpoints{{LbEndpoints: endpoints}}
	return assignment
}

func lbEndpoint(e ir.Endpoint) *endpointv3.LbEndpoint {
	endpoint := &endpointv3.LbEndpoint{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{
		Endpoint: &endpointv3.Endpoint{Address: socketAddress(e.Host, e.Port)},
	}}
	if e.Draining {
		endpoint.HealthStatus = corev3.HealthStatus_DRAINING
	}
	if e.Weight > 0 {
		endpoint.LoadBalancingWeight = wrapperspb.UInt32(e.Weight)
	}
	return endpoint
}

// protocolOptions returns the options for HTTP/2, or nil for HTTP/1.1.
func protocolOptions(c *ir.Cluster) map[string]*anypb.Any {
	if !c.HTTP2 {
		return nil
	}
	return map[string]*anypb.Any{httpOptions: pack(&httpv3.HttpProtocolOptions{
		UpstreamProtocolOptions: &httpv3.HttpProtocolOptions_ExplicitHttpConfig_{
			ExplicitHttpConfig: &httpv3.HttpProtocolOptions_ExplicitHttpConfig{
				ProtocolConfig: &httpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
					Http2ProtocolOptions: &corev3.Http2ProtocolOptions{},
				},
			},
		},
	})}
}
