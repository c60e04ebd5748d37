package mtls

import (
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// What a certificate may have, by its names and the grants.
func TestACertificateMayHaveWhatItsNamesSay(t *testing.T) {
	grants, err := ParseGrants([]string{
		"Edge-1.example=shop/b", "edge-1.example=shop/c", "all.example=*", "spiffe://td/edge/2=shop/d", "urn:x=y=shop/e",
	})
	if err != nil {
		t.Fatal(err)
	}
	authority := envoytest.NewAuthority(t)
	for _, test := range []struct {
		names string
		may   string
		not   string
	}{
		{"spiffe://td/gateway/shop/a", "shop/a", "shop/b shop/aa all shop a shop/"},
		{"spiffe://other/gateway/shop/my.gw", "shop/my.gw", "shop/my"},
		{"spiffe://td/gateway/shop/a,EDGE-1.example", "shop/a shop/b shop/c", "shop/d all"},
		{"all.example", "shop/a x/y all gatefold", ""},
		{"spiffe://td/edge/2", "shop/d", "edge/2 all"},
		// What looks like a grant and is none.
		{"spiffe://td/ns/gateway/shop/a", "", "shop/a"},
		{"spiffe://td/gateway/shop/a/b", "", "shop/a a/b shop/a/b"},
		{"spiffe://td/gateway/shop/a/", "", "shop/a shop/a/"},
		{"spiffe://td/gateway//a", "", "/a"},
		{"spiffe://td/gateway/*/*", "", "*/* shop/a all"},
		{"spiffe://td/gateway/*", "", "all *"},
		{"spiffe://td/gateway/shop%2Fa", "", "shop/a shop%2Fa"},
		{"spiffe://td/gateway/shop/%61", "", "shop/a shop/%61"},
		{"spiffe://td/gateway/shop/a?x=y", "", "shop/a"},
		{"spiffe://user@td/gateway/shop/a", "", "shop/a"},
		{"https://td/gateway/shop/a", "", "shop/a"},
		{"sub.edge-1.example", "", "shop/b"},
		{"shop/a", "", "shop/a"},
		{"10.0.0.1", "", "shop/a all"},
	} {
		leaf := authority.Pair(strings.Split(test.names, ",")...).Leaf
		who := grants.Identify(leaf)
		for _, cluster := range strings.Fields(test.may) {
			if !who.May(cluster) {
				t.Errorf("%s may not have %q", test.names, cluster)
			}
		}
		for _, cluster := range append(strings.Fields(test.not), "other/gw") {
			if test.names != "all.example" && who.May(cluster) {
				t.Errorf("%s may have %q", test.names, cluster)
			}
		}
	}
}

func TestWithoutCertificates(t *testing.T) {
	for _, test := range []struct {
		who     Identity
		cluster string
		want    bool
	}{
		{Local(), "shop/a", true}, {Local(), "all", true}, {Local(), "", true},
		{Unproved(), "shop/a", true}, {Unproved(), "all", false}, {Unproved(), "", false},
		{Identity{}, "shop/a", false}, {Identity{}, "all", false}, {Identity{}, "", false},
	} {
		if got := test.who.May(test.cluster); got != test.want {
			t.Errorf("%+v may have %q: %t", test.who, test.cluster, got)
		}
	}
}

func TestGrantsThatCannotBeRead(t *testing.T) {
	for _, text := range []string{"", "edge", "=shop/a", "edge=", "edge=shop", "edge=shop/", "edge=/a", "edge=a/b/c", "edge=shop/*", "edge=**"} {
		if _, err := ParseGrants([]string{"good.example=shop/a", text}); err == nil || !strings.Contains(err.Error(), `"`+text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A rejection says what was asked, what there is and what to do.
func TestARefusalTellsTheWayOut(t *testing.T) {
	one := Identity{Names: []string{"spiffe://td/gateway/shop/a"}, gateways: []string{"shop/a"}}
	for _, test := range []struct {
		who           Identity
		cluster, want string
	}{
		{one, "shop/b", "asks for Gateway shop/b, and the client's certificate is for shop/a only"},
		{one, "", "asks for all Gateways, and the client's certificate is for shop/a only"},
		{Identity{}, "shop/b", "is for none: it needs the URI spiffe://TRUST-DOMAIN/gateway/NAMESPACE/NAME, or --xds-tls-identity"},
		{Unproved(), "all", `node.cluster is "all": name one Gateway as namespace/name`},
	} {
		if got := test.who.Denial(test.cluster); !strings.Contains(got, test.want) {
			t.Errorf("got %q, want %q in it", got, test.want)
		}
	}
}
