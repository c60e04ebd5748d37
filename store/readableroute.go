package store

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// The limits on what readableRoute reads. A valid route has fewer rules and matches.
const (
	maxReadableRules   = 128
	maxReadableMatches = 1024 // of all rules
	maxReadableHosts   = 128
)

// readableRoute returns what can be read of an invalid HTTPRoute or GRPCRoute: its labels, parents, hosts and weight,
// and the names and matches of its rules, with the filters that name TrafficPolicies. It leaves out all other parts. A
// rule of which no match can be read has an empty list of matches, and not nil. The parameter raw is the object as it is
// written, and i has its key and parents. The result is nil for other kinds, and for a route whose hostnames cannot be
// read.
func (i *Invalid) readableRoute(raw map[string]any) *manifest.Object {
	if i.Key.Group != gatewayGroup || i.Key.Kind != "HTTPRoute" && i.Key.Kind != "GRPCRoute" {
		return nil
	}
	spec, _ := raw["spec"].(map[string]any)
	hosts, ok := readableHosts(spec)
	if !ok {
		return nil
	}
	out := &manifest.Object{Key: i.Key}
	meta := metav1.ObjectMeta{Name: i.Key.Name, Namespace: i.Key.Namespace, Generation: i.Generation}
	metadata, _ := raw["metadata"].(map[string]any)
	meta.Labels, meta.Annotations = textsOf(metadata["labels"]), textsOf(metadata["annotations"])
	if created, err := time.Parse(time.RFC3339, textOf(metadata["creationTimestamp"])); err == nil {
		meta.CreationTimestamp = metav1.NewTime(created)
	}
	common := gwv1.CommonRouteSpec{ParentRefs: i.Refs}
	rules := readableRules(spec)
	if i.Key.Kind == "GRPCRoute" {
		route := &gwv1.GRPCRoute{ObjectMeta: meta, Spec: gwv1.GRPCRouteSpec{CommonRouteSpec: common, Hostnames: hosts}}
		for _, rule := range rules {
			route.Spec.Rules = append(route.Spec.Rules, rule.grpc())
		}
		out.Value = route
	} else {
		route := &api.HTTPRoute{ObjectMeta: meta}
		route.Spec.CommonRouteSpec, route.Spec.Hostnames = common, hosts
		for _, rule := range rules {
			route.Spec.Rules = append(route.Spec.Rules, rule.http())
		}
		out.Value = route
	}
	out.Hash = sha256.Sum256(fmt.Appendf(nil, "readable %q %q", metadata, spec))
	return out
}

// textsOf returns the texts in a map, such as labels.
func textsOf(value any) map[string]string {
	fields, _ := value.(map[string]any)
	out := map[string]string{}
	for name, value := range fields {
		if text, ok := value.(string); ok {
			out[name] = text
		}
	}
	return out
}

// readableHost is a hostname, maybe one that a schema does not accept.
var readableHost = regexp.MustCompile(`^(\*\.)?[a-z0-9_][a-z0-9._-]*$`)

// readableHosts returns the hostnames of a route that can be read. ok is false if there are hostnames and none can be
// read.
func readableHosts(spec map[string]any) (hosts []gwv1.Hostname, ok bool) {
	written := valuesOf(spec, "hostnames")
	for _, text := range textsIn(written) {
		if text = strings.ToLower(text); len(hosts) < maxReadableHosts && readableHost.MatchString(text) {
			hosts = append(hosts, gwv1.Hostname(text))
		}
	}
	return hosts, len(hosts) > 0 || hasNoText(written)
}

// readableRule is what can be read of a rule. If lost is true, the rule has matches and none can be read.
type readableRule struct {
	name     string
	lost     bool
	matches  []readableMatch
	policies []string // the names of the TrafficPolicies that its filters name
}

// readableMatch is what can be read of a match. A field that cannot be read is nil or empty.
type readableMatch struct {
	path           *gwv1.HTTPPathMatch
	method         string
	rpc            *gwv1.GRPCMethodMatch
	headers, query []readableValue
}

// readableValue is a condition for a header or query parameter.
type readableValue struct {
	name, value string
	regex       bool
}

// readableRules returns what can be read of the rules of a route. If no list of rules can be read, it returns one rule
// that is lost.
func readableRules(spec map[string]any) (out []readableRule) {
	left := maxReadableMatches
	for _, value := range valuesOf(spec, "rules") {
		for _, rule := range listed(value) {
			if len(out) == maxReadableRules {
				return out
			}
			out = append(out, newReadableRule(rule, &left))
		}
	}
	if len(out) == 0 {
		return []readableRule{{lost: true}}
	}
	return out
}

// listed returns the items of a list. A value that is no list is the only item.
func listed(value any) []any {
	if list, ok := value.([]any); ok {
		return list
	}
	return []any{value}
}

// newReadableRule reads a rule. The parameter left is how many matches may still be read.
func newReadableRule(value any, left *int) (out readableRule) {
	rule, ok := value.(map[string]any)
	if !ok {
		return readableRule{lost: true}
	}
	out.name = textOf(rule["name"])
	for _, filters := range valuesOf(rule, "filters") {
		for _, filter := range listed(filters) {
			fields, _ := filter.(map[string]any)
			for _, ref := range valuesOf(fields, "extensionRef") {
				ref, _ := ref.(map[string]any)
				if name := firstText(ref, "name"); name != "" && (ref["kind"] == nil || means(textOf(ref["kind"]), api.KindTrafficPolicy)) {
					out.policies = append(out.policies, name)
				}
			}
		}
	}
	written := valuesOf(rule, "matches")
	for _, matches := range written {
		for _, match := range listed(matches) {
			if one, ok := newReadableMatch(match); ok && *left > 0 {
				*left--
				out.matches = append(out.matches, one)
			}
		}
	}
	if len(written) == 0 {
		var paths RuleOutline
		paths.looseTexts(unknownFields(rule), 0)
		for _, path := range paths.Paths[:min(len(paths.Paths), *left)] {
			out.matches = append(out.matches, readableMatch{path: readablePath(path.Value, "")})
		}
		*left -= len(out.matches)
	}
	out.lost = len(out.matches) == 0 && len(written) > 0
	return out
}

// unknownFields returns the fields of a rule that no rule has. One of them may be meant as its matches.
func unknownFields(rule map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range rule {
		if !slices.Contains([]string{"name", "filters", "backendRefs", "timeouts", "retry", "sessionPersistence", "allowedRoutes"}, name) {
			out[name] = value
		}
	}
	return out
}

// newReadableMatch reads a match of an HTTPRoute or GRPCRoute. ok is false if nothing of it can be read.
func newReadableMatch(value any) (out readableMatch, ok bool) {
	match, ok := value.(map[string]any)
	if !ok {
		return out, false
	}
	for _, path := range valuesOf(match, "path") {
		if fields, ok := path.(map[string]any); ok {
			out.path = readablePath(wholeText(fields, "value"), wholeText(fields, "type"))
		} else {
			out.path = readablePath(textOf(path), "")
		}
	}
	for _, method := range valuesOf(match, "method") {
		if fields, ok := method.(map[string]any); ok {
			out.rpc = readableMethod(fields)
		} else if text := textOf(method); slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"}, text) {
			out.method = text
		}
	}
	out.headers, out.query = readableValues(match, "headers"), readableValues(match, "queryParams")
	left := out.path != nil || out.rpc != nil || out.method != "" || len(out.headers)+len(out.query) > 0
	return out, left || len(match) == 0
}

// wholeText returns the first text that is the value of a field, also under a misspelt name.
func wholeText(fields map[string]any, name string) string {
	for _, value := range valuesOf(fields, name) {
		if text := textOf(value); text != "" {
			return text
		}
	}
	return ""
}

// readablePath returns the path of a match for a text and a type, which may be one that does not exist. It returns nil
// if the text is blank.
func readablePath(text, kind string) *gwv1.HTTPPathMatch {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	of := gwv1.PathMatchPathPrefix
	known := kind == ""
	for _, one := range []gwv1.PathMatchType{gwv1.PathMatchExact, gwv1.PathMatchPathPrefix, gwv1.PathMatchRegularExpression, api.PathMatchPostfix} {
		if kind == string(one) || !known && means(kind, string(one)) {
			of, known = one, true
		}
	}
	if at := strings.IndexAny(text, `*+?()|[]{}^$\`); !known && at >= 0 { // it may be a regular expression
		of, text = gwv1.PathMatchRegularExpression, regexp.QuoteMeta(strings.TrimRight(text[:at], "."))+".*"
	}
	if of != gwv1.PathMatchRegularExpression && !strings.HasPrefix(text, "/") {
		text = "/" + text
	}
	return &gwv1.HTTPPathMatch{Type: &of, Value: &text}
}

// readableMethod returns the gRPC method of a match, nil if neither the service nor the method can be read.
func readableMethod(fields map[string]any) *gwv1.GRPCMethodMatch {
	service, method := wholeText(fields, "service"), wholeText(fields, "method")
	if service == "" && method == "" {
		return nil
	}
	of := gwv1.GRPCMethodMatchRegularExpression // of an unknown type: it also matches what is equal
	if kind := textOf(fields["type"]); kind == "" || kind == string(gwv1.GRPCMethodMatchExact) {
		of = gwv1.GRPCMethodMatchExact
	}
	out := &gwv1.GRPCMethodMatch{Type: &of}
	if service != "" {
		out.Service = &service
	}
	if method != "" {
		out.Method = &method
	}
	return out
}

// readableValues returns the conditions for headers or query parameters that can be read in full.
func readableValues(match map[string]any, field string) (out []readableValue) {
	for _, value := range valuesOf(match, field) {
		for _, item := range listed(value) {
			fields, _ := item.(map[string]any)
			kind, name, text := textOf(fields["type"]), textOf(fields["name"]), textOf(fields["value"])
			if name != "" && text != "" && (kind == "" && fields["type"] == nil || kind == "Exact" || kind == "RegularExpression") {
				out = append(out, readableValue{name, text, kind == "RegularExpression"})
			}
		}
	}
	return out
}
