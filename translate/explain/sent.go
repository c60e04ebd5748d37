package explain

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gatefold/gatefold/translate/ir"
)

// consumed are headers for Envoy's router. The router removes them from every request.
var consumed = []string{
	"x-envoy-hedge-on-per-try-timeout", "x-envoy-max-retries", "x-envoy-retriable-header-names", "x-envoy-retriable-status-codes",
	"x-envoy-retry-grpc-on", "x-envoy-retry-on", "x-envoy-upstream-rq-per-try-timeout-ms",
	"x-envoy-upstream-rq-timeout-alt-response", "x-envoy-upstream-stream-duration-ms",
}

// OneOf separates the hosts in a text if the backend receives one of several hosts.
const OneOf = " or "

// destination is one backend of an action that forwards requests. Its methods return the host and headers that
// the backend receives.
type destination struct {
	action  *ir.Action
	backend *ir.Backend
	cluster *ir.Cluster // the backend's cluster, nil if it is not known
}

// newDestination returns the destination of a backend, with its cluster.
func newDestination(clusters map[string]*ir.Cluster, action *ir.Action, backend *ir.Backend) destination {
	return destination{action: action, backend: backend, cluster: clusters[backend.Cluster]}
}

// host returns the Host header that the backend receives. The parameter host is the host after the rule's
// rewrite. The result is the first of these that exists: the host to which the backend reference rewrites, the
// names of endpointNames (joined with OneOf), or the parameter host.
func (d destination) host(host string) string {
	if d.backend.Rewrite != nil {
		return d.backend.Rewrite.Hostname
	}
	return cmp.Or(strings.Join(d.endpointNames(), OneOf), host)
}

// endpointNames returns the DNS names that the backend may receive as Host because of autoHostRewrite. It returns no
// names if Envoy does not send the name of the chosen endpoint as Host: for example, because the rule or this backend
// reference rewrites the host.
//
// If this backend reference does not rewrite the host, but another backend reference of the action does, Envoy has a
// fixed host for each backend (see ownHosts). The only name is then the DNSName of the backend, if it has one.
func (d destination) endpointNames() []string {
	if d.backend.Rewrite != nil || rewritesHost(d.action) ||
		d.action.Extras == nil || !d.action.Extras.AutoHost || d.cluster == nil || d.cluster.Discovery != ir.DNS {
		return nil
	}
	if ownHosts(d.action) {
		return slices.DeleteFunc([]string{d.backend.DNSName}, func(name string) bool { return name == "" })
	}
	var names []string
	for _, endpoint := range d.cluster.Endpoints {
		if !slices.Contains(names, endpoint.Host) {
			names = append(names, endpoint.Host)
		}
	}
	return names
}

// headers returns the headers that the backend receives. It makes the changes to the request's headers in
// Envoy's order: those of the policies, then of the router, then of the route.
func (d destination) headers(r *request) headerFields {
	headers := r.transformed(extrasInForce(d.action))
	if limit := expected(d.action); limit > 0 {
		headers.set("x-envoy-expected-rq-timeout-ms", strconv.FormatInt(limit.Milliseconds(), 10))
	}
	changeHeaders(headers, d.action.RequestHeaders.OrNone(), d.backend.RequestHeaders.OrNone())
	for _, name := range consumed {
		headers.remove(name)
	}
	if (rewritesHost(d.action) || len(d.endpointNames()) > 0) && !ownHosts(d.action) && r.query.Host != "" {
		headers.set("x-envoy-original-host", r.query.Host)
	}
	if d.action.Rewrite != nil && d.action.Rewrite.Path != nil {
		headers.set("x-envoy-original-path", r.path+r.search)
	}
	d.frame(r, headers)
	return headers
}

// frame changes content-length and transfer-encoding as Envoy does when it sends the request to the backend.
func (d destination) frame(r *request, headers headerFields) {
	switch asked := r.query.Headers.Get("Content-Length") != ""; {
	case r.upgrades() && !asked:
		headers.remove("content-length")
	case d.cluster != nil && d.cluster.HTTP2 || asked:
	case r.chunked:
		headers.set("transfer-encoding", "chunked")
	case !headers.has("content-length") && mayHaveBody(r.query.Method):
		headers.set("content-length", "0")
	}
}

// extrasInForce returns what policies add to the action, with one change: if the route has its own filter
// ExternalAuth, this filter replaces extAuth of the policies. It returns nil if the action has neither.
func extrasInForce(action *ir.Action) *ir.Extras {
	if action.ExternalAuth == nil {
		return action.Extras
	}
	extras := action.Extras.OrNone()
	extras.ExtAuth = action.ExternalAuth
	return &extras
}

// rewritesHost reports whether the action rewrites the host for all backends.
func rewritesHost(action *ir.Action) bool {
	return action.Rewrite != nil && action.Rewrite.Hostname != ""
}

// ownHosts reports whether a backend reference of the action rewrites the host. If one does, xds sets the host
// for each backend, and Envoy does not write x-envoy-original-host. The action must have a Forward.
func ownHosts(action *ir.Action) bool {
	return slices.ContainsFunc(action.Forward.Backends, func(b ir.Backend) bool { return b.Rewrite != nil })
}

// mayHaveBody reports whether requests with this method usually have a body. If such a request has no body, Envoy
// sends "content-length: 0" to the backend.
func mayHaveBody(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodDelete, http.MethodTrace:
		return false
	}
	return true
}

// expected returns the time limit that the router writes into x-envoy-expected-rq-timeout-ms: the shorter of two
// limits, that of one attempt and that of the whole request. If only one of them is set, it returns this limit.
// It returns 0 if neither is set.
func expected(action *ir.Action) time.Duration {
	value := func(d *time.Duration) time.Duration {
		if d == nil {
			return 0
		}
		return *d
	}
	retry, limit, perTry := action.Retry, action.RequestTimeout, value(action.BackendTimeout)
	if extras := action.Extras; extras != nil {
		if limit == nil {
			limit = extras.RequestTimeout
		}
		if retry == nil {
			retry = extras.Retry
		}
	}
	all := value(limit)
	switch {
	case retry == nil && (all == 0 || perTry > 0 && perTry < all):
		return perTry
	case retry == nil:
		return all
	case perTry == 0:
		perTry = retry.PerTry
	}
	if perTry == 0 || all > 0 && perTry >= all {
		return all
	}
	return perTry
}

// transformed returns the request's headers after the policies' changes, in the order of Envoy's filter chain.
func (r *request) transformed(extras *ir.Extras) headerFields {
	headers := r.headers.clone()
	if extras == nil {
		return headers
	}
	for _, field := range policyFields() {
		if field.change != nil {
			field.change(r, headers, extras)
		}
	}
	return headers
}
