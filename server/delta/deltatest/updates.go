package deltatest

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/translate/xds"
)

// Updates makes an update of each change: see Update.
func Updates(changes ...string) (updates []xds.Update) {
	for _, change := range changes {
		updates = append(updates, Update(change))
	}
	return updates
}

// Update makes an update for Gateway shop/a of a change such as "Cluster web@1", or "-Cluster web" for a resource
// that is removed. "shop/b: " before the change names another Gateway. It panics if there is no such type.
func Update(change string) xds.Update {
	gateway := "shop/a"
	if g, rest, ok := strings.Cut(change, ": "); ok {
		gateway, change = g, rest
	}
	change, gone := strings.CutPrefix(change, "-")
	kind, name, _ := strings.Cut(change, " ")
	name, content, _ := strings.Cut(name, "@")
	u := xds.Update{Gateway: gateway, Type: typeOf(kind), Name: name}
	if !gone {
		u.Resource = Resource(u.Type, name, content)
	}
	return u
}

// typeOf returns the resource type with a short name such as "Cluster".
func typeOf(kind string) string {
	for _, typ := range []string{xds.SecretType, xds.ClusterType, xds.EndpointType, xds.ListenerType, xds.FilterType, xds.RouteType} {
		if xds.ShortType(typ) == kind {
			return typ
		}
	}
	panic("no type " + kind)
}

// Resource makes a valid resource of this type and name, which has the content in one of its fields. Its version is
// that of Version.
func Resource(typ, name, content string) *xds.Resource {
	var message proto.Message
	switch typ {
	case xds.ClusterType:
		message = &clusterv3.Cluster{Name: name, AltStatName: content}
	case xds.EndpointType:
		message = &endpointv3.ClusterLoadAssignment{ClusterName: name, Policy: &endpointv3.ClusterLoadAssignment_Policy{
			DropOverloads: []*endpointv3.ClusterLoadAssignment_Policy_DropOverload{{Category: content}}}}
	case xds.ListenerType:
		message = &listenerv3.Listener{Name: name, StatPrefix: content}
	case xds.RouteType:
		message = &routev3.RouteConfiguration{Name: name, RequestHeadersToRemove: []string{content}}
	case xds.SecretType:
		message = &tlsv3.Secret{Name: name, Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
			PrivateKey: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: content}}}}}
	}
	body, err := proto.Marshal(message)
	if err != nil {
		panic(err)
	}
	return &xds.Resource{Type: typ, Name: name, Version: Version(content, body), Body: body}
}

// Version returns "content-" and the beginning of the hash of the body.
func Version(content string, body []byte) string {
	sum := sha256.Sum256(body)
	return content + "-" + hex.EncodeToString(sum[:4])
}
