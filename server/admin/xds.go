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

	// The messages of the types that are served; what is inside them is known
	// because translate/xds makes it.
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

// redacted stands where the content of a secret would.
const redacted = "[redacted]"

// XDS is the page /api/v1/xds.
type XDS struct {
	Gateways []Gateway `json:"gateways"`
	Streams  []Stream  `json:"streams"`
}

// Gateway is the configuration for the Envoys of a Gateway.
type Gateway struct {
	Name string `json:"name"`
	// Resources are by type, then sorted by name.
	Resources map[string][]Resource `json:"resources"`
}

// Resource is an xDS resource. Config of a secret has only its public content.
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
	// Identity is what the Envoy's certificate says, "" without TLS.
	Identity string `json:"identity,omitempty"`
	// Stage is "canary" for an Envoy that gets each revision before others, else "".
	Stage string `json:"stage,omitempty"`
	// Known is false for an Envoy that asks for a Gateway with nothing to serve.
	Known     bool      `json:"known"`
	Connected time.Time `json:"connected"`
	// Revision is the newest revision of RevisionList that it holds, of what it asks for; 0 for none.
	// What it rejected is in Types.
	Revision uint64 `json:"revision"`
	// Types are by type: figures, and what was rejected.
	Types map[string]TypeState `json:"types"`
}

// TypeState is what a stream has of the resources of one type.
type TypeState struct {
	// Acked counts the resources that the Envoy holds, Pending those that are to
	// be sent or answered, Removing those that wait until nothing uses them.
	Acked    int        `json:"acked"`
	Pending  int        `json:"pending"`
	Removing int        `json:"removing"`
	Rejected []Rejected `json:"rejected,omitempty"`
}

// Rejected is a resource that an Envoy rejected, with Envoy's message.
type Rejected struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Held is the version that the Envoy serves on with, "" when it has none.
	Held  string `json:"held,omitempty"`
	Words string `json:"words"`
}

func (p pages) xds(w http.ResponseWriter, _ *http.Request) {
	gateways, streams := p.Envoys.Resources()
	dump := XDS{Gateways: []Gateway{}, Streams: streams}
	for _, gateway := range slices.Sorted(maps.Keys(gateways)) {
		dump.Gateways = append(dump.Gateways, dumpGateway(gateway, gateways[gateway]))
	}
	answer(w, http.StatusOK, dump)
}

func dumpGateway(name string, entries []*xds.Resource) Gateway {
	slices.SortFunc(entries, func(a, b *xds.Resource) int { return cmp.Compare(a.Name, b.Name) })
	dump := Gateway{Name: name, Resources: map[string][]Resource{}}
	for _, e := range entries {
		typ := xds.ShortType(e.Type)
		dump.Resources[typ] = append(dump.Resources[typ], dumpResource(e))
	}
	return dump
}

// sumPrefix is how many characters of a secret's sum are shown: enough to see
// whether two are the same, too few to try guesses against.
const sumPrefix = 12

func dumpResource(e *xds.Resource) Resource {
	return Resource{e.Name, ShownVersion(e), ConfigJSON(e)}
}

// ShownVersion returns a resource's version. Of a secret's version it returns only the beginning,
// because that is a hash of the content.
func ShownVersion(r *xds.Resource) string {
	if r.Type == xds.SecretType {
		return r.Version[:min(len(r.Version), sumPrefix)]
	}
	return r.Version
}

// secretDump has the public content of a secret: of a certificate, what every client can see.
type secretDump struct {
	Secret   string     `json:"secret"`
	SHA256   string     `json:"sha256"` // the beginning of the certificate's, or else the content's
	Names    []string   `json:"names,omitempty"`
	NotAfter *time.Time `json:"notAfter,omitempty"`
}

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

// ConfigJSON returns a resource as protobuf JSON, without passwords and keys. Of a secret it
// returns only the public parts of its certificate.
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

func mustJSON(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // only strings are given
	}
	return text
}
