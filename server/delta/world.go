package delta

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// The state-of-the-world protocol, for clients that are not set to the
// incremental one. A stream of it has the same plan and the same ledgers: its
// requests are put into the words of the incremental protocol, and its responses
// are made of the plan's. What differs is what the protocol cannot say:
//
//   - Clusters, listeners and scopes are listed in full each time. What the stream holds
//     stands in the list until the plan removes it, in the form that it holds.
//   - Tables, endpoints and secrets are sent as they change, and never removed:
//     they go with what names them.
//   - A client that comes back tells one version for a whole type. It is the sum
//     over all names and versions, and a client that tells the present one is
//     sent nothing.
//   - One response of a type is unanswered at a time.

// Field numbers of envoy.service.discovery.v3.DiscoveryResponse.
const (
	worldVersion   protowire.Number = 1
	worldResources protowire.Number = 2
	worldTypeURL   protowire.Number = 4
	worldNonce     protowire.Number = 5
)

// world is what a state-of-the-world stream has, by type and name.
type world map[string]map[string]*Entry

// wholeType is the name under which the version of a whole type stands in a
// request that is put into the words of the incremental protocol.
const wholeType = Wildcard

// Request is a request or answer of a client, in the form of the incremental protocol.
type Request = discoveryv3.DeltaDiscoveryRequest

// WorldReader converts the requests of a state-of-the-world stream to incremental ones. The zero
// value is for a new stream.
type WorldReader struct {
	names map[string]map[string]struct{} // by type: asked for
}

// Read decodes the stream's next request. The error means that it is no DiscoveryRequest.
func (w *WorldReader) Read(message []byte) (*Request, error) {
	request := &discoveryv3.DiscoveryRequest{}
	if err := proto.Unmarshal(message, request); err != nil {
		return nil, err
	}
	typ := request.GetTypeUrl()
	out := &Request{Node: request.GetNode(), TypeUrl: typ, ResponseNonce: request.GetResponseNonce(), ErrorDetail: request.GetErrorDetail()}
	if !slices.Contains(Types(), typ) {
		return out, nil
	}
	known, asked := w.names[typ]
	if !asked && request.GetVersionInfo() != "" {
		out.InitialResourceVersions = map[string]string{wholeType: request.GetVersionInfo()}
	}
	now := map[string]struct{}{}
	for _, name := range request.GetResourceNames() {
		now[name] = struct{}{}
		if _, ok := known[name]; !ok {
			out.ResourceNamesSubscribe = append(out.ResourceNamesSubscribe, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if _, ok := now[name]; !ok {
			out.ResourceNamesUnsubscribe = append(out.ResourceNamesUnsubscribe, name)
		}
	}
	if w.names == nil {
		w.names = map[string]map[string]struct{}{}
	}
	w.names[typ] = now
	return out, nil
}

// recall returns the versions of single resources for a client that reported the version of the
// whole type. If that equals the target's version, they are the target's, else none.
func (p *Plan) recall(l *ledger, version string) map[string]string {
	if version == "" {
		return nil
	}
	present, versions := map[string]*Entry{}, map[string]string{}
	for name := range p.target.Names(l.typ) {
		if l.wants(name) {
			e := p.target.Entry(l.typ, name)
			present[name], versions[name] = e, e.Version
		}
	}
	if version != sumOf(present) {
		return nil
	}
	p.world[l.typ] = present
	return versions
}

// sumOf returns the version of a whole type.
func sumOf(all map[string]*Entry) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		sum.Write([]byte(name + "\x00" + all[name].Version + "\x00"))
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// after returns what the stream has of a type after it accepts r.
func (w world) after(r *Response) map[string]*Entry {
	all := maps.Clone(w[r.Type])
	if all == nil {
		all = map[string]*Entry{}
	}
	for _, e := range r.Set {
		all[e.Name] = e
	}
	for _, name := range r.Removed {
		delete(all, name)
	}
	return all
}

// took updates what the stream has after an answer. A rejected form leaves the previous one in the
// list. A list without it would remove the resource.
func (p *Plan) took(r *Response, nack bool) {
	if p.world == nil {
		return
	}
	held := p.world[r.Type]
	if held == nil {
		held = map[string]*Entry{}
		p.world[r.Type] = held
	}
	l := p.ledgers[r.Type]
	for _, e := range r.Set {
		if version, _ := l.held.get(e.Name); version == e.Version {
			held[e.Name] = e
		}
	}
	if nack {
		return
	}
	for _, name := range r.Removed {
		delete(held, name)
	}
}

// states makes r a response of the state-of-the-world protocol. Its cost grows with what the stream
// has of the type.
func (w world) states(r *Response) {
	all := w.after(r)
	r.world, r.version = slices.Clone(r.Set), sumOf(all)
	if listed(r.Type) {
		r.world = r.world[:0]
		for _, name := range slices.Sorted(maps.Keys(all)) {
			r.world = append(r.world, all[name])
		}
	}
}

// Frame encodes a response of Next, in the stream's protocol. The buffers are shared between
// streams and must not change. The cost may grow with what the stream has. Frame reads only data
// that the stream's own goroutine changes.
func (p *Plan) Frame(r *Response) mem.BufferSlice {
	if p.world == nil {
		return r.frame()
	}
	p.world.states(r)
	return r.worldFrame()
}

// worldFrame encodes r, as frame does.
func (r *Response) worldFrame() mem.BufferSlice {
	tail := appendText(appendText(nil, worldVersion, r.version), worldTypeURL, r.Type)
	tail = appendText(tail, worldNonce, r.nonce)
	buffers := make(mem.BufferSlice, 0, 2*len(r.world)+1)
	for _, e := range r.world {
		value := appendLength(appendTag(appendText(nil, anyTypeURL, e.Type), anyValue), len(e.Body))
		head := append(appendLength(appendTag(nil, worldResources), len(value)+len(e.Body)), value...)
		buffers = append(buffers, mem.SliceBuffer(head), mem.SliceBuffer(e.Body))
	}
	return append(buffers, mem.SliceBuffer(tail))
}
