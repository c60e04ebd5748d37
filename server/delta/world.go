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

// This file has the state-of-the-world protocol, for clients that are not configured for the incremental one.
// Such a stream has the same plan and the same ledgers. Its requests are converted to those of the incremental
// protocol, and its responses are made from the plan's responses. The differences are:
//
//   - A response with clusters or listeners lists all of them. A resource that the client has stays in the
//     list, in the client's form, until the plan removes it.
//   - Tables, endpoints and secrets are sent when they change, and never removed. Envoy drops them together
//     with the resource that names them. Tables are closed as in the incremental protocol.
//   - A client that reconnects sends one version for a whole type: the hash of all names and versions. If that
//     version is the current one, the client is sent nothing.
//   - Only one response of a type is unanswered at a time.

// The field numbers of envoy.service.discovery.v3.DiscoveryResponse.
const (
	worldVersion   protowire.Number = 1
	worldResources protowire.Number = 2
	worldTypeURL   protowire.Number = 4
	worldNonce     protowire.Number = 5
)

// wholeType is a reserved name in Request.InitialResourceVersions. In a converted request, its version is the one
// version that the client reported for all resources of the type (version_info).
const wholeType = Wildcard

// Request is a request or answer of a client, in the form of the incremental protocol.
type Request = discoveryv3.DeltaDiscoveryRequest

// WorldReader converts the requests of a state-of-the-world stream to incremental ones. The zero value is for a
// new stream.
type WorldReader struct {
	names map[string]map[string]struct{} // the names that the client subscribes to, by type
}

// Read decodes and converts the stream's next request. If the type is not served, the result has no names and
// versions. An error means that the bytes are no DiscoveryRequest.
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

// recall returns the versions of the resources of one type that a reconnected client has, by name. The parameter
// version is the one version that the client reported for the whole type. recall compares it with the version (sumOf)
// of the resources that the client should have: those of p.target to which it subscribes. If both versions are equal,
// the client has exactly these resources. If the versions differ, recall returns nil.
func (p *Plan) recall(l *ledger, version string) map[string]string {
	var present []*Entry
	for e := range l.all().All() {
		if l.wants(e.Name) {
			present = append(present, e)
		}
	}
	present = append(present, p.closedNow(l)...)
	sortEntries(present)
	if version != sumOf(present) {
		return nil
	}
	versions := make(map[string]string, len(present))
	for _, e := range present {
		versions[e.Name] = e.Version
	}
	return versions
}

// sumOf returns the version of a whole type: a hash of all names and versions. The entries are sorted.
func sumOf(all []*Entry) string {
	sum := sha256.New()
	for _, e := range all {
		sum.Write([]byte(e.Name + "\x00" + e.Version + "\x00"))
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// fillWorld stores in r what the response contains in the state-of-the-world protocol: the resources, and the
// version of the whole type. For a listed type (see listed), the resources are all that the client will have after
// r: of those that it rejected, the version before, because it removes what a response does not list. For other types,
// they are only the changed ones. The cost grows with the number of resources that the client has of the type.
func (p *Plan) fillWorld(r *Response) {
	l := p.ledgers[r.Type]
	has := l.held.take(r.Set, entries{}).minus(r.Removed)
	for e := range l.kept.All() {
		if !has.has(e.Name) {
			has = has.with(e)
		}
	}
	all := slices.Collect(has.All())
	r.world, r.version = r.Set, sumOf(all)
	if listed(r.Type) {
		r.world = all
	}
}

// Frame encodes a response of Next in the stream's protocol. Streams share the buffers, which must not change.
// The cost may grow with the number of resources that the client has. Frame reads only data that no other
// goroutine changes.
func (p *Plan) Frame(r *Response) mem.BufferSlice {
	if !p.options.World {
		return r.frame()
	}
	p.fillWorld(r)
	return r.worldFrame()
}

// worldFrame encodes r for the state-of-the-world protocol. Streams share the buffers, which must not change.
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
