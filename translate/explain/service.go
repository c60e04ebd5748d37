package explain

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"github.com/gatefold/gatefold/translate/ir"
)

// unreachable returns why Envoy cannot call a service: its cluster is closed, or has no endpoint.
// Then calls fail at once. It returns "" if Envoy can call it.
func unreachable(clusters map[string]*ir.Cluster, service *ir.Extension) string {
	cluster := clusters[service.Service.Cluster]
	if cluster == nil || reachable(cluster) {
		return ""
	}
	return cmp.Or(cluster.Closed, "it has no endpoint")
}

// outage returns the answer of Envoy if it cannot call a service.
func outage(action *ir.Action, use ir.ExtensionUse, status uint32, reason string) gate {
	return gate{status: status, why: fmt.Sprintf("Envoy cannot ask %s for %s: %s",
		use.Extension.Service.Cluster, partsOf(action, use.PartKind()), reason)}
}

// orNoAnswer returns what Envoy answers while a service that it can call does not answer, in words.
func orNoAnswer(open bool, status uint32) string {
	if open {
		return ""
	}
	return fmt.Sprintf(", or does not answer (%d)", status)
}

// globalLimitGate decides by a rate limit service. Envoy's filter passes a request whose route is a
// redirect or a direct response.
func globalLimitGate(rule *ir.Rule, r *request) gate {
	extras := rule.Action.Extras.OrNone()
	limit := extras.GlobalLimit
	if limit == nil || rule.Action.Forward == nil {
		return gate{}
	}
	service := limit.Extension
	counts, reason := r.counted(limit, rule.Action.AuthInForce()), unreachable(r.clusters, service)
	switch {
	case counts == misses, reason != "" && service.Limiter.FailOpen:
		return gate{}
	case reason == "":
		return gate{unless: []string{fmt.Sprintf("rateLimit.global: %s counts too many requests (429)%s", service.Service.Cluster, orNoAnswer(service.Limiter.FailOpen, http.StatusInternalServerError))}}
	case counts == may:
		return gate{unless: []string{fmt.Sprintf("rateLimit.global: Envoy cannot ask %s about the headers that extAuth adds (500): %s", service.Service.Cluster, reason)}}
	}
	return outage(&rule.Action, limit.ExtensionUse, http.StatusInternalServerError, reason)
}

// counted returns whether Envoy asks the service of a limit about the request. Envoy leaves out a
// descriptor if its header is missing. An earlier authorization may add the header.
func (r *request) counted(limit *ir.GlobalLimit, auth *ir.ExtAuth) verdict {
	missing := func(entry ir.LimitEntry) bool {
		return entry.Header != "" && (len(templateReader{r, r.headers}.read(entry.Header)) == 0 || slices.Contains(r.answered, entry.Header))
	}
	for _, descriptor := range limit.Descriptors {
		if !slices.ContainsFunc(descriptor, missing) {
			return takes
		}
	}
	if auth != nil && auth.Extension.Auth.Percent > 0 && unreachable(r.clusters, auth.Extension) == "" {
		return may
	}
	return misses
}

// processorGate passes the request to a processor. answerGate does so for the answer.
func processorGate(rule *ir.Rule, r *request) gate {
	proc := rule.Action.Extras.OrNone().ExtProc
	if proc == nil {
		return gate{}
	}
	service, reason := proc.Extension, unreachable(r.clusters, proc.Extension)
	if reason == "" {
		line := fmt.Sprintf("extProc: %s changes it, or answers by itself%s", service.Service.Cluster, orNoAnswer(service.Processor.FailOpen, http.StatusInternalServerError))
		return gate{unless: append([]string{line}, overfull("extProc", service, r)...)}
	}
	return unprocessed(rule, max(r.requestSent(rule), r.answerSent(proc)), reason)
}

// answerGate passes the answer to a processor. The processor also gets answers of the filters
// before it, and the answer to a rejected upgrade.
func answerGate(rule *ir.Rule, r *request) gate {
	proc := rule.Action.Extras.OrNone().ExtProc
	if proc == nil {
		return gate{}
	}
	sent, reason := r.answerSent(proc), unreachable(r.clusters, proc.Extension)
	if reason == "" && sent != misses {
		service := proc.Extension
		return gate{unless: []string{fmt.Sprintf("extProc: %s changes the answer%s", service.Service.Cluster, orNoAnswer(service.Processor.FailOpen, http.StatusInternalServerError))}}
	}
	return unprocessed(rule, sent, reason)
}

// unprocessed returns the answer if Envoy cannot call a processor for the given reason, and sends
// it or may send it a part of the request. An empty reason returns an empty gate.
func unprocessed(rule *ir.Rule, sent verdict, reason string) gate {
	proc := rule.Action.Extras.ExtProc
	switch {
	case reason == "", proc.Extension.Processor.FailOpen, sent == misses:
		return gate{}
	case sent == takes:
		return outage(&rule.Action, proc.ExtensionUse, http.StatusInternalServerError, reason)
	}
	return gate{unless: []string{fmt.Sprintf("extProc: there is a body or trailer that Envoy cannot send to %s (500): %s", proc.Extension.Service.Cluster, reason)}}
}

// Envoy's names for whether a processor is sent a part.
const (
	modeSkip = "SKIP"
	modeSend = "SEND"
	modeNone = "NONE"
)

func modeOf(proc *ir.ExtProc) *ir.ProcessingMode {
	return cmp.Or(proc.Mode, proc.Extension.Processor.Mode, &ir.ProcessingMode{})
}

// requestSent returns whether Envoy sends a part of the request to a processor.
func (r *request) requestSent(rule *ir.Rule) verdict {
	mode := modeOf(rule.Action.Extras.ExtProc)
	body := sendsBody(mode.RequestBody)
	switch {
	case mode.RequestHeaders != modeSkip:
		return takes
	case body && r.bodyBytes() > 0 && !r.upgrades():
		return r.waitsForBody(rule)
	case body && r.chunked, mode.RequestTrailers == modeSend:
		return may
	}
	return misses
}

// waitsForBody returns whether a rule's action reads the body of a request. If Envoy itself
// answers, it does so after the headers.
func (r *request) waitsForBody(rule *ir.Rule) verdict {
	acts := acted(rule, r)
	switch {
	case acts.Status != 0:
		return misses
	case slices.ContainsFunc(acts.Backends, func(b Backend) bool { return b.Status != 0 }):
		return may
	}
	return takes
}

// answerSent returns whether Envoy sends a part of the answer to a processor.
func (r *request) answerSent(proc *ir.ExtProc) verdict {
	mode := modeOf(proc)
	switch {
	case mode.ResponseHeaders != modeSkip:
		return takes
	case sendsBody(mode.ResponseBody), mode.ResponseTrailers == modeSend:
		return may
	}
	return misses
}

func sendsBody(mode string) bool { return mode != "" && mode != modeNone }

// A request that is nearer to Envoy's limits than this may become too large by what a service
// adds to it.
const (
	fewHeaders = 20
	fewBytes   = 8 << 10
)

// overfull warns of a service that can add more headers than Envoy accepts. Envoy checks a request
// again after the service has changed it, and answers 500. It returns nil if the request is far
// from the limits.
func overfull(field string, service *ir.Extension, r *request) []string {
	if r.headers.count()+1 <= maxHeaders-fewHeaders && r.query.size() <= maxRequestBytes-fewBytes {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s adds more headers than Envoy takes: %d with Host, or %d KB (500)", field, service.Service.Cluster, maxHeaders, maxRequestBytes>>10)}
}
