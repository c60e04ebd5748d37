package explain

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// Outcome is what happens to a request. Either Envoy answers it with Status (and Location, for a redirect), or
// Envoy forwards it to one of Backends. If none of the Backends can answer, Envoy answers: then both Status and
// Backends are set.
type Outcome struct {
	// Status is the HTTP status of Envoy's answer, 0 if a backend answers.
	Status   uint32
	Location string
	// Why is the reason as text, if a policy or Envoy itself answers instead of the rule's action, or if a Respond
	// has a reason. Otherwise it is "".
	Why string
	// At is the field that decides, if a policy answers and the field is known. Otherwise it is empty.
	At Source
	// By are the objects because of which a policy or a filter answers instead of the rule's action, or because of
	// which the action fails closed (see ir.Action.ClosedBy). There are several objects if their settings were
	// merged and it is not known which one decides.
	By []manifest.Key
	// Field is the field of a policy that answers instead of the rule's action, or "" if none does.
	Field ir.Field
	// Policed is true if a policy or a filter answers instead of the rule's action. Rejected is true if Envoy
	// itself rejects the request before any policy or action.
	Policed, Rejected bool
	// GRPC is true if the client gets Status as a gRPC status, with HTTP status 200 (see the function GRPCStatus).
	GRPC bool
	// reply and http say how Envoy's answer reaches clients that use gRPC (see the field GRPC). If both are false,
	// Envoy turns a Status of 300 or more into a gRPC status, and leaves a lower Status unchanged. If reply is true,
	// Envoy turns every Status into a gRPC status. If http is true, Envoy leaves every Status unchanged, whatever
	// reply is.
	reply, http bool
	Backends    []Backend
	// Unless lists facts that are not known, as texts. If one of these facts is true, the outcome may be another one.
	Unless []string
	// Host and Path are those of the request that Envoy forwards. Path includes the query. Both are "" without
	// Backends.
	Host, Path string
}

// Backend is one of the backends that a request may be forwarded to.
type Backend struct {
	// Cluster is "" for a backend reference that is not resolved. Status is the HTTP status with which Envoy
	// answers, if the reference is not resolved or the Cluster cannot be reached (see reachable). It is 0 if the
	// backend answers.
	Cluster string
	Status  uint32
	// GRPC is true if the client gets Status as a gRPC status.
	GRPC bool
	// Target is the backend in the rule's Forward.
	Target *ir.Backend
	// Host is the Host header that the backend receives. It differs from the Outcome's Host if the backend
	// reference rewrites the host, or with autoHostRewrite.
	Host string
	// Percent is the share of requests that this backend gets.
	Percent float64
	// Headers are the request's headers after all changes by the rule, the backend reference and Envoy.
	// ClientAddress, NewRequestID, AccessToken and ServiceAnswer replace values that are not known. The
	// field Headers is nil if Status is not 0.
	Headers http.Header
}

// acted returns what the rule's action does with a request that the policies let pass.
func acted(rule *ir.Rule, r *request) Outcome {
	switch action := &rule.Action; {
	case action.Respond != nil:
		out := Outcome{Status: action.Respond.Status, Why: action.Respond.Why, Unless: unlessAsked(action.Respond)}
		if action.ClosedBy() != "" {
			out.By = []manifest.Key{action.Parts[0].Object}
		}
		return out
	case action.Redirect != nil:
		return Outcome{Status: action.Redirect.Status, Location: r.location(action)}
	}
	return forward(rule, r)
}

// forward returns the Outcome of a rule that forwards: its backends, and the host and path that they receive. It
// does not set the backends' Headers. If no backend reference with a weight above 0 is resolved, Envoy answers
// with the status that the Gateway API requires (see ir.Path.Unresolved).
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
		b.Host = newDestination(r.clusters, action, b.Target).host(result.Host)
	}
	result.unserved()
	return result
}

// unserved sets o.Status for a request that is forwarded. The status is 0 if at least one of o.Backends can
// answer. Otherwise it is the status that Envoy answers for the backend with the greatest share. If o.Backends
// is empty, unserved changes nothing.
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

// backends returns a Backend for each backend reference of the rule, with the share of requests that it gets. Backend
// references with weight 0 are left out. backends returns nil if the rule does not forward, or if no backend
// reference with a weight above 0 is resolved.
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

// reachable reports whether Envoy sends requests to a cluster. The cluster needs an endpoint. If its panic
// threshold is 0, it needs an endpoint that is not draining.
func reachable(cluster *ir.Cluster) bool {
	panics := true
	if up := cluster.Upstream; up != nil && up.Balancer != nil && up.Balancer.PanicPercent != nil {
		panics = *up.Balancer.PanicPercent > 0
	}
	return slices.ContainsFunc(cluster.Endpoints, func(e ir.Endpoint) bool { return panics || !e.Draining })
}
