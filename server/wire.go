package server

import (
	"slices"
	"time"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that newFrameCodec wraps
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/gatefold/gatefold/translate/xds"
)

// Field numbers of envoy.service.discovery.v3 and google.protobuf.Any.
const (
	responseResources protowire.Number = 2
	responseTypeURL   protowire.Number = 4
	responseNonce     protowire.Number = 5
	responseRemoved   protowire.Number = 6

	resourceVersion protowire.Number = 1
	resourceAny     protowire.Number = 2
	resourceName    protowire.Number = 3

	anyTypeURL protowire.Number = 1
	anyValue   protowire.Number = 2
)

// entry is one resource with the bytes that go before its Body on the wire. A
// protobuf message may hold its fields in any order, so Body is put last: head
// and Body one after the other are the whole field of a DeltaDiscoveryResponse,
// and every stream sends the same two slices.
type entry struct {
	*xds.Resource
	head  []byte
	forms forms
	// of is the target that this table is a form of, nil for a target; struck are the parts that
	// it lacks.
	of     *entry
	struck map[xds.Part]bool
}

func newEntry(r *xds.Resource) *entry {
	value := appendLength(appendTag(appendText(nil, anyTypeURL, r.Type), anyValue), len(r.Body))
	inner := appendText(nil, resourceVersion, r.Version)
	inner = appendText(inner, resourceName, r.Name)
	inner = appendLength(appendTag(inner, resourceAny), len(value)+len(r.Body))
	inner = append(inner, value...)
	head := appendLength(appendTag(nil, responseResources), len(inner)+len(r.Body))
	return &entry{Resource: r, head: append(head, inner...)}
}

func (e *entry) size() int { return len(e.head) + len(e.Body) }

func appendText(to []byte, field protowire.Number, text string) []byte {
	return protowire.AppendString(appendTag(to, field), text)
}

func appendTag(to []byte, field protowire.Number) []byte {
	return protowire.AppendTag(to, field, protowire.BytesType)
}

func appendLength(to []byte, length int) []byte {
	return protowire.AppendVarint(to, uint64(length))
}

// response is one DeltaDiscoveryResponse before it is put on the wire.
type response struct {
	typ     string
	nonce   string
	set     []*entry
	removed []string // names
	again   bool     // it was rejected before: see plan.rebind
	probe   bool     // it is made to be rejected: see xds.Probe
	// at is when it was sent, forgotten what of it the client forgot since.
	at        time.Time
	forgotten map[string]struct{}
	// world and version are what it states of the whole type, for a stream of the
	// state-of-the-world protocol.
	world   []*entry
	version string
}

// names counts what the response speaks of.
func (r *response) names() int { return len(r.set) + len(r.removed) }

// all yields the names that the response speaks of.
func (r *response) all(yield func(string) bool) {
	for _, e := range r.set {
		if !yield(e.Name) {
			return
		}
	}
	for _, name := range r.removed {
		if !yield(name) {
			return
		}
	}
}

// holds reports whether the response, once it is sent, speaks of name.
func (r *response) holds(name string) bool {
	_, is := findEntry(r.set, name)
	if !is && len(r.removed) > 0 {
		_, is = slices.BinarySearch(r.removed, name)
	}
	if is {
		_, forgotten := r.forgotten[name]
		return !forgotten
	}
	return false
}

// forget notes that the answer does not count for name.
func (r *response) forget(name string) {
	if r.forgotten == nil {
		r.forgotten = map[string]struct{}{}
	}
	r.forgotten[name] = struct{}{}
}

// orNil returns nil for a response that says nothing.
func (r *response) orNil() *response {
	if r.names() == 0 {
		return nil
	}
	return r
}

// frame is a message that is encoded already. Its buffers are shared between
// streams and never changed.
type frame struct{ buffers mem.BufferSlice }

func (r *response) frame() frame {
	tail := appendText(appendText(nil, responseTypeURL, r.typ), responseNonce, r.nonce)
	for _, name := range r.removed {
		tail = appendText(tail, responseRemoved, name)
	}
	buffers := make(mem.BufferSlice, 0, 2*len(r.set)+1)
	for _, e := range r.set {
		buffers = append(buffers, mem.SliceBuffer(e.head), mem.SliceBuffer(e.Body))
	}
	return frame{append(buffers, mem.SliceBuffer(tail))}
}

// frameCodec is gRPC's own protobuf codec, but for a frame and a message, which it
// passes on.
type frameCodec struct{ encoding.CodecV2 }

func newFrameCodec() frameCodec { return frameCodec{encoding.GetCodecV2("proto")} }

func (c frameCodec) Marshal(message any) (mem.BufferSlice, error) {
	if f, ok := message.(frame); ok {
		return f.buffers, nil
	}
	return c.CodecV2.Marshal(message)
}

func (c frameCodec) Unmarshal(data mem.BufferSlice, into any) error {
	if m, ok := into.(*message); ok {
		data.Ref() // until read has read it
		m.BufferSlice = data
		return nil
	}
	return c.CodecV2.Unmarshal(data, into)
}
