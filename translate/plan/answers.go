package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// query returns a request to h.host as a query of package explain. The variant has the method, the path, the query
// parameters, the headers and the client's address.
func (h *hostPair) query(v variant) explain.Query {
	q := explain.Query{
		Gateway: h.port.key.gateway, Scheme: h.port.key.scheme, Host: h.port.key.authority(h.host), SNI: h.sni, Port: h.port.key.port,
		Method: v.method, Path: v.path, Headers: v.headers, From: v.from,
	}
	separator := "?"
	for _, one := range v.query {
		q.Path += separator + one.name + "=" + one.value
		separator = "&"
	}
	return q
}

// answer returns what one side (0 is before, 1 is after) does with a request. It passes only rules with a
// matching path to package explain, so that the cost does not depend on the number of rules.
func (h *hostPair) answer(side int, q explain.Query) Answer {
	c, port := h.port.comparison, h.port.ports[side]
	if port == nil {
		return Answer{Outcome: explain.NoListener}
	}
	path, _, _ := strings.Cut(q.Path, "?")
	shown := *port
	shown.Port, shown.Hosts = h.port.names[side].around(h.sni, h.host), nil
	if host := h.views[side]; host != nil {
		one := *host
		var rules []*ir.Rule
		for _, e := range h.indexes[side].at(path, c.patterns) {
			rules = append(rules, e.rule)
		}
		one.Rules, one.Len = slices.Values(rules), len(rules)
		shown.Hosts = []ir.HostView{one}
	}
	clusters := c.sides[side].View.Clusters
	view := &ir.View{Clusters: clusters, Gateways: []ir.GatewayView{{Name: h.port.key.gateway, Ports: []ir.PortView{shown}}}}
	return answerOf(explain.Request(view, q), clusters, q.Method)
}

// exampleOf returns a query as an Example. If the server name differs from the host, the URL has the server
// name, and the host is the header Host.
func exampleOf(q explain.Query) Example {
	e := Example{Method: q.Method, URL: q.URL(), query: q}
	if len(q.Headers) > 0 {
		e.Headers = q.Headers.Clone()
	}
	name, _, _ := strings.Cut(q.Host, ":")
	if q.SNI != "" && q.SNI != name {
		e.URL = q.Scheme + "://" + strings.Replace(q.Host, name, q.SNI, 1) + q.Path
		if e.Headers == nil {
			e.Headers = map[string][]string{}
		}
		e.Headers.Set("Host", q.Host)
	}
	if q.From.IsValid() {
		e.From = q.From.String()
	}
	return e
}

// answerOf converts an answer of package explain into an Answer.
func answerOf(a explain.Answer, clusters map[string]*ir.Cluster, method string) Answer {
	o := a.Outcome
	out := Answer{Status: o.Status, Location: o.Location, Outcome: outcomeOf(a), Unless: o.Unless, policed: o.Policed, login: asksLogin(o.Field)}
	if o.GRPC {
		out.GRPCStatus = grpcText(o.Status)
	}
	if o.Policed || o.Rejected || out.Outcome == explain.Responded {
		out.Reason = o.Why
	}
	if a.Rule != nil && a.Rule.Guard && out.Reason == "" {
		out.Reason = "the path is delegated, and no route takes it"
	}
	for _, b := range o.Backends {
		share := Share{Cluster: b.Cluster, Status: b.Status, Percent: b.Percent}
		if b.Status != 0 && b.GRPC {
			share.GRPCStatus = grpcText(b.Status)
		}
		if cluster := clusters[b.Cluster]; cluster != nil {
			share.Endpoints = explain.Endpoints(cluster)
		}
		if b.Cluster != "" && b.Status == 0 {
			share.Receives = &explain.ReceivesReport{Method: method, Host: b.Host, Path: o.Path, Headers: b.Headers}
		}
		out.Backends = append(out.Backends, share)
	}
	return out
}

// asksLogin reports whether a policy field that answers a request asks for a login.
func asksLogin(field ir.Field) bool {
	return slices.Contains([]ir.Field{ir.FieldBasicAuth, ir.FieldAPIKeyAuth, ir.FieldJWTAuth, ir.FieldOAuth2}, field)
}

// grpcText returns the gRPC status for an HTTP status, as number and name.
func grpcText(status uint32) string {
	code, name := explain.GRPCStatus(status)
	return fmt.Sprintf("%d %s", code, name)
}

// outcomeOf returns the kind of an answer.
func outcomeOf(a explain.Answer) explain.OutcomeKind {
	switch {
	case a.Port == nil:
		return explain.NoListener
	case a.Outcome.Rejected:
		return explain.Rejected
	case a.Rule == nil:
		return explain.NotFound
	case a.Outcome.Policed:
		return explain.Responded
	case a.Rule.Action.Redirect != nil:
		return explain.Redirected
	case len(a.Outcome.Backends) > 0 && a.Outcome.Status == 0:
		return explain.Forwarded
	}
	return explain.Responded
}
