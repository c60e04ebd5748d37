package server

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

// xdsDump is the page /api/v1/xds.
type xdsDump struct {
	Gateways []gatewayDump `json:"gateways"`
	Streams  []streamDump  `json:"streams"`
}

type gatewayDump struct {
	Name string `json:"name"`
	// Resources are by type, then sorted by name.
	Resources map[string][]resourceDump `json:"resources"`
}

type resourceDump struct {
	Name    string          `json:"name"`
	Version string          `json:"version"`
	Config  json.RawMessage `json:"config"`
}

type streamDump struct {
	ID      uint64 `json:"id"`
	Node    string `json:"node"`
	Cluster string `json:"cluster"`
	Envoy   string `json:"envoy,omitempty"`
	Peer    string `json:"peer"`
	// Identity is what the Envoy's certificate says, "" without TLS.
	Identity string `json:"identity,omitempty"`
	// Known is false for an Envoy that asks for a Gateway with nothing to serve.
	Known     bool      `json:"known"`
	Connected time.Time `json:"connected"`
	// Types are by type: figures, and what was rejected.
	Types map[string]ledgerDump `json:"types"`
}

type ledgerDump struct {
	// Acked counts the resources that the Envoy holds, Pending those that are to
	// be sent or answered, Removing those that wait until nothing uses them.
	Acked    int            `json:"acked"`
	Pending  int            `json:"pending"`
	Removing int            `json:"removing"`
	Rejected []rejectedDump `json:"rejected,omitempty"`
}

type rejectedDump struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Held is the version that the Envoy serves on with, "" when it has none.
	Held  string `json:"held,omitempty"`
	Words string `json:"words"`
}

func (s *Server) xdsPage(w http.ResponseWriter, _ *http.Request) {
	gateways, streams := s.snapshot()
	dump := xdsDump{Gateways: []gatewayDump{}, Streams: streams}
	for _, gateway := range slices.Sorted(maps.Keys(gateways)) {
		dump.Gateways = append(dump.Gateways, dumpGateway(gateway, gateways[gateway]))
	}
	answer(w, http.StatusOK, dump)
}

// snapshot takes what the page needs under the lock; entries are never changed,
// so they are rendered after it.
func (s *Server) snapshot() (map[string][]*entry, []streamDump) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gateways := map[string][]*entry{}
	streams := dumpStreams(nil, s.union)
	for gateway, c := range s.scopes {
		streams = dumpStreams(streams, c)
		if !c.known {
			continue
		}
		gateways[gateway] = []*entry{}
		for _, names := range c.target {
			for _, owners := range names {
				gateways[gateway] = append(gateways[gateway], owners[0].entry)
			}
		}
	}
	slices.SortFunc(streams, func(a, b streamDump) int { return cmp.Compare(a.ID, b.ID) })
	return gateways, streams
}

func dumpGateway(name string, entries []*entry) gatewayDump {
	slices.SortFunc(entries, func(a, b *entry) int { return cmp.Compare(a.Name, b.Name) })
	dump := gatewayDump{Name: name, Resources: map[string][]resourceDump{}}
	for _, e := range entries {
		typ := shortType(e.Type)
		dump.Resources[typ] = append(dump.Resources[typ], dumpResource(e))
	}
	return dump
}

// sumPrefix is how many characters of a secret's sum are shown: enough to see
// whether two are the same, too few to try guesses against.
const sumPrefix = 12

func dumpResource(e *entry) resourceDump {
	return resourceDump{e.Name, shownVersion(e.Resource), config(e)}
}

// shownVersion is a resource's version, and of a secret's only the beginning: it is
// a sum of the content.
func shownVersion(r *xds.Resource) string {
	if r.Type == xds.SecretType {
		return r.Version[:min(len(r.Version), sumPrefix)]
	}
	return r.Version
}

// secretDump is what may be seen of a secret: of a certificate, what every client is
// shown.
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

// config renders a resource in protobuf JSON, and of a secret what secretDump has.
func config(e *entry) json.RawMessage {
	if e.Type == xds.SecretType {
		return mustJSON(dumpSecret(e.Body))
	}
	message, err := (&anypb.Any{TypeUrl: e.Type, Value: e.Body}).UnmarshalNew()
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

func dumpStreams(to []streamDump, c *scope) []streamDump {
	if to == nil {
		to = []streamDump{}
	}
	for st := range c.streams {
		dump := streamDump{
			ID: st.id, Node: st.node, Cluster: st.cluster, Envoy: st.version, Peer: st.peer, Identity: st.identity,
			Known: c.known, Connected: st.opened.UTC(), Types: map[string]ledgerDump{},
		}
		for typ, l := range st.ledgers {
			dump.Types[shortType(typ)] = l.dump()
		}
		to = append(to, dump)
	}
	return to
}

func (l *ledger) dump() ledgerDump {
	dump := ledgerDump{Acked: l.held.size, Pending: l.due.size() + l.awaited, Removing: len(l.gone.in)}
	for _, name := range slices.Sorted(maps.Keys(l.rejected.of)) {
		r := l.rejected.of[name]
		held, _ := l.held.get(name)
		dump.Rejected = append(dump.Rejected, rejectedDump{name, r.version, held, r.words})
	}
	return dump
}
