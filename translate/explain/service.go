package explain

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/translate/ir"
)

// unasked says why Envoy cannot ask a service, "" where it can: the cluster of the service is
// closed, or has no endpoint. Calls fail at once then.
func unasked(clusters map[string]*ir.Cluster, service *ir.Extension) string {
	cluster := clusters[service.Service.Cluster]
	if cluster == nil || reachable(cluster) {
		return ""
	}
	return cmp.Or(cluster.Closed, "it has no endpoint")
}

// outage is the answer in place of a service that cannot be asked.
func outage(action *ir.Action, use ir.ExtensionUse, status uint32, reason string) gate {
	return gate{status: status, why: fmt.Sprintf("Envoy cannot ask %s for %s: %s",
		use.Extension.Service.Cluster, partsOf(action, api.KindTrafficPolicy+" "+use.Field), reason)}
}

// authGate asks a service whether the request may pass.
func authGate(rule *ir.Rule, r *request) gate {
	auth := rule.Action.Extras.OrNone().ExtAuth
	if auth == nil || auth.Extension.Auth.Percent == 0 {
		return gate{}
	}
	service := auth.Extension
	name, percent := service.Service.Cluster, service.Auth.Percent
	large, reason := r.exceeds(auth), unasked(r.clusters, service)
	switch {
	case large > 0 && percent == 100:
		return gate{status: http.StatusRequestEntityTooLarge, why: fmt.Sprintf("the request has a body of %d bytes, and %s takes %d", r.bodyBytes(), partsOf(&rule.Action, authPart), large)}
	case reason == "":
		lines := []string{fmt.Sprintf("extAuth: %s denies it%s", name, orSilent(service.Auth.FailOpen, service.Auth.StatusOnError))}
		return gate{unless: append(lines, overfull("extAuth", service, r)...)}
	case service.Auth.FailOpen:
		return gate{}
	case percent < 100:
		return gate{unless: []string{fmt.Sprintf("extAuth: it is one of the %d%% about which Envoy cannot ask %s (%d): %s", percent, name, service.Auth.StatusOnError, reason)}}
	}
	return outage(&rule.Action, auth.ExtensionUse, service.Auth.StatusOnError, reason)
}

// exceeds returns the most bytes of a body that an authorization takes, 0 where that of the
// request is no longer, or not waited for.
func (r *request) exceeds(auth *ir.ExtAuth) uint32 {
	body := cmp.Or(auth.Body, auth.Extension.Auth.Body)
	if body == nil || body.Partial || r.upgrades() || r.bodyBytes() <= int64(body.Max) {
		return 0
	}
	return body.Max
}

// orSilent says what Envoy answers while a service that it can ask does not answer.
func orSilent(open bool, status uint32) string {
	if open {
		return ""
	}
	return fmt.Sprintf(", or does not answer (%d)", status)
}

// globalLimitGate has a service count the request.
func globalLimitGate(rule *ir.Rule, r *request) gate {
	extras := rule.Action.Extras.OrNone()
	limit := extras.GlobalLimit
	if limit == nil {
		return gate{}
	}
	service := limit.Extension
	counts, reason := r.counted(limit, extras.ExtAuth), unasked(r.clusters, service)
	switch {
	case counts == misses, reason != "" && service.Limiter.FailOpen:
		return gate{}
	case reason == "":
		return gate{unless: []string{fmt.Sprintf("rateLimit.global: %s counts too many requests (429)%s", service.Service.Cluster, orSilent(service.Limiter.FailOpen, http.StatusInternalServerError))}}
	case counts == may:
		return gate{unless: []string{fmt.Sprintf("rateLimit.global: Envoy cannot ask %s about the headers that extAuth adds (500): %s", service.Service.Cluster, reason)}}
	}
	return outage(&rule.Action, limit.ExtensionUse, http.StatusInternalServerError, reason)
}

// counted tells whether a limit is asked about the request: Envoy leaves out a descriptor of
// which a header is missing. An authorization before it may add the header.
func (r *request) counted(limit *ir.GlobalLimit, auth *ir.ExtAuth) verdict {
	missing := func(entry ir.LimitEntry) bool { return entry.Header != "" && len(r.read(r.headers, entry.Header)) == 0 }
	for _, descriptor := range limit.Descriptors {
		if !slices.ContainsFunc(descriptor, missing) {
			return takes
		}
	}
	if auth != nil && auth.Extension.Auth.Percent > 0 && unasked(r.clusters, auth.Extension) == "" {
		return may
	}
	return misses
}

// processorGate has a service change the request and its answer.
func processorGate(rule *ir.Rule, r *request) gate {
	proc := rule.Action.Extras.OrNone().ExtProc
	if proc == nil {
		return gate{}
	}
	service := proc.Extension
	open, reason := service.Processor.FailOpen, unasked(r.clusters, service)
	switch {
	case reason == "":
		lines := []string{fmt.Sprintf("extProc: %s changes it, or answers by itself%s", service.Service.Cluster, orSilent(open, http.StatusInternalServerError))}
		return gate{unless: append(lines, overfull("extProc", service, r)...)}
	case open:
		return gate{}
	}
	switch r.processed(cmp.Or(proc.Mode, service.Processor.Mode, &ir.ProcessingMode{})) {
	case takes:
		return outage(&rule.Action, proc.ExtensionUse, http.StatusInternalServerError, reason)
	case may:
		return gate{unless: []string{fmt.Sprintf("extProc: there is a body or trailer that Envoy cannot send to %s (500): %s", service.Service.Cluster, reason)}}
	}
	return gate{}
}

// processed tells whether a processor is sent a part of the request or of its answer.
func (r *request) processed(mode *ir.ProcessingMode) verdict {
	const skip, none = "SKIP", "NONE"
	body := func(mode string) bool { return mode != "" && mode != none }
	switch {
	case mode.RequestHeaders != skip, mode.ResponseHeaders != skip, body(mode.RequestBody) && r.bodyBytes() > 0 && !r.upgrades():
		return takes
	case body(mode.RequestBody) && r.chunked, body(mode.ResponseBody), mode.RequestTrailers == "SEND", mode.ResponseTrailers == "SEND":
		return may
	}
	return misses
}

// A request with so much left until Envoy's limits may become too large by what a service
// adds to it.
const (
	fewHeaders = 20
	fewBytes   = 8 << 10
)

// overfull tells of a service that can add more to a request than Envoy takes: Envoy
// measures a request again after the service has changed it, and answers 500.
func overfull(field string, service *ir.Extension, r *request) []string {
	if r.headers.count()+1 <= maxHeaders-fewHeaders && r.query.size() <= maxRequestBytes-fewBytes {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s adds more headers than Envoy takes: %d with Host, or %d KB (500)", field, service.Service.Cluster, maxHeaders, maxRequestBytes>>10)}
}
