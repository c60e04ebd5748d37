package server

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/translate/xds"
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

// world is what a stream of this protocol holds, by type and name.
type world map[string]map[string]*entry

// wholeType is the name under which the version of a whole type stands in a
// request that is put into the words of the incremental protocol.
const wholeType = wildcard

// worldWire reads requests of the state-of-the-world protocol as incremental
// ones. Its state is of the goroutine that decodes.
type worldWire struct {
	grpc.ServerStream
	names map[string]map[string]struct{} // by type: asked for
}

func (w *worldWire) decode(message []byte) (*deltaRequest, error) {
	request := &discoveryv3.DiscoveryRequest{}
	if err := proto.Unmarshal(message, request); err != nil {
		return nil, err
	}
	typ := request.GetTypeUrl()
	out := &deltaRequest{Node: request.GetNode(), TypeUrl: typ, ResponseNonce: request.GetResponseNonce(), ErrorDetail: request.GetErrorDetail()}
	if !slices.Contains(servedTypes(), typ) {
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
	w.names[typ] = now
	return out, nil
}

// maxEarly bounds how many requests of a stream wait until its scope is known. An Envoy
// sends one or two.
const maxEarly = 1000

// timely returns the requests that came too early, once there is something to
// compare them with. A client of the state-of-the-world protocol tells what it
// holds as one version of the whole.
func (s session) timely() (requests []*deltaRequest) {
	st := s.stream
	s.locked(func() {
		if st.scope.known {
			requests, st.early, st.usage.early = st.early, nil, 0
		}
	})
	return requests
}

// listed reports whether responses of a type list all that there is.
func listed(typ string) bool {
	return typ == xds.ClusterType || typ == xds.ListenerType
}

// recall returns the versions of the single resources that a client holds that
// told the version of the whole type: the target's when that is the same, and
// none when it is another.
func (p *plan) recall(l *ledger, version string) map[string]string {
	if version == "" {
		return nil
	}
	present, versions := map[string]*entry{}, map[string]string{}
	for name := range p.scope.target[l.typ] {
		if l.wants(name) {
			e := p.scope.entry(l.typ, name)
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
func sumOf(all map[string]*entry) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		sum.Write([]byte(name + "\x00" + all[name].Version + "\x00"))
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// after returns what the stream holds of a type once it accepted r.
func (w world) after(r *response) map[string]*entry {
	all := maps.Clone(w[r.typ])
	if all == nil {
		all = map[string]*entry{}
	}
	for _, e := range r.set {
		all[e.Name] = e
	}
	for _, name := range r.removed {
		delete(all, name)
	}
	return all
}

// took notes what of an answered response the stream holds now. A form that it rejected
// leaves the one before in the list: a list without it would be rejected, whatever else is
// new in it. It is called by the stream's goroutine alone.
func (p *plan) took(r *response, nack bool) {
	if p.world == nil || r == nil {
		return
	}
	held := p.world[r.typ]
	if held == nil {
		held = map[string]*entry{}
		p.world[r.typ] = held
	}
	l := p.ledgers[r.typ]
	for _, e := range r.set {
		if version, _ := l.held.get(e.Name); version == e.Version {
			held[e.Name] = e
		}
	}
	if nack {
		return
	}
	for _, name := range r.removed {
		delete(held, name)
	}
}

// states makes r a response of the state-of-the-world protocol. It costs what the stream
// holds of the type, and is called without the lock.
func (w world) states(r *response) {
	all := w.after(r)
	r.world, r.version = slices.Clone(r.set), sumOf(all)
	if listed(r.typ) {
		r.world = r.world[:0]
		for _, name := range slices.Sorted(maps.Keys(all)) {
			r.world = append(r.world, all[name])
		}
	}
}

// worldFrame encodes r, as frame does.
func (r *response) worldFrame() frame {
	tail := appendText(appendText(nil, worldVersion, r.version), worldTypeURL, r.typ)
	tail = appendText(tail, worldNonce, r.nonce)
	buffers := make(mem.BufferSlice, 0, 2*len(r.world)+1)
	for _, e := range r.world {
		value := appendLength(appendTag(appendText(nil, anyTypeURL, e.Type), anyValue), len(e.Body))
		head := append(appendLength(appendTag(nil, worldResources), len(value)+len(e.Body)), value...)
		buffers = append(buffers, mem.SliceBuffer(head), mem.SliceBuffer(e.Body))
	}
	return frame{append(buffers, mem.SliceBuffer(tail))}
}
