package route

import (
	"slices"
	"strconv"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// statusAnnotation is kgateway's annotation of an HTTPRoute for the status of its redirects, which goes before
// statusCode of the filter: a status for all rules, or entries NAME=STATUS for rules by their names.
const statusAnnotation = "kgateway.dev/http-redirect-status-code"

// statusField is the path of statusAnnotation.
const statusField = "metadata.annotations[" + statusAnnotation + "]"

// ruleStatus is one entry of statusAnnotation: a status of redirects for the rule with a name, "" for all rules.
type ruleStatus struct {
	rule   string
	status uint32
}

// readStatuses sets b.statuses from statusAnnotation, if the route has it. Invalid entries are reported, and have no
// effect. So are entries that name no rule of the route.
func (b *builder) readStatuses(rules []api.HTTPRouteRule) {
	text, written := b.object.Value.GetAnnotations()[statusAnnotation]
	if !written {
		return
	}
	var wrong, lost []string
	for entry := range strings.SplitSeq(text, ",") {
		one, ok := readStatus(entry)
		switch {
		case !ok:
			wrong = append(wrong, strconv.Quote(manifest.Shorten(strings.TrimSpace(entry))))
		case one.rule != "" && !slices.ContainsFunc(rules, func(r api.HTTPRouteRule) bool { return Section(r.Name) == one.rule }):
			lost = append(lost, strconv.Quote(manifest.Shorten(one.rule)))
		default:
			b.statuses = append(b.statuses, one)
		}
	}
	if len(wrong) > 0 {
		message := "no status of redirects: " + Several(wrong) + "; statusCode of the filter counts"
		b.problem(manifest.Error, "InvalidValue", statusField, message, "write 301, 302, 303, 307 or 308, or NAME=STATUS for each rule by its name, separated by commas")
		b.flat.Unserved(statusField + ": " + message)
	}
	if len(lost) > 0 {
		b.problem(manifest.Warning, "NoEffect", statusField, "the route has no rule with this name, and the status has no effect: "+Several(lost),
			"correct the name, or give it to the rule (spec.rules[].name)")
	}
}

// readStatus reads one entry of statusAnnotation. ok is false for an invalid one.
func readStatus(entry string) (one ruleStatus, ok bool) {
	code := entry
	if name, after, named := strings.Cut(entry, "="); named {
		if one.rule, code = strings.TrimSpace(name), after; one.rule == "" {
			return one, false
		}
	}
	status, err := strconv.ParseUint(strings.TrimSpace(code), 10, 32)
	one.status = uint32(status)
	return one, err == nil && slices.Contains([]uint32{301, 302, 303, 307, 308}, one.status)
}

// status returns the status of a redirect: the first entry of statusAnnotation for the rule, or else statusCode of the
// filter, which is 302 by default (Gateway API, HTTPRequestRedirectFilter.statusCode).
func (a *actionBuilder) status(f *gwv1.HTTPRequestRedirectFilter) uint32 {
	for _, one := range a.statuses {
		if one.rule == "" || one.rule == a.rule {
			a.part(string(gwv1.HTTPRouteFilterRequestRedirect), statusField)
			return one.status
		}
	}
	if f.StatusCode != nil {
		return uint32(*f.StatusCode)
	}
	return 302
}

// redirect sets a.action.Redirect from the filter RequestRedirect.
func redirect(a *actionBuilder, _ string, f *gwv1.HTTPRouteFilter) bool {
	from := f.RequestRedirect
	to := &ir.Redirect{Status: a.status(from), Scheme: api.Text(from.Scheme)}
	if from.Hostname != nil {
		to.Hostname = string(*from.Hostname)
	}
	to.Path = pathChange(from.Path)
	a.setPort(to, from.Port)
	a.action.Redirect = to
	return true
}

// setPort sets the port of the Location header: the parameter explicit, which is the filter's port. Without one it is the
// well-known port of the filter's scheme. If the filter has neither, it is the listener's port. A port that is the
// well-known port of the Location's scheme is not written (Gateway API, HTTPRequestRedirectFilter.port: "whether that
// is determined via the Listener protocol or the Scheme field"). The port of the request's Host has no influence.
func (b *builder) setPort(to *ir.Redirect, explicit *gwv1.PortNumber) {
	schemes := b.schemes
	to.Port = b.port
	if to.Scheme != "" {
		schemes = []string{to.Scheme}
		to.Port = map[string]uint32{"http": 80, "https": 443}[to.Scheme]
	}
	if explicit != nil {
		to.Port = uint32(*explicit)
	}
	usual := map[uint32]string{80: "http", 443: "https"}[to.Port]
	switch {
	case !slices.Contains(schemes, usual):
	case len(schemes) > 1:
		to.PortLess, to.PortLessIn = true, usual
	case to.Hostname != "":
		to.Port = 0
	default:
		to.PortLess = true
	}
}
