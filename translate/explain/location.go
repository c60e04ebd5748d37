package explain

import (
	"fmt"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// locationName is the header of a redirect. Envoy keeps it in one line.
const locationName = "location"

// location returns the Location header with which Envoy answers a rule that redirects, "" if the answer has none. The
// header modifiers of the rule and of its policies change it, in Envoy's order: those of the rule, the filter that
// removes a port (ir.Redirect.PortLess), headerModifiers, and transformation.
func (r *request) location(action *ir.Action) string {
	headers := headerFields{locationName: {r.target(action.Redirect)}}
	headers.changeAnswer(action.ResponseHeaders.OrNone())
	return shown(r.changedLocation(action, r.transformed(action.Extras), headers))
}

// changedLocation returns the header Location of an answer after the changes that Envoy's filters make to it, "" if none is
// left: the filter that removes a port, headerModifiers and transformation. The parameter sent has the headers of the
// request as the filters see them then. The parameter headers has those of the answer; changedLocation changes it. Envoy
// makes these changes to redirects of policies, too: those to a login and after a logout.
func (r *request) changedLocation(action *ir.Action, sent, headers headerFields) string {
	if value, to := headers.first(locationName), action.Redirect; to != nil && to.PortLess && (to.PortLessIn == "" || strings.HasPrefix(value, to.PortLessIn+":")) {
		headers.set(locationName, strings.Replace(value, fmt.Sprintf(":%d/", to.Port), "/", 1))
	}
	extras := action.Extras.OrNone()
	headers.changeAnswer(extras.ResponseHeaders)
	templates := templateReader{r, sent, headers}
	for _, change := range extras.Response {
		value := []ir.Header{{Name: change.Name, Value: templates.expand(change.Value)}}
		switch change.Kind {
		case ir.SetHeader:
			headers.changeAnswer(ir.HeaderMods{Set: value})
		case ir.AddHeader:
			headers.changeAnswer(ir.HeaderMods{Add: value})
		case ir.RemoveHeader:
			headers.changeAnswer(ir.HeaderMods{Remove: []string{change.Name}})
		}
	}
	return headers.first(locationName)
}

// changeAnswer makes changes to the headers of an answer, and joins the values of Location.
func (f headerFields) changeAnswer(mods ir.HeaderMods) {
	if value := f.first(locationName); value == "" { // Envoy does not join a value to an empty one
		f.remove(locationName)
	}
	changeHeaders(f, mods)
	if values := f[locationName]; len(values) > 1 {
		f.set(locationName, strings.Join(values, ","))
	}
}

// target returns the URL of a redirect as Envoy's router writes it: with each port that Redirect.Port has. It has the
// query of the request, unless the new path has a query.
func (r *request) target(redirect *ir.Redirect) string {
	scheme, host, path := r.scheme, redirect.Hostname, changePath(redirect.Path, r.path)
	if redirect.Scheme != "" {
		scheme = redirect.Scheme
	}
	if host == "" {
		host = r.hostname()
	}
	if redirect.Port != 0 {
		host += fmt.Sprintf(":%d", redirect.Port)
	}
	if !strings.Contains(path, "?") {
		path += r.search
	}
	return scheme + "://" + host + path
}

// hostname returns the request's host without its port.
func (r *request) hostname() string {
	host := r.query.Host
	i := portStart(host)
	if strings.HasPrefix(host, "[") { // Envoy's redirects find the port of an address in brackets like this
		if i = strings.LastIndex(host, "]:"); i >= 0 {
			i++
		}
	}
	if i < 0 {
		return host
	}
	return host[:i]
}
