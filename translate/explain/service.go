package explain

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"github.com/gatefold/gatefold/translate/ir"
)

// unreachable returns why calls of Envoy to a service fail at once: the service's cluster is closed, or has no
// endpoint that gets requests. It returns "" if Envoy can call the service, or if the cluster is not known.
func unreachable(clusters map[string]*ir.Cluster, service *ir.Extension) string {
	cluster := clusters[service.Service.Cluster]
	if cluster == nil || reachable(cluster) {
		return ""
	}
	return cmp.Or(cluster.Closed, "it has no endpoint")
}

// outage returns a gate that answers with status because Envoy cannot call the external service of a policy
// field. reason says why Envoy cannot call it.
func outage(action *ir.Action, use ir.ExtensionUse, status uint32, reason string) gate {
	return gate{status: status, why: fmt.Sprintf("Envoy cannot ask %s for %s: %s",
		use.Extension.Service.Cluster, partsOf(action, use.PartKind()), reason)}
}

// orNoAnswer returns the end of a text about a service: ", or does not answer" and the status that clients then
// get. If open is true, requests pass without the service, and the text is "".
func orNoAnswer(open bool, status uint32) string {
	if open {
		return ""
	}
	return fmt.Sprintf(", or does not answer (%d)", status)
}

// globalLimitGate returns what the filter of rateLimit.global does with a request:
//
//   - If Envoy does not call the rate limit service (for example, the rule is a redirect), the gate is empty: it
//     passes the request on.
//   - If Envoy cannot call the service, and requests pass without the service, the gate is empty.
//   - If Envoy must call the service for this request, but cannot call it, the gate answers 500.
//   - In all other cases, the gate passes the request on, and gate.unless has the case in which Envoy rejects it.
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

// counted returns whether Envoy calls the rate limit service for the request, as one of these verdicts:
//   - takes: yes. The request has all headers of at least one descriptor.
//   - may: this is not known. Each descriptor lacks a header, but extAuth may add headers.
//   - misses: no.
func (r *request) counted(limit *ir.GlobalLimit, auth *ir.ExtAuth) verdict {
	missing := func(entry ir.LimitEntry) bool {
		return entry.Header != "" && (len(templateReader{r, r.headers, nil}.read(entry.Header)) == 0 || slices.Contains(r.answered, entry.Header))
	}
	for _, descriptor := range limit.Descriptors {
		if !slices.ContainsFunc(descriptor, missing) {
			return takes
		}
	}
	if auth != nil && r.asks(auth) {
		return may
	}
	return misses
}

// processorGate returns what the filter of extProc does with a request. The gate is empty if the rule has no
// extProc. If Envoy can call the processor, the texts in gate.unless say what the processor may change or answer. If
// Envoy cannot call it, the function unprocessed makes the gate. For the answer to the request, see answerGate.
func processorGate(rule *ir.Rule, r *request) gate {
	proc := rule.Action.Extras.OrNone().ExtProc
	if proc == nil {
		return gate{}
	}
	service, reason := proc.Extension, unreachable(r.clusters, proc.Extension)
	if reason == "" {
		line := fmt.Sprintf("extProc: %s changes it, or answers by itself%s", service.Service.Cluster, orNoAnswer(service.Processor.FailOpen, http.StatusInternalServerError))
		lines := append([]string{line}, overfull("extProc", service, r)...)
		if modeOf(proc).RequestBody == modeBuffered && r.bodyBytes() > ir.ConnectionBuffer && !r.upgrades() && !buffered(&rule.Action) {
			lines = append(lines, fmt.Sprintf("extProc: Envoy buffers at most %d KiB of a body for %s, and this one has %d bytes (413)", ir.ConnectionBuffer>>10, service.Service.Cluster, r.bodyBytes()))
		}
		return gate{unless: lines}
	}
	return unprocessed(rule, max(r.requestSent(rule), answerSent(proc)), reason)
}

// answerGate returns what the filter of extProc does with the answer to a request. The gate is empty if the rule has
// no extProc, or if Envoy sends the processor nothing of the answer. If Envoy cannot call the processor, the
// function unprocessed makes the gate. The answer can also come from a filter before extProc, or be the answer to a
// rejected upgrade. Envoy sends these answers to the processor, too.
func answerGate(rule *ir.Rule, r *request) gate {
	proc := rule.Action.Extras.OrNone().ExtProc
	if proc == nil {
		return gate{}
	}
	sent, reason := answerSent(proc), unreachable(r.clusters, proc.Extension)
	if reason == "" && sent != misses {
		service := proc.Extension
		return gate{unless: []string{fmt.Sprintf("extProc: %s changes the answer%s", service.Service.Cluster, orNoAnswer(service.Processor.FailOpen, http.StatusInternalServerError))}}
	}
	return unprocessed(rule, sent, reason)
}

// unprocessed returns what the filter of extProc does with a request if Envoy cannot call the processor. The
// parameter reason says why Envoy cannot call it. The gate is empty if reason is "" (Envoy can call the processor),
// or if requests pass without the processor. Otherwise the gate depends on the parameter sent: whether Envoy would
// send the processor any part of the request or of the answer to the request.
//
//   - takes: yes. The gate answers 500.
//   - may: this is not known. The gate passes the request on, and gate.unless says when Envoy answers 500.
//   - misses: no. The gate is empty.
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

// Envoy's names for whether a processor gets headers, bodies or trailers.
const (
	modeSkip = "SKIP"
	modeSend = "SEND"
	modeNone = "NONE"
	// modeBuffered waits for the whole body, and sends it in one message.
	modeBuffered = "BUFFERED"
)

// modeOf returns the processing mode of a rule's extProc (proc.Mode). If proc.Mode is not set, modeOf returns the
// processing mode of the service. If the service has no processing mode either, the result is an empty mode.
func modeOf(proc *ir.ExtProc) *ir.ProcessingMode {
	return cmp.Or(proc.Mode, proc.Extension.Processor.Mode, &ir.ProcessingMode{})
}

// requestSent returns whether Envoy sends headers, body or trailers of the request to a processor, as one of these
// verdicts:
//   - takes: yes.
//   - may: this depends on the body or on trailers.
//   - misses: no.
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

// waitsForBody returns whether the action of a rule reads the body of a request, as one of these verdicts:
//   - takes: yes.
//   - may: this depends on the chosen backend.
//   - misses: no. Envoy answers the request itself, and does so after the headers.
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

// answerSent returns whether Envoy sends any part of an answer to a processor, as one of these verdicts:
//   - takes: yes.
//   - may: Envoy sends only the body or the trailers, and the answer may have neither.
//   - misses: no.
func answerSent(proc *ir.ExtProc) verdict {
	mode := modeOf(proc)
	switch {
	case mode.ResponseHeaders != modeSkip:
		return takes
	case sendsBody(mode.ResponseBody), mode.ResponseTrailers == modeSend:
		return may
	}
	return misses
}

// sendsBody reports whether Envoy sends the body to a processor in the given processing mode.
func sendsBody(mode string) bool { return mode != "" && mode != modeNone }

// fewHeaders and fewBytes say when a request is close to Envoy's limits: when a service can add fewer than fewHeaders
// headers, or fewer than fewBytes bytes, before the request exceeds a limit. overfull warns about such requests.
const (
	fewHeaders = 20
	fewBytes   = 8 << 10
)

// overfull returns a warning that the service of a policy field may add too many headers. The request may then
// have more headers or bytes than Envoy accepts, and Envoy answers 500. The warning is a list with one text. It is
// nil if the request is far below Envoy's limits.
func overfull(field string, service *ir.Extension, r *request) []string {
	if r.headers.count()+1 <= maxHeaders-fewHeaders && r.query.size() <= maxRequestBytes-fewBytes {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s adds more headers than Envoy takes: %d with Host, or %d KB (500)", field, service.Service.Cluster, maxHeaders, maxRequestBytes>>10)}
}
