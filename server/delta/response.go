package delta

import (
	"slices"
	"time"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/gatefold/gatefold/translate/xds"
)

// The field numbers of messages of envoy.service.discovery.v3, and of google.protobuf.Any.
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

// Entry is one resource, encoded once for all streams. The bytes of head, followed by Body, are one element of the
// field resources of a DeltaDiscoveryResponse. Body comes last, which is possible because the fields of a protobuf
// message may be in any order.
type Entry struct {
	*xds.Resource
	gateway string // the Gateway that has the resource: see Update
	head    []byte
	forms   *forms // the forms (variants) of this entry, for example a route table without its rejected parts; nil for a stub
	// of is set only if this entry is itself a form: it is the entry from which the form was made. leftOut has the
	// parts that the form leaves out, or that answer 500 in the form.
	of      *Entry
	leftOut map[xds.Part]bool
	// grown is true if the entry is a filter that also has requirements of an older filter.
	grown bool
	// naming is true if the entry is a route table that refers to requirements (xds.NamesRequirement). It is valid
	// only if searched is true.
	naming, searched bool
	binds            *xds.Binding // the addresses of a listener; nil until they are needed
	closed           bool         // the entry is a closed table: see closed.go
}

// NewEntry returns the Entry of r. It encodes the bytes that precede r.Body in a response (Entry.head). The caller
// must not change r afterwards.
func NewEntry(r *xds.Resource) *Entry {
	value := appendLength(appendTag(appendText(nil, anyTypeURL, r.Type), anyValue), len(r.Body))
	inner := appendText(nil, resourceVersion, r.Version)
	inner = appendText(inner, resourceName, r.Name)
	inner = appendLength(appendTag(inner, resourceAny), len(value)+len(r.Body))
	inner = append(inner, value...)
	head := appendLength(appendTag(nil, responseResources), len(inner)+len(r.Body))
	return &Entry{Resource: r, head: append(head, inner...), forms: &forms{}}
}

// size returns the number of encoded bytes.
func (e *Entry) size() int { return len(e.head) + len(e.Body) }

// appendText appends a text field to an encoded message, and returns the longer message.
func appendText(message []byte, field protowire.Number, text string) []byte {
	return protowire.AppendString(appendTag(message, field), text)
}

// appendTag appends the tag of a length-delimited field to an encoded message, and returns the longer message.
func appendTag(message []byte, field protowire.Number) []byte {
	return protowire.AppendTag(message, field, protowire.BytesType)
}

// appendLength appends the length of a field to an encoded message, and returns the longer message.
func appendLength(message []byte, length int) []byte {
	return protowire.AppendVarint(message, uint64(length))
}

// Response is one response before it is encoded, with the names that changed. In the state-of-the-world
// protocol, fillWorld adds the other resources.
type Response struct {
	Type    string // the type URL
	Set     []*Entry
	Removed []string // the names of removed resources
	Again   bool     // Envoy rejected the same resource before, and this is a retry: see moves.rebind
	Probe   bool     // the response has a test table, which Envoy always rejects: see xds.Probe
	Words   string   // Envoy's error after it rejected the response, without the content of secrets

	nonce string
	// at is when the response was sent. forgotten has the names in the response from which the client unsubscribed
	// after that time.
	at        time.Time
	forgotten map[string]struct{}
	// world and version are only for the state-of-the-world protocol: the resources to send, and the version of
	// the type.
	world   []*Entry
	version string
}

// Names returns how many names the response sets or removes.
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

// holds reports whether the response contains the given name, and the client has not unsubscribed from the name since
// the response was sent. holds must not be called before the response was sent, because only then are the names of
// the response sorted.
func (r *Response) holds(name string) bool {
	is := lists(r.Set, name)
	if !is && len(r.Removed) > 0 {
		_, is = slices.BinarySearch(r.Removed, name)
	}
	if is {
		_, forgotten := r.forgotten[name]
		return !forgotten
	}
	return false
}

// forget records that the client unsubscribed from a name after the response was sent. The client's ACK or NACK
// then no longer says anything about this name.
func (r *Response) forget(name string) {
	if r.forgotten == nil {
		r.forgotten = map[string]struct{}{}
	}
	r.forgotten[name] = struct{}{}
}

// orNil returns r, or nil if r has no names.
func (r *Response) orNil() *Response {
	if r.Names() == 0 {
		return nil
	}
	return r
}

// frame encodes r for the incremental protocol. Streams share the buffers, which must not change.
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
