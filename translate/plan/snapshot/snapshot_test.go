package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/plan"
)

func small() plan.Side {
	origin := &ir.Origin{Key: manifest.Key{Kind: "HTTPRoute", Namespace: "a", Name: "r"}}
	rules := []*ir.Rule{{Name: "HTTPRoute/a/r/0/0", Root: origin, Source: origin, Action: ir.Action{Extras: &ir.Extras{
		BasicAuth: &ir.BasicAuth{CredentialUse: ir.CredentialUse{List: []ir.Credential{{Name: "alice", Secret: "hash-1"}, {Name: "bob", Secret: "hash-2"}}}},
		JWTAuth:   &ir.JWTAuth{ExtensionUse: ir.ExtensionUse{Extension: &ir.Extension{JWT: &ir.JWT{Providers: []ir.JWTProvider{{Keys: "key-1"}}}}}},
	}}}}
	return plan.Side{
		View: &ir.View{
			Gateways: []ir.GatewayView{{Name: "a/eg", Ports: []ir.PortView{{Port: &ir.Port{Name: "a/eg/http-80", Port: 80}, Hosts: []ir.HostView{
				{Domain: "*", Rules: func(yield func(*ir.Rule) bool) { _ = yield(rules[0]) }},
			}}}}},
			Clusters: map[string]*ir.Cluster{"c": {Name: "c"}},
		},
		Objects:   []*manifest.Object{{Key: origin.Key, Hash: [32]byte{1}}, {Key: manifest.Key{Kind: "Secret", Namespace: "a", Name: "s"}, Hash: [32]byte{2}}},
		Resources: []plan.Resource{{Gateway: "a/eg", Type: "t", Name: "n", Version: "v-1"}},
	}
}

func written(t testing.TB, head Head, side plan.Side) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, head, side); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestNoSecretIsWritten(t *testing.T) {
	head := NewHead(3, translate.Surroundings{})
	text := written(t, head, small())
	for _, secret := range []string{"alice", "bob", "hash-", "key-1", "v-1"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is written: %s", secret, text)
		}
	}
	got, side, err := Read(strings.NewReader(text))
	if err != nil || !reflect.DeepEqual(got.Key, head.Key) || got.Revision != 3 {
		t.Fatalf("%v, %+v", err, got)
	}
	for rule := range side.View.Gateways[0].Ports[0].Hosts[0].Rules {
		if users := rule.Action.Extras.BasicAuth.List; len(users) != 2 || len(users[0].Name) != 2*sumBytes {
			t.Errorf("the users are %+v", users)
		}
	}
	if side.Objects[0].Hash == [32]byte{} || side.Objects[1].Hash != [32]byte{} {
		t.Errorf("the sums are %v and, of the Secret, %v", side.Objects[0].Hash, side.Objects[1].Hash)
	}
	if other := written(t, NewHead(3, translate.Surroundings{}), small()); other == text {
		t.Error("another snapshot has the same sums")
	}
}

func TestSurroundingsAreKept(t *testing.T) {
	var guard backend.Guard
	for _, text := range []string{"10.0.0.0/8", "127.0.0.1:9901", "[::1]:80", "db.internal:5432"} {
		endpoints, err := backend.ParseEndpoints(text)
		if err != nil {
			t.Fatal(err)
		}
		guard.Refuse = append(guard.Refuse, endpoints)
	}
	around := translate.Surroundings{
		Options:     translate.Options{Weighted: true, AddressPool: netip.MustParsePrefix("127.0.1.0/24"), Guard: guard},
		Quarantine:  translate.Quarantine{{Route: "HTTPRoute/a/r/0/0", Sum: [32]byte{1}}: {Words: "no", Match: true}},
		Discoveries: translate.Discoveries{"https://idp.test": {Token: "https://idp.test/token"}},
	}
	head, _, err := Read(strings.NewReader(written(t, NewHead(1, around), small())))
	if err != nil || !reflect.DeepEqual(head.Surroundings, around) {
		t.Errorf("%v: %+v, want %+v", err, head.Surroundings, around)
	}
}

func TestIncompleteIsNotRead(t *testing.T) {
	lines := strings.SplitAfter(written(t, NewHead(1, translate.Surroundings{}), small()), "\n")
	whole := strings.Join(lines, "")
	for name, text := range map[string]string{
		"nothing": "", "without its end": strings.Join(lines[:len(lines)-2], ""), "a part is missing": lines[0] + strings.Join(lines[2:], ""),
		"no head": strings.Join(lines[1:], ""), "two heads": lines[0] + strings.Replace(whole, fmt.Sprintf(`"End":%d`, len(lines)-2), fmt.Sprintf(`"End":%d`, len(lines)-1), 1),
		"no JSON": "<html>", "a part of no port": lines[0] + lines[1] + lines[3], "cut": whole[:len(whole)/2],
	} {
		if _, _, err := Read(strings.NewReader(text)); err == nil || errors.Is(err, io.EOF) && name != "nothing" {
			t.Errorf("%s: it is read, or %v", name, err)
		}
	}
	if _, _, err := Read(strings.NewReader(strings.Replace(whole, format(), "other", 1))); !errors.Is(err, ErrFormat) {
		t.Errorf("of another version: %v", err)
	}
}

// FuzzRead reads anything: it returns an error or a side that can be walked.
func FuzzRead(f *testing.F) {
	text := written(f, NewHead(1, translate.Surroundings{}), small())
	f.Add(text)
	f.Add(strings.Replace(text, `"Root":{`, `"Root":null,"x":{`, 1))
	f.Fuzz(func(_ *testing.T, text string) {
		_, side, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, gateway := range side.View.Gateways {
			for _, port := range gateway.Ports {
				_ = port.Port.Scheme()
				for _, host := range port.Hosts {
					for rule := range host.Rules {
						_ = rule.Root.Key.String() + rule.Source.Key.String()
					}
				}
			}
		}
	})
}
