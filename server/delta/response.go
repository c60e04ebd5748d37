package delta

import (
	"slices"
	"time"

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

// Entry is one resource with the encoded bytes before its Body. The fields of a protobuf message
// may be in any order, so Body comes last: head and Body together are the whole field of a
// DeltaDiscoveryResponse, and every stream sends the same two slices.
type Entry struct {
	*xds.Resource
	head  []byte
	forms forms
	// of is the target that this table is a form of, nil for a target; leftOut are the parts that
	// it lacks.
	of      *Entry
	leftOut map[xds.Part]bool
	// grown reports that it is a filter with more than its target has.
	grown bool
	// naming reports, once searched is true, that it is a table that names requirements.
	naming, searched bool
	binds            *xds.Binding // of a listener; nil until somebody asks
}

// NewEntry encodes the bytes before the Body of a resource. The resource must not change
// afterwards.
func NewEntry(r *xds.Resource) *Entry {
	value := appendLength(appendTag(appendText(nil, anyTypeURL, r.Type), anyValue), len(r.Body))
	inner := appendText(nil, resourceVersion, r.Version)
	inner = appendText(inner, resourceName, r.Name)
	inner = appendLength(appendTag(inner, resourceAny), len(value)+len(r.Body))
	inner = append(inner, value...)
	head := appendLength(appendTag(nil, responseResources), len(inner)+len(r.Body))
	return &Entry{Resource: r, head: append(head, inner...)}
}

func (e *Entry) size() int { return len(e.head) + len(e.Body) }

func appendText(to []byte, field protowire.Number, text string) []byte {
	return protowire.AppendString(appendTag(to, field), text)
}

func appendTag(to []byte, field protowire.Number) []byte {
	return protowire.AppendTag(to, field, protowire.BytesType)
}

func appendLength(to []byte, length int) []byte {
	return protowire.AppendVarint(to, uint64(length))
}

// Response is one DeltaDiscoveryResponse before it is encoded.
type Response struct {
	Type    string // URL
	Set     []*Entry
	Removed []string // names
	Again   bool     // it was rejected before: see moves.rebind
	Probe   bool     // it is made to be rejected: see xds.Probe
	Words   string   // with which Envoy rejected it, once it did; without the content of secrets

	nonce string
	// at is when it was sent, forgotten what of it the client forgot since.
	at        time.Time
	forgotten map[string]struct{}
	// world and version are what it states of the whole type, for a stream of the
	// state-of-the-world protocol.
	world   []*Entry
	version string
}

// Names returns the number of names in the response.
func (r *Response) Names() int { return len(r.Set) + len(r.Removed) }

// all yields the names in the response.
func (r *Response) all(yield func(string) bool) {
	for _, e := range r.Set {
		if !yield(e.Name) {
			return
		}
	}
	for _, name := range r.Removed {
		if !yield(name) {
			return
		}
	}
}

// holds reports whether a response that was sent contains name.
func (r *Response) holds(name string) bool {
	_, is := findEntry(r.Set, name)
	if !is && len(r.Removed) > 0 {
		_, is = slices.BinarySearch(r.Removed, name)
	}
	if is {
		_, forgotten := r.forgotten[name]
		return !forgotten
	}
	return false
}

// forget notes that the answer does not apply to name.
func (r *Response) forget(name string) {
	if r.forgotten == nil {
		r.forgotten = map[string]struct{}{}
	}
	r.forgotten[name] = struct{}{}
}

// orNil returns nil for an empty response.
func (r *Response) orNil() *Response {
	if r.Names() == 0 {
		return nil
	}
	return r
}

// frame encodes r for the incremental protocol. The buffers are shared between streams and never
// changed.
func (r *Response) frame() mem.BufferSlice {
	tail := appendText(appendText(nil, responseTypeURL, r.Type), responseNonce, r.nonce)
	for _, name := range r.Removed {
		tail = appendText(tail, responseRemoved, name)
	}
	buffers := make(mem.BufferSlice, 0, 2*len(r.Set)+1)
	for _, e := range r.Set {
		buffers = append(buffers, mem.SliceBuffer(e.head), mem.SliceBuffer(e.Body))
	}
	return append(buffers, mem.SliceBuffer(tail))
}
