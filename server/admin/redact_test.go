package admin

import (
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	keyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/api_key_auth/v3"
	basicv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/basic_auth/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatefold/gatefold/translate/xds"
)

// A table is shown without the passwords and keys that its filters compare with.
func TestCredentialsAreNotShown(t *testing.T) {
	pack := func(message proto.Message) *anypb.Any {
		packed, err := anypb.New(message)
		if err != nil {
			t.Fatal(err)
		}
		return packed
	}
	configs := map[string]*anypb.Any{
		"basic": pack(&basicv3.BasicAuthPerRoute{Users: &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: []byte("alice:hash-1")}}}),
		"key":   pack(&keyv3.ApiKeyAuthPerRoute{Credentials: []*keyv3.Credential{{Key: "key-1", Client: "acme"}}}),
	}
	body, err := proto.Marshal(&routev3.RouteConfiguration{Name: "table", VirtualHosts: []*routev3.VirtualHost{{
		Name: "a", TypedPerFilterConfig: configs, Routes: []*routev3.Route{{Name: "r", TypedPerFilterConfig: configs}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	text := string(ConfigJSON(&xds.Resource{Type: xds.RouteType, Name: "table", Body: body}))
	for _, secret := range []string{"hash-1", "aGFzaC0x", "key-1", "alice"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is shown: %s", secret, text)
		}
	}
	for _, shown := range []string{`"table"`, redacted} {
		if !strings.Contains(text, shown) {
			t.Errorf("%q is missing: %s", shown, text)
		}
	}
	broken := &anypb.Any{TypeUrl: "type.googleapis.com/no.such.Message", Value: []byte("secret-1")}
	body, err = proto.Marshal(&routev3.VirtualHost{Name: "a", TypedPerFilterConfig: map[string]*anypb.Any{"x": broken}})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(ConfigJSON(&xds.Resource{Type: "type.googleapis.com/envoy.config.route.v3.VirtualHost", Body: body})); !strings.Contains(text, "error") {
		t.Errorf("a message that cannot be read is shown: %s", text)
	}
}
