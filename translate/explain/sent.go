package explain

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gatefold/gatefold/translate/ir"
)

// consumed are headers for Envoy's router. The router removes them from every request.
var consumed = []string{
	"x-envoy-hedge-on-per-try-timeout", "x-envoy-max-retries", "x-envoy-retriable-header-names", "x-envoy-retriable-status-codes",
	"x-envoy-retry-grpc-on", "x-envoy-retry-on", "x-envoy-upstream-rq-per-try-timeout-ms",
	"x-envoy-upstream-rq-timeout-alt-response", "x-envoy-upstream-stream-duration-ms",
}

// sent returns the headers that a backend receives. It makes the changes in Envoy's order: those of the
// policies, then of the router, then of the route.
func (r *request) sent(action *ir.Action, backend *ir.Backend) headerFields {
	headers := r.transformed(extrasInForce(action))
	if limit := expected(action); limit > 0 {
		headers.set("x-envoy-expected-rq-timeout-ms", strconv.FormatInt(limit.Milliseconds(), 10))
	}
	changeHeaders(headers, action.RequestHeaders.OrNone(), backend.RequestHeaders.OrNone())
	for _, name := range consumed {
		headers.remove(name)
	}
	if (rewritesHost(action) || len(r.endpointNames(action, backend)) > 0) && !ownHosts(action) && r.query.Host != "" {
		headers.set("x-envoy-original-host", r.query.Host)
	}
	if action.Rewrite != nil && action.Rewrite.Path != nil {
		headers.set("x-envoy-original-path", r.path+r.search)
	}
	r.frame(headers, backend)
	return headers
}

// extrasInForce returns the action's extras after the route's own filter ExternalAuth has replaced extAuth of
// the policies. It returns nil if the action has neither.
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

// frame changes content-length and transfer-encoding as Envoy does when it sends the request to a backend.
func (r *request) frame(headers headerFields, backend *ir.Backend) {
	cluster := r.clusters[backend.Cluster]
	switch asked := r.query.Headers.Get("Content-Length") != ""; {
	case r.upgrades() && !asked:
		headers.remove("content-length")
	case cluster != nil && cluster.HTTP2 || asked:
	case r.chunked:
		headers.set("transfer-encoding", "chunked")
	case !headers.has("content-length") && mayHaveBody(r.query.Method):
		headers.set("content-length", "0")
	}
}

// mayHaveBody reports whether Envoy sends content-length: 0 with a method if a request has no body.
func mayHaveBody(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodDelete, http.MethodTrace:
		return false
	}
	return true
}

// expected returns the time limit that the router writes into x-envoy-expected-rq-timeout-ms: the limit of one
// attempt if it is shorter, otherwise the limit of the whole request. It returns 0 if there is no limit.
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
