package xds

import (
	"strconv"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	headerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatefold/gatefold/translate/ir"
)

// The answers of a closed table. notServed is for hosts that no listener of the address and port serves.
const (
	misdirected uint32 = 421
	notServed   uint32 = 404
	// closing is the only status with which Envoy closes the connection of a client that speaks HTTP/1.1: it takes a
	// local answer 400 for a fault of the connection. closedReplies replaces it by the answer that the client gets.
	closing uint32 = 400
)

// closedHeader is the request header by which a route of a closed table tells closedReplies its answer. Envoy
// removes it from the requests of clients.
const closedHeader = "x-gatefold-closed"

// maxMisdirected is the largest number of hosts that a closed table lists. If a port serves more hosts, the table
// answers 421 for all hosts, so that the closed tables of a port with many hostnames stay small.
const maxMisdirected = ir.MaxMisdirected

// ClosedTables makes the RouteConfigurations that an Envoy gets for names that it still requests, but for which there
// is no RouteConfiguration any more, because a listener was removed or changed. The connections of that listener may
// stay open for minutes. Without a closed table, they would be served as before.
//
// A closed table has no backends. It answers 421 for the hosts that other connections to the same address and port
// serve, and 404 for all others. Where the listener is of ir.ClosingGeneration or later, it also closes connections
// of HTTP/1.1.
type ClosedTables struct {
	body    []byte // without the name
	version string
}

// NewClosedTables returns the ClosedTables of one address and port. The parameter served has the domains that answer
// 421, as in VirtualHost, sorted, each once. The parameter generation is that of the listeners that request the tables.
func NewClosedTables(served []string, generation int) *ClosedTables {
	if len(served) > maxMisdirected {
		served = []string{"*"}
	}
	var hosts []Host
	if len(served) > 0 {
		hosts = append(hosts, closedHost(misdirected, served, generation))
	}
	if len(served) == 0 || served[0] != "*" {
		hosts = append(hosts, closedHost(notServed, []string{"*"}, generation))
	}
	table := RouteConfiguration("", hosts)
	return &ClosedTables{table.Body, table.Version}
}

// Named returns the closed table with this name. All names have the same version.
func (t *ClosedTables) Named(name string) Resource {
	body := append(marshal(&routev3.RouteConfiguration{Name: name}), t.body...)
	return Resource{Type: RouteType, Name: name, Version: t.version, Body: body}
}

// closedHost returns the virtual host of a closed table that answers with a status for these domains.
func closedHost(status uint32, domains []string, generation int) Host {
	name := "closed-" + strconv.Itoa(int(status))
	route := &routev3.Route{
		Name:  name,
		Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
	}
	route.Action = respond(status)
	if generation >= ir.ClosingGeneration {
		route.Action = respond(closing)
		route.TypedPerFilterConfig = map[string]*anypb.Any{mutationName: pack(tellStatus(status))}
	}
	return HostOf(marshal(&routev3.VirtualHost{Name: name, Domains: domains, Routes: []*routev3.Route{route}}))
}

// tellStatus returns the configuration of a filter that sets closedHeader to a status.
func tellStatus(status uint32) *headerv3.HeaderMutationPerRoute {
	return &headerv3.HeaderMutationPerRoute{Mutations: &headerv3.Mutations{RequestMutations: []*mutationv3.HeaderMutation{{
		Action: &mutationv3.HeaderMutation_Append{Append: &corev3.HeaderValueOption{
			Header:       &corev3.HeaderValue{Key: closedHeader, Value: strconv.Itoa(int(status))},
			AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
		}},
	}}}}
}

// closedReplies returns the part of a listener that replaces the status of a closed table's answer (see closing).
func closedReplies() *hcmv3.LocalReplyConfig {
	config := &hcmv3.LocalReplyConfig{}
	for _, status := range []uint32{misdirected, notServed} {
		config.Mappers = append(config.Mappers, &hcmv3.ResponseMapper{
			Filter: &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_HeaderFilter{HeaderFilter: &accesslogv3.HeaderFilter{
				Header: &routev3.HeaderMatcher{Name: closedHeader, HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: &matcherv3.StringMatcher{
					MatchPattern: &matcherv3.StringMatcher_Exact{Exact: strconv.Itoa(int(status))},
				}}},
			}}},
			StatusCode: wrapperspb.UInt32(status),
		})
	}
	return config
}
