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
	// Version differs if the content does.
	Version string
	// Listener is what of a listener says which connections Envoy drains. It is nil for other types, and if Body
	// has it.
	Listener *ListenerSums
	// Body is the message of a listener, nil if it is not known.
	Body []byte `json:"-"`
}

// ListenerSums are the hashes of the parts of an Envoy listener.
type ListenerSums struct {
	Chains []ChainSum
	// Rest is the sum of all but the filter chains.
	Rest string
}

// ChainSum is the hash of a filter chain, with the server names that lead to it.
type ChainSum struct {
	ServerNames []string
	Sum         string
}

// ResourcesOf returns the resources of updates that begin from a cold start.
func ResourcesOf(updates []xds.Update) []Resource {
	out := make([]Resource, 0, len(updates))
	for _, u := range updates {
		if u.Resource != nil {
			out = append(out, ResourceOf(u.Gateway, u.Resource))
		}
	}
	return out
}

// ResourceOf returns a resource of a Gateway.
func ResourceOf(gateway string, r *xds.Resource) Resource {
	out := Resource{Gateway: gateway, Type: r.Type, Name: r.Name, Version: r.Version}
	if r.Type == xds.ListenerType {
		out.Body = r.Body
	}
	return out
}

// Sums returns the hashes of a listener's parts, nil for other resources.
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

func sumOf(message proto.Message) string {
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		panic("plan: a message that was read cannot be written: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
