package admin

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"

	// These imports register the messages of the served types. The messages inside them are registered because
	// translate/xds imports their packages.
	_ "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatefold/gatefold/store/keypair"
	"github.com/gatefold/gatefold/translate/xds"
)

// redacted replaces the content of a secret.
const redacted = "[redacted]"

// XDS is the page /api/v1/xds.
type XDS struct {
	Gateways []Gateway `json:"gateways"`
	Streams  []Stream  `json:"streams"`
}

// Gateway is the configuration for the Envoys of a Gateway.
type Gateway struct {
	Name string `json:"name"`
	// Resources has a list for each type, by the short name of the type (xds.ShortType). The lists are sorted by
	// the name of the resource.
	Resources map[string][]Resource `json:"resources"`
}

// Resource is an xDS resource. For a secret, Config has only the public content.
type Resource struct {
	Name    string          `json:"name"`
	Version string          `json:"version"`
	Config  json.RawMessage `json:"config"`
}

// Stream is the discovery stream of a connected Envoy.
type Stream struct {
	ID      uint64 `json:"id"`
	Node    string `json:"node"`
	Cluster string `json:"cluster"`
	Envoy   string `json:"envoy,omitempty"`
	Peer    string `json:"peer"`
	// Identity is the name in the Envoy's certificate; "" without TLS.
	Identity string `json:"identity,omitempty"`
	// Stage is "canary" for an Envoy that gets each revision before other Envoys, and "" otherwise.
	Stage string `json:"stage,omitempty"`
	// Known is false if the Envoy requests a Gateway that never had a resource.
	Known     bool      `json:"known"`
	Connected time.Time `json:"connected"`
	// Revision is the newest revision of which the Envoy has answered every update; 0 if there is none. Types has
	// the resources that the Envoy rejected.
	Revision uint64 `json:"revision"`
	// Types has, by type, the numbers of resources, and what was rejected.
	Types map[string]TypeState `json:"types"`
}

// TypeState is the state of the resources of one type on a stream.
type TypeState struct {
	// Acked counts the resources that the Envoy has. Pending counts the resources that are not sent yet or not
	// acknowledged. Removing counts the resources that are removed when nothing uses them.
	Acked    int        `json:"acked"`
	Pending  int        `json:"pending"`
	Removing int        `json:"removing"`
	Rejected []Rejected `json:"rejected,omitempty"`
}

// Rejected is a resource that an Envoy rejected, with Envoy's error.
type Rejected struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Held is the version that the Envoy still serves; "" if it has none.
	Held  string `json:"held,omitempty"`
	Words string `json:"words"`
}

// xds serves the page /api/v1/xds: the resources of all Gateways, and the streams of all Envoys.
func (p pages) xds(w http.ResponseWriter, _ *http.Request) {
	gateways, streams := p.Envoys.Resources()
	dump := XDS{Gateways: []Gateway{}, Streams: streams}
	for _, gateway := range slices.Sorted(maps.Keys(gateways)) {
		dump.Gateways = append(dump.Gateways, dumpGateway(gateway, gateways[gateway]))
	}
	answer(w, http.StatusOK, dump)
}

// dumpGateway returns the JSON form of a Gateway's resources. It sorts entries by name, in place.
func dumpGateway(name string, entries []*xds.Resource) Gateway {
	slices.SortFunc(entries, func(a, b *xds.Resource) int { return cmp.Compare(a.Name, b.Name) })
	dump := Gateway{Name: name, Resources: map[string][]Resource{}}
	for _, e := range entries {
		typ := xds.ShortType(e.Type)
		dump.Resources[typ] = append(dump.Resources[typ], dumpResource(e))
	}
	return dump
}

// sumPrefix is how many characters of a secret's hash are shown. 12 are enough to see whether two secrets are
// equal, and too few to test guesses.
const sumPrefix = 12

// dumpResource returns the JSON form of a resource.
func dumpResource(e *xds.Resource) Resource {
	return Resource{e.Name, ShownVersion(e), ConfigJSON(e)}
}

// ShownVersion returns a resource's version. For a secret it returns only the beginning, because the version is
// a hash of the content.
func ShownVersion(r *xds.Resource) string {
	if r.Type == xds.SecretType {
		return r.Version[:min(len(r.Version), sumPrefix)]
	}
	return r.Version
}

// secretDump has the public content of a secret. For a certificate, it is what every client can see.
type secretDump struct {
	Secret   string     `json:"secret"`
	SHA256   string     `json:"sha256"` // the beginning of the hash of the certificate, or else of the content
	Names    []string   `json:"names,omitempty"`
	NotAfter *time.Time `json:"notAfter,omitempty"`
}

// dumpSecret returns the public content of an encoded secret.
func dumpSecret(body []byte) secretDump {
	var secret tlsv3.Secret
	if err := proto.Unmarshal(body, &secret); err == nil {
		if leaf := keypair.Leaf(secret.GetTlsCertificate().GetCertificateChain().GetInlineBytes()); leaf != nil {
			return secretDump{redacted, leaf.Sum(), leaf.Names(), &leaf.Leaf.NotAfter}
		}
	}
	sum := sha256.Sum256(body)
	return secretDump{Secret: redacted, SHA256: hex.EncodeToString(sum[:])[:sumPrefix]}
}

// ConfigJSON returns a resource as protobuf JSON, without passwords and keys. For a secret it returns only
// public content: that of its certificate, or the beginning of a hash. If the resource cannot be shown, the
// JSON has the error instead.
func ConfigJSON(e *xds.Resource) json.RawMessage {
	if e.Type == xds.SecretType {
		return mustJSON(dumpSecret(e.Body))
	}
	message, err := (&anypb.Any{TypeUrl: e.Type, Value: e.Body}).UnmarshalNew()
	if err == nil {
		err = redact(message.ProtoReflect())
	}
	if err == nil {
		var text []byte
		if text, err = protojson.Marshal(message); err == nil {
			return text
		}
	}
	return mustJSON(word{Error: err.Error()})
}

// mustJSON encodes a value that cannot fail to encode.
func mustJSON(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // values have only strings, so this cannot happen
	}
	return text
}
