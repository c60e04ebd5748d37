package server_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gatefold/gatefold/envoy"
	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/server/delta/deltatest"
)

// fleet are clients that cost little: they skip what they are sent and acknowledge
// it. Each has a connection of its own, as an Envoy has.
type fleet struct {
	t        testing.TB
	address  string
	clusters int  // that each holds and asks the endpoints of
	deaf     bool // they never read
	canaries bool // they say so, and ask for what an Envoy asks for at least
	members  []*member
	// received counts down what all of them are to acknowledge, by type.
	received map[string]*sync.WaitGroup
}

// member is one client.
type member struct {
	*fleet
	body   io.WriteCloser
	cancel func()
}

func newFleet(t testing.TB, address string, clusters int) *fleet {
	f := &fleet{t: t, address: address, clusters: clusters, received: map[string]*sync.WaitGroup{}}
	for _, typ := range delta.Types() {
		f.received[typ] = &sync.WaitGroup{}
	}
	t.Cleanup(f.leave)
	return f
}

// join connects n clients that ask as Envoys do that come back, or new ones where
// version is 0.
func (f *fleet) join(n, version int) {
	f.t.Helper()
	joined := make(chan error)
	for range n {
		m := &member{fleet: f}
		f.members = append(f.members, m)
		go func() { joined <- m.connect(version) }()
	}
	for range n {
		if err := <-joined; err != nil {
			f.t.Error(err)
		}
	}
}

// leave ends all connections.
func (f *fleet) leave() {
	for _, m := range f.members {
		m.cancel()
	}
	f.members = nil
}

func (m *member) connect(version int) error {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols, DisableCompression: true}
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = func() { cancel(); transport.CloseIdleConnections() }
	body, write := io.Pipe()
	m.body = write
	request, err := http.NewRequestWithContext(ctx, http.MethodPost,
		"http://"+m.address+discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResources_FullMethodName, body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("Te", "trailers")
	asked := make(chan error, 1)
	go func() { asked <- m.ask(version) }()
	go func() {
		response, err := transport.RoundTrip(request) // returns with the first response
		if err == nil {
			defer response.Body.Close()
			if m.deaf {
				<-ctx.Done()
				return
			}
			err = m.read(bufio.NewReaderSize(response.Body, 16<<10))
		}
		if err != nil && ctx.Err() == nil {
			m.t.Error(err)
		}
	}()
	return <-asked
}

// ask sends what an Envoy asks when it connects.
func (m *member) ask(version int) error {
	var held map[string]string
	var names []string
	if version > 0 {
		held = map[string]string{}
	}
	for i := range m.clusters {
		names = append(names, clusterName(i))
		if version > 0 {
			held[clusterName(i)] = deltatest.Version(fmt.Sprint(version), nil)
		}
	}
	table := map[string]string{}
	if version > 0 {
		table["r"] = deltatest.Version(fmt.Sprint(version), nil)
	}
	requests := []*discoveryv3.DeltaDiscoveryRequest{
		{TypeUrl: cds, InitialResourceVersions: held, Node: &corev3.Node{Id: "test", Cluster: "shop/a", UserAgentName: "envoy"}},
		{TypeUrl: eds, InitialResourceVersions: held, ResourceNamesSubscribe: names},
		{TypeUrl: lds}, {TypeUrl: rds, ResourceNamesSubscribe: []string{"r"}, InitialResourceVersions: table},
	}
	if m.clusters == 0 && !m.canaries {
		requests = requests[:1]
		requests[0].TypeUrl, requests[0].ResourceNamesSubscribe, requests[0].InitialResourceVersions = rds, []string{"r"}, table
	}
	if m.canaries {
		requests[0].Node.Metadata = canaryMetadata()
	}
	for _, r := range requests {
		if err := m.send(r); err != nil {
			return err
		}
	}
	return nil
}

func (m *member) send(request *discoveryv3.DeltaDiscoveryRequest) error {
	data, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	_, err = m.body.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(data))), data...))
	return err
}

// read acknowledges every response.
func (m *member) read(from *bufio.Reader) error {
	for {
		r, err := readResponse(from)
		if err != nil {
			return err
		}
		if err := m.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.typ, ResponseNonce: r.nonce}); err != nil {
			return err
		}
		m.received[r.typ].Add(-r.resources)
	}
}

// skipped is what is read of a response.
type skipped struct {
	typ, nonce string
	resources  int
}

// readResponse skips the resources of a response.
func readResponse(from *bufio.Reader) (r skipped, err error) {
	var head [5]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return r, err
	}
	for left := int(binary.BigEndian.Uint32(head[1:])); left > 0; {
		tag, err := binary.ReadUvarint(from)
		if err != nil {
			return r, err
		}
		size, err := binary.ReadUvarint(from)
		if err != nil {
			return r, err
		}
		left -= protowire.SizeVarint(tag) + protowire.SizeVarint(size) + int(size)
		var text []byte
		if number, _ := protowire.DecodeTag(tag); number == 2 {
			r.resources++
			_, err = from.Discard(int(size))
		} else {
			text = make([]byte, size)
			_, err = io.ReadFull(from, text)
			switch number {
			case 4:
				r.typ = string(text)
			case 5:
				r.nonce = string(text)
			}
		}
		if err != nil {
			return r, errors.Join(errors.New("in a response"), err)
		}
	}
	return r, nil
}

// canaryMetadata is the metadata of an Envoy of stage canary.
func canaryMetadata() *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{envoy.StageKey: structpb.NewStringValue(envoy.Canary)}}
}
