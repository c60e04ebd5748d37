package explain

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// Outcome is what is done with a request: answered (Status, and Location for a
// redirect) or passed on to one of Backends by share.
type Outcome struct {
	// Status is 0 when a back end answers.
	Status   uint32
	Location string
	// GRPC tells that the client is told of Status as gRPC does it: HTTP's is 200, and
	// GRPCStatus says the rest.
	GRPC     bool
	Backends []Backend
	// Unless is what may change that and is not known here, in words.
	Unless []string
	// Host and Path (with the query) are what a back end receives.
	Host, Path string
}

// Backend is one of the targets of a request.
type Backend struct {
	// Cluster is "" for a reference that is not resolved: its share gets Status.
	Cluster string
	Status  uint32
	// Target is the back end in the rule's Forward.
	Target *ir.Backend
	// Host is what it receives: the Outcome's, unless the reference rewrites it.
	Host string
	// Percent of the requests go here.
	Percent float64
	// Headers are the request's headers after all changes of the rule and of the
	// back end; those that Envoy adds by itself are not in.
	Headers http.Header
}

// GRPCStatus is what Envoy makes of a status for a client of gRPC, and its name.
func GRPCStatus(status uint32) (code int, name string) {
	switch status {
	case http.StatusBadRequest:
		return 13, "INTERNAL"
	case http.StatusUnauthorized:
		return 16, "UNAUTHENTICATED"
	case http.StatusForbidden:
		return 7, "PERMISSION_DENIED"
	case http.StatusNotFound:
		return 12, "UNIMPLEMENTED"
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return 14, "UNAVAILABLE"
	}
	return 2, "UNKNOWN"
}

// asksByGRPC tells whether Envoy takes a request for a call of gRPC, and answers in kind.
func (r *request) asksByGRPC() bool {
	for _, value := range r.headers["content-type"] {
		rest, ok := strings.CutPrefix(value, "application/grpc")
		if ok && (rest == "" || rest[0] == '+') {
			return true
		}
	}
	return false
}

func outcome(rule *ir.Rule, r *request) Outcome {
	result := decided(rule, r)
	result.GRPC = r.asksByGRPC() && result.Status >= http.StatusBadRequest
	return result
}

func decided(rule *ir.Rule, r *request) Outcome {
	if rule == nil {
		return Outcome{Status: http.StatusNotFound}
	}
	status, policed := answered(rule, r)
	if policed {
		return Outcome{Status: status}
	}
	result := acted(rule, r)
	result.Unless = unless(rule.Action.Extras)
	return result
}

// acted is what the action does where no policy answers in its place.
func acted(rule *ir.Rule, r *request) Outcome {
	action := &rule.Action
	switch {
	case action.Respond != nil:
		return Outcome{Status: action.Respond.Status}
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
		if rewrite.Hostname != "" {
			result.Host = rewrite.Hostname
		}
		result.Path = changePath(rewrite.Path, r.path) + r.search
	}
	for i := range result.Backends {
		b := &result.Backends[i]
		if b.Host = result.Host; b.Target.Rewrite != nil {
			b.Host = b.Target.Rewrite.Hostname
		}
	}
	return result
}

// backends are the targets that get a share; none when nothing is live.
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
		if backend.Cluster == "" {
			target.Status = rule.Match.Path.Unresolved()
		} else {
			target.Headers = changeHeaders(r.transformed(action.Extras), action.RequestHeaders.OrNone(), backend.RequestHeaders.OrNone())
		}
		list = append(list, target)
	}
	return list
}

func changeHeaders(headers http.Header, steps ...ir.HeaderMods) http.Header {
	for _, mods := range steps {
		for _, name := range mods.Remove {
			headers.Del(name)
		}
		for _, header := range mods.Set {
			headers.Set(header.Name, header.Value)
		}
		for _, header := range mods.Add {
			headers.Add(header.Name, header.Value)
		}
	}
	return headers
}

// changePath rewrites a path without its query (Gateway API, HTTPPathModifier).
func changePath(change *ir.PathChange, path string) string {
	if change == nil {
		return path
	}
	if change.Full {
		return orRoot(change.Value)
	}
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(change.Prefix, "/"))
	if !ok || rest != "" && rest[0] != '/' {
		return path
	}
	return orRoot(strings.TrimSuffix(change.Value, "/") + rest)
}

func orRoot(path string) string {
	if path == "" {
		return "/"
	}
	return path
}

// location is the Location header as Envoy writes it. A query in the new path
// replaces the request's.
func location(redirect *ir.Redirect, r *request) string {
	scheme, host, path := r.query.Scheme, redirect.Hostname, changePath(redirect.Path, r.path)
	if redirect.Scheme != "" {
		scheme = redirect.Scheme
	}
	if host == "" {
		host = requestHost(r.query, scheme, redirect.Port != 0)
	}
	if redirect.Port != 0 {
		host += fmt.Sprintf(":%d", redirect.Port)
	}
	if !strings.Contains(path, "?") {
		path += r.search
	}
	return scheme + "://" + host + path
}

// requestHost is the request's host; its port goes when another one is written
// or when it is the default of a scheme that changes.
func requestHost(query Query, scheme string, newPort bool) string {
	i := portStart(query.Host)
	if i < 0 {
		return query.Host
	}
	port := query.Host[i:]
	isDefault := query.Scheme == "http" && port == ":80" || query.Scheme == "https" && port == ":443"
	if newPort || isDefault && scheme != query.Scheme {
		return query.Host[:i]
	}
	return query.Host
}
