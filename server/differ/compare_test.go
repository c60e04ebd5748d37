package differ

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// exchange is one question with both answers.
type exchange struct {
	question *question
	rule     *ir.Rule // explain's, nil for none
	unsure   []explain.Unsure
	report   *explain.Report
	// asked is explain's error, err that of Envoy's answer.
	asked, err error
	response   *envoytest.Response
	// unknown is true if Envoy did what explain says it may do.
	unknown  bool
	received []*received
}

// difference is what explain and Envoy do not agree about; "" is nothing. Its first
// part, before a colon, is the kind by which differences are counted.
func (x *exchange) difference() string {
	wrong := x.compare()
	if wrong != "" && x.asked == nil && x.err == nil && x.unless() {
		x.unknown, wrong = true, ""
	}
	return wrong
}

// compare is difference without what explain says that it does not know.
func (x *exchange) compare() string {
	switch {
	case x.asked != nil:
		return "explain has no answer: " + x.asked.Error()
	case x.report.Outcome == explain.NoListener:
		if x.err == nil {
			return fmt.Sprintf("explain says no-listener: Envoy answers %s", x.envoy())
		}
		return ""
	case x.err != nil:
		return fmt.Sprintf("Envoy does not answer: %v; explain says %s", x.err, x.explained())
	}
	if want, got := x.explained(), x.envoy(); !slices.Contains(want, got) {
		return fmt.Sprintf("explain says %s, Envoy %s", strings.Join(want, " or "), got)
	}
	if wrong := wrongRule(x.rule, x.response.Headers); wrong != "" && x.report.Outcome != explain.Rejected {
		return wrong
	}
	if location := x.response.Headers.Get("Location"); x.report.Outcome == explain.Redirected && !likeShown(x.report.Location, location) {
		return fmt.Sprintf("location: explain says %q, Envoy %q", x.report.Location, location)
	}
	if wrong := x.compareAttempts(); wrong != "" {
		return wrong
	}
	if own := x.own(); own != nil && own.Method != http.MethodConnect { // a WebSocket over HTTP/2 is a CONNECT there
		return x.compareReceived(own)
	}
	return ""
}

// unless reports whether Envoy did one of those things that the answer says it does not know:
// what a policy of the rule may do, or what another rule does that may take the request.
func (x *exchange) unless() bool {
	return x.policyMay(x.rule, x.report.Caveats) || slices.ContainsFunc(x.unsure, x.took)
}

// took reports whether Envoy's answer is that of a rule whose match reads what is not known.
func (x *exchange) took(by explain.Unsure) bool {
	if x.policyMay(by.Rule, by.Outcome.Unless) {
		return true
	}
	own := strconv.Itoa(int(by.Outcome.Status))
	if code, _ := explain.GRPCStatus(by.Outcome.Status); by.Outcome.GRPC {
		own = fmt.Sprint("grpc ", code)
	}
	allowed := []string{own}
	for _, b := range by.Outcome.Backends {
		name := "backend " + objectOf(b.Cluster)
		if code, _ := explain.GRPCStatus(b.Status); b.GRPC {
			name = fmt.Sprint("grpc ", code)
		} else if b.Status != 0 {
			name = strconv.Itoa(int(b.Status))
		}
		allowed = append(allowed, name)
	}
	return slices.Contains(allowed, x.envoy()) && x.leadsTo(by.Outcome) && wrongRule(by.Rule, x.response.Headers) == ""
}

// leadsTo reports whether Envoy's Location is that of an outcome. To the one of oauth2 Envoy adds the
// parameters of a new login.
func (x *exchange) leadsTo(outcome explain.Outcome) bool {
	location := x.response.Headers.Get("Location")
	if outcome.Policed && outcome.Location != "" { // policies may add to it
		return strings.HasPrefix(location, outcome.Location[:strings.IndexAny(outcome.Location+"?", "?,")])
	}
	return outcome.Location == "" || location == outcome.Location // policies may add one to any answer
}

// policyMay reports whether Envoy did what a rule's policies may do, by the lines that say so.
func (x *exchange) policyMay(rule *ir.Rule, lines []string) bool {
	if rule == nil {
		return false
	}
	extras := rule.Action.Extras.OrNone()
	said := func(field string) bool {
		return slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, field+": ") })
	}
	overfull := func(field string) bool {
		return slices.ContainsFunc(lines, func(line string) bool {
			return strings.HasPrefix(line, field+": ") && strings.Contains(line, "adds more headers than Envoy takes")
		})
	}
	failed := func(field string, open bool) bool { // the service may not have answered
		return said(field) && !open && x.isStatus(http.StatusInternalServerError)
	}
	switch {
	case said("extAuth") && x.isStatus(x.denied(rule.Action.AuthInForce())...):
		return true
	case (overfull("extAuth") || overfull("extProc")) && x.isStatus(http.StatusInternalServerError):
		return true
	case said("extAuth") && len(x.question.target) > 20_000 && x.isStatus(http.StatusInternalServerError): // its answer has the path, too
		return true
	case slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "extProc: Envoy buffers at most") }) && x.isStatus(http.StatusRequestEntityTooLarge):
		return true
	case said("jwtAuth") && x.isStatus(http.StatusUnauthorized):
		return true
	case (said("csrf") || said("rbac")) && x.isStatus(http.StatusForbidden):
		return true
	case said("oauth2") && x.isStatus(http.StatusFound, http.StatusUnauthorized):
		return true
	case (said("rateLimit.local") || said("rateLimit.global")) && x.isStatus(http.StatusTooManyRequests):
		return true
	}
	return failed("rateLimit.global", extras.GlobalLimit != nil && extras.GlobalLimit.Extension.Limiter.FailOpen) || failed("extProc", extras.ExtProc != nil && extras.ExtProc.Extension.Processor.FailOpen)
}

// isStatus reports whether Envoy answered with one of the statuses, in its own or in gRPC's
// way.
func (x *exchange) isStatus(statuses ...uint32) bool {
	return slices.ContainsFunc(statuses, func(status uint32) bool {
		code, _ := explain.GRPCStatus(status)
		return x.envoy() == strconv.Itoa(int(status)) || x.envoy() == fmt.Sprint("grpc ", code)
	})
}

// denied are the answers to a question that the service does not let pass: 401 unless it
// has the token, and StatusOnError while the service does not answer.
func (x *exchange) denied(auth *ir.ExtAuth) (out []uint32) {
	tokens := x.question.values("x-token")
	if !slices.Contains(tokens, "good") || len(tokens) > 1 || auth.Extension.Auth.HTTP != nil && !auth.Extension.Auth.Receives("x-token") {
		out = append(out, http.StatusUnauthorized)
	}
	if auth.Extension.Auth.HTTP != nil {
		out = append(out, http.StatusBadRequest) // net/http does not take every Host
	}
	if service := auth.Extension.Auth; !service.FailOpen {
		out = append(out, service.StatusOnError)
	}
	return out
}

// explained are the answers that explain allows, in the form of envoy.
func (x *exchange) explained() []string {
	own := strconv.Itoa(int(x.report.Status))
	if code, _, byGRPC := strings.Cut(x.report.GRPCStatus, " "); byGRPC {
		own = "grpc " + code
	}
	shares := slices.Sorted(maps.Keys(x.shares()))
	if x.report.Outcome == explain.Forwarded || slices.Contains(shares, own) { // or no share has a backend
		return shares
	}
	return []string{own}
}

// shares are the targets of a request that is passed on, in the form of envoy, with the
// percentage of each.
func (x *exchange) shares() map[string]float64 {
	out := map[string]float64{}
	for _, b := range x.report.Backends {
		name := "backend " + objectOf(b.Cluster)
		if b.Cluster == "" || b.Closed != "" {
			name = local(b)
		}
		if b.Weight > 0 {
			out[name] += b.Percent
		}
	}
	return out
}

// local is what is answered for a backend that gets nothing.
func local(b explain.BackendReport) string {
	if code, _, byGRPC := strings.Cut(b.GRPCStatus, " "); byGRPC {
		return "grpc " + code
	}
	return strconv.Itoa(int(b.Status))
}

// objectOf is the name of the object of a cluster.
func objectOf(cluster string) string {
	parts := strings.Split(cluster, "/")
	if len(parts) < 3 {
		return cluster
	}
	return parts[2]
}

// envoy is what Envoy answered: "404", "grpc 12" or "backend b0".
func (x *exchange) envoy() string {
	if name := x.response.Headers.Get(backendHeader); name != "" {
		return "backend " + name
	}
	if code := x.response.Headers.Get("grpc-status"); code != "" && x.response.Status == http.StatusOK {
		return "grpc " + code
	}
	return strconv.Itoa(x.response.Status)
}

// wrongRule compares the header that many rules set in the answer.
func wrongRule(rule *ir.Rule, answer http.Header) string {
	got := answer.Get("x-rule")
	if got == "" {
		return ""
	}
	if rule != nil {
		for _, h := range rule.Action.ResponseHeaders.OrNone().Set {
			if h.Name == "x-rule" && h.Value == got {
				return ""
			}
		}
	}
	return fmt.Sprintf("rule: Envoy took the one with x-rule %s", got)
}

// own is what the backend received that answered; nil for none.
func (x *exchange) own() *received {
	name := x.response.Headers.Get(backendHeader)
	for _, one := range x.received {
		if name != "" && one.Backend == name {
			return one
		}
	}
	return nil
}

// compareReceived compares a request with what explain says the backend receives.
func (x *exchange) compareReceived(got *received) string {
	var all []string
	for _, b := range x.report.Backends {
		if b.Receives == nil || objectOf(b.Cluster) != got.Backend {
			continue
		}
		wrong := x.compareOne(b.Receives, got)
		if wrong == "" {
			return ""
		}
		all = append(all, wrong)
	}
	if len(all) == 0 {
		return "received: explain says nothing of what the backend receives"
	}
	return strings.Join(all, "; by another reference ")
}

// likeShown is likeKnown for a value of which explain hides passwords or keys.
func likeShown(want, got string) bool {
	parts := strings.Split(want, "[redacted]")
	if len(parts) == 1 {
		return likeKnown(want, got)
	}
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("(?s)^" + strings.Join(parts, ".+") + "$").MatchString(got)
}

func (x *exchange) compareOne(want *explain.ReceivesReport, got *received) string {
	switch {
	case want.Method != got.Method:
		return fmt.Sprintf("received method: explain says %q, the backend received %q", want.Method, got.Method)
	case !slices.Contains(strings.Split(want.Host, " or "), got.Host):
		return fmt.Sprintf("received host: explain says %q, the backend received %q", want.Host, got.Host)
	case !likeShown(want.Path, got.Target):
		return fmt.Sprintf("received path: explain says %q, the backend received %q", want.Path, got.Target)
	}
	left := map[string][]string{}
	for _, h := range got.Headers {
		left[strings.ToLower(h.Name)] = append(left[strings.ToLower(h.Name)], h.Value)
	}
	for name, values := range want.Headers {
		name = strings.ToLower(name)
		if wrong, ok := x.compareAnswered(name, values, left[name]); ok {
			if wrong != "" {
				return wrong
			}
			delete(left, name)
			continue
		}
		if !slices.EqualFunc(values, left[name], likeShown) {
			return fmt.Sprintf("received header %s: explain says %q, the backend received %q", name, values, left[name])
		}
		delete(left, name)
	}
	for name, values := range left {
		if !x.added(name) {
			return fmt.Sprintf("received header %s: explain does not say it, the backend received %q", name, values)
		}
	}
	return ""
}

// compareAnswered compares a header that a service by HTTP may have written; ok is false for others. It
// may be missing, and is never the client's where explain says so.
func (x *exchange) compareAnswered(name string, want, got []string) (wrong string, ok bool) {
	unknown := func(value string) bool { return strings.Contains(value, explain.ServiceAnswer) }
	if slices.ContainsFunc(want, unknown) {
		for _, value := range got {
			if len(want) == 1 && want[0] == explain.ServiceAnswer && !slices.Contains([]string{"", "signin-open", "Bearer from-signin-open"}, value) {
				return fmt.Sprintf("received header %s: it is the service's alone, the backend received %q", name, value), true
			}
		}
		return "", true
	}
	auth := x.rule.Action.AuthInForce()
	copied := auth != nil && (auth.Extension.Auth.HTTP == nil || auth.Extension.Auth.HTTP.AllToBackend) && slices.Contains(signInHeaders(), name)
	return "", copied && slices.Contains([]string{"guard", "signin-open", "Bearer from-signin-open"}, strings.Join(got, ","))
}

// signInHeaders are those that a SignIn answers with.
func signInHeaders() []string {
	return []string{"x-user", "x-asked", "authorization", "set-cookie", "location", "www-authenticate", "x-checked"}
}

// likeKnown compares a value with what explain says, where some of it is not known: an
// address, or a request ID.
func likeKnown(want, got string) bool {
	if !strings.Contains(want, "<") {
		return want == got
	}
	pattern := regexp.QuoteMeta(want)
	pattern = strings.ReplaceAll(pattern, "<address of the client>", `[0-9.]+`)
	pattern = strings.ReplaceAll(pattern, "<new request ID>", `[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	return regexp.MustCompile("^(?:" + pattern + ")$").MatchString(got)
}

// added reports whether Envoy, or a service that the answer names, writes a header by
// itself.
func (x *exchange) added(name string) bool {
	byEnvoy := []string{"x-forwarded-proto", "x-forwarded-for", "x-request-id", "x-envoy-expected-rq-timeout-ms", "x-envoy-external-address", "x-envoy-internal", "transfer-encoding", "content-length"}
	byService := map[string][]string{"extAuth:": signInHeaders(), "extProc:": {"x-processed", "x-body"}}
	if slices.Contains(byEnvoy, name) {
		return true
	}
	for prefix, names := range byService {
		if slices.Contains(names, name) && slices.ContainsFunc(x.report.Caveats, func(line string) bool { return strings.HasPrefix(line, prefix) }) {
			return true
		}
	}
	return false
}
