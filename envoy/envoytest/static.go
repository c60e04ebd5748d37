package envoytest

import (
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	jwtv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/jwt_authn/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// Static is a static configuration of Envoy that is made of xDS resources. It serves to test the resources
// without an xDS server.
type Static struct {
	resources bootstrapv3.Bootstrap_StaticResources
}

// AddListener adds an encoded Listener, and returns it decoded. It changes only the first filter chain: the
// RouteConfiguration in the parameter routes replaces RDS, and HTTP filters that would request their configuration
// get an empty one.
func (s *Static) AddListener(t testing.TB, listener []byte, routes *routev3.RouteConfiguration) *listenerv3.Listener {
	t.Helper()
	message, manager := &listenerv3.Listener{}, &hcmv3.HttpConnectionManager{}
	Decode(t, listener, message)
	filter := message.FilterChains[0].Filters[0]
	Decode(t, filter.GetTypedConfig().GetValue(), manager)
	manager.RouteSpecifier = &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: routes}
	if err := inlineFilters(manager.GetHttpFilters()); err != nil {
		t.Fatal(err)
	}
	for _, upgrade := range manager.GetUpgradeConfigs() {
		if err := inlineFilters(upgrade.GetFilters()); err != nil {
			t.Fatal(err)
		}
	}
	packed, err := anypb.New(manager)
	if err != nil {
		t.Fatal(err)
	}
	filter.ConfigType = &listenerv3.Filter_TypedConfig{TypedConfig: packed}
	s.resources.Listeners = append(s.resources.Listeners, message)
	return message
}

// inlineFilters gives an empty JwtAuthentication to each filter that would request its configuration.
func inlineFilters(filters []*hcmv3.HttpFilter) error {
	for _, filter := range filters {
		if filter.GetConfigDiscovery() == nil {
			continue
		}
		empty, err := anypb.New(&jwtv3.JwtAuthentication{})
		if err != nil {
			return err
		}
		filter.ConfigType = &hcmv3.HttpFilter_TypedConfig{TypedConfig: empty}
	}
	return nil
}

// AddCluster adds an encoded Cluster, which must contain its endpoints.
func (s *Static) AddCluster(t testing.TB, cluster []byte) {
	t.Helper()
	message := &clusterv3.Cluster{}
	Decode(t, cluster, message)
	s.resources.Clusters = append(s.resources.Clusters, message)
}

// Config returns the configuration as JSON, for Options.Config.
func (s *Static) Config(t testing.TB) []byte {
	t.Helper()
	config, err := protojson.Marshal(&bootstrapv3.Bootstrap{
		StaticResources: &s.resources,
		Admin: &bootstrapv3.Admin{Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Address: "127.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 0},
		}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// Decode unmarshals an encoded message. The test fails if it is invalid.
func Decode(t testing.TB, body []byte, into proto.Message) {
	t.Helper()
	if err := proto.Unmarshal(body, into); err != nil {
		t.Fatal(err)
	}
}
