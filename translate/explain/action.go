package explain

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// Outcome is what happens to a request: it is answered (Status, and Location for a redirect) or
// forwarded to one of Backends.
type Outcome struct {
	// Status is 0 if a backend answers.
	Status   uint32
	Location string
	// Why is the reason as text if a policy or Envoy itself answers instead of the rule's
	// action, or if a Respond has a reason.
	Why string
	// At is the field that decides, where a policy answers and it is known.
	At Source
	// By are the objects because of which a policy or a filter answers in place of the rule's
	// action: several if they were merged and it is not known which of them decides.
	By []manifest.Key
	// Policed is true if a policy or a filter answers instead of the rule's action. Refused is
	// true if Envoy answers before it looks for a rule.
	Policed, Rejected bool
	// GRPC is true if the client gets Status as a gRPC status, with HTTP status 200 (see
	// GRPCStatus).
	GRPC bool
	// reply is true for an answer that gRPC clients get as a gRPC status, whatever its status.
	reply bool
	// http is true for an answer that gRPC clients get as any other.
	http     bool
	Backends []Backend
	// Caveats are texts about what may change the outcome and is not known here.
	Unless []string
	// Host and Path (with the query) are those of the request that a backend receives.
	Host, Path string
}

// Backend is one of the targets of a request.
type Backend struct {
	// Cluster is "" for a reference that is not resolved. Status is the answer for its share,
	// or for a Cluster without an endpoint; 0 if the backend answers.
	Cluster string
	Status  uint32
	// GRPC is true if the client gets Status as a gRPC status.
	GRPC bool
	// Target is the backend in the rule's Forward.
	Target *ir.Backend
	// Host is the Host header that it receives: the Outcome's, unless the reference rewrites
	// it.
	Host string
	// Percent is its share of the requests.
	Percent float64
	// Headers are the request's headers after all changes by the rule, the backend reference
	// and Envoy. ClientAddress and NewRequestID stand for values that are not known.
	Headers http.Header
}

// acted returns what the action does if no policy answers instead of it.
func acted(rule *ir.Rule, r *request) Outcome {
	switch action := &rule.Action; {
	case action.Respond != nil:
		out := Outcome{Status: action.Respond.Status, Why: action.Respond.Why, Unless: unlessAsked(action.Respond)}
		if action.ClosedBy() != "" {
			out.By = []manifest.Key{action.Parts[0].Object}
		}
		return out
	case action.Redirect != nil:
		return Outcome{Status: action.Redirect.Status, Location: location(action.Redirect, r)}
	}
	return forward(rule, r)
}

func forward(rule *ir.Rule, r *request) Outcome {
	action := &rule.Action
	result := Outcome{Host: r.query.Host, Path: r.path + r.search, Backends: backends(rule, r)}
	if len(result.Backends) == 0 {
		return Outcome{Status: rule.Match.Path.Unresolved()}
	}
	if rewrite := action.Rewrite; rewrite != nil {
		result.Host, result.Path = cmp.Or(rewrite.Hostname, r.query.Host), changePath(rewrite.Path, r.path)+r.search
	}
	for i := range result.Backends {
		b := &result.Backends[i]
		b.Host = r.hostFor(action, b.Target, result.Host)
	}
	result.unserved()
	return result
}

// unserved sets the status of a request that no backend gets. If the shares have different
// statuses, it is the status of the greatest share.
func (o *Outcome) unserved() {
	var most float64
	for _, b := range o.Backends {
		if b.Status == 0 {
			o.Status = 0
			return
		}
		if b.Percent > most {
			most, o.Status = b.Percent, b.Status
		}
	}
}

// hostFor returns the host that a backend receives. It is the backend's own host, else the DNS name
// of the endpoint with autoHostRewrite, else host.
func (r *request) hostFor(action *ir.Action, backend *ir.Backend, host string) string {
	if backend.Rewrite != nil {
		return backend.Rewrite.Hostname
	}
	return cmp.Or(strings.Join(r.endpointNames(action, backend), OneOf), host)
}

// endpointNames returns the DNS names of the endpoints if Envoy sends the name of the chosen
// endpoint as host. It returns none if Envoy sends another host.
func (r *request) endpointNames(action *ir.Action, backend *ir.Backend) []string {
	cluster := r.clusters[backend.Cluster]
	if backend.Rewrite != nil || action.Rewrite != nil && action.Rewrite.Hostname != "" ||
		action.Extras == nil || !action.Extras.AutoHost || cluster == nil || cluster.Discovery != ir.DNS {
		return nil
	}
	if ownHosts(action) {
		return slices.DeleteFunc([]string{backend.DNSName}, func(name string) bool { return name == "" })
	}
	var names []string
	for _, endpoint := range cluster.Endpoints {
		if !slices.Contains(names, endpoint.Host) {
			names = append(names, endpoint.Host)
		}
	}
	return names
}

// OneOf joins several hosts when the backend receives one of them.
const OneOf = " or "

// backends returns the targets that get a share, none if no reference with a weight is resolved.
func backends(rule *ir.Rule, r *request) []Backend {
	var total, live uint64
	action := &rule.Action
	if action.Forward == nil {
		return nil
	}
	for _, backend := range action.Forward.Backends {
		total += uint64(backend.Weight)
		if backend.Cluster != "" {
			live += uint64(backend.Weight)
		}
	}
	if live == 0 {
		return nil
	}
	var list []Backend
	for i := range action.Forward.Backends {
		backend := &action.Forward.Backends[i]
		if backend.Weight == 0 {
			continue
		}
		target := Backend{Cluster: backend.Cluster, Target: backend, Percent: 100 * float64(backend.Weight) / float64(total)}
		switch cluster := r.clusters[backend.Cluster]; {
		case backend.Cluster == "":
			target.Status = rule.Match.Path.Unresolved()
		case cluster != nil && !reachable(cluster):
			target.Status = http.StatusServiceUnavailable
		}
		target.GRPC = target.Status != 0 && r.asksByGRPC()
		list = append(list, target)
	}
	return list
}

// reachable reports whether Envoy sends requests to a cluster. The cluster needs an endpoint. With
// a panic threshold of 0 it needs one that is not draining.
func reachable(cluster *ir.Cluster) bool {
	panics := true
	if up := cluster.Upstream; up != nil && up.Balancer != nil && up.Balancer.PanicPercent != nil {
		panics = *up.Balancer.PanicPercent > 0
	}
	return slices.ContainsFunc(cluster.Endpoints, func(e ir.Endpoint) bool { return panics || !e.Draining })
}

// ownHosts reports whether a backend rewrites the host itself. Then xds sets the host for each
// backend, and Envoy writes no x-envoy-original-host.
func ownHosts(action *ir.Action) bool {
	return slices.ContainsFunc(action.Forward.Backends, func(b ir.Backend) bool { return b.Rewrite != nil })
}
