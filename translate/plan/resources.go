package plan

import (
	"crypto/sha256"
	"encoding/hex"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/translate/xds"
)

// Resource is an Envoy resource of a Side.
type Resource struct {
	Gateway, Type, Name string
	// Version changes whenever the content changes.
	Version string
	// Listener has the hashes of the parts of an Envoy listener. They show on which parts of the listener a change
	// makes Envoy drain connections. Only a listener in a snapshot has this field. Other listeners have a Body
	// instead.
	Listener *ListenerSums
	// Body is the encoded message of a listener that is not from a snapshot. Otherwise it is nil.
	Body []byte `json:"-"`
}

// ListenerSums are the hashes of the parts of an Envoy listener.
type ListenerSums struct {
	Chains []ChainSum
	// Rest is the hash of everything except the filter chains.
	Rest string
}

// ChainSum is the hash of a filter chain, with the server names that select the chain.
type ChainSum struct {
	ServerNames []string
	Sum         string
}

// ResourcesOf returns the resources of updates, which must be the updates of a cold start. It leaves out
// removals.
func ResourcesOf(updates []xds.Update) []Resource {
	out := make([]Resource, 0, len(updates))
	for _, u := range updates {
		if u.Resource != nil {
			out = append(out, ResourceOf(u.Gateway, u.Resource))
		}
	}
	return out
}

// ResourceOf returns the Resource for a resource of a Gateway. Only a listener gets a Body.
func ResourceOf(gateway string, r *xds.Resource) Resource {
	out := Resource{Gateway: gateway, Type: r.Type, Name: r.Name, Version: r.Version}
	if r.Type == xds.ListenerType {
		out.Body = r.Body
	}
	return out
}

// Sums returns the hashes of a listener's parts. It returns nil for other resources, and for a Body that cannot
// be decoded.
func (r *Resource) Sums() *ListenerSums {
	if r.Listener != nil || r.Body == nil {
		return r.Listener
	}
	var listener listenerv3.Listener
	if proto.Unmarshal(r.Body, &listener) != nil {
		return nil
	}
	sums := &ListenerSums{}
	for _, chain := range listener.FilterChains {
		sums.Chains = append(sums.Chains, ChainSum{chain.GetFilterChainMatch().GetServerNames(), sumOf(chain)})
	}
	listener.FilterChains = nil
	sums.Rest = sumOf(&listener)
	return sums
}

// sumOf returns the SHA-256 of a message in hex.
func sumOf(message proto.Message) string {
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		panic("plan: a message that was read cannot be written: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
