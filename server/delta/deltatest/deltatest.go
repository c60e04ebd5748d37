// Package deltatest makes resources for tests from short texts, and the status of a Gateway.
package deltatest

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	cncfcorev3 "github.com/cncf/xds/go/xds/core/v3"
	cncfmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatefold/gatefold/translate/xds"
)

// Encode encodes a message to the same bytes each time. It panics if the message cannot be encoded.
func Encode(message proto.Message) []byte {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		panic(err)
	}
	return body
}

// Answers500 is the action of a route that answers 500.
func Answers500() *routev3.Route_DirectResponse {
	return &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: 500}}
}

// Table makes the RouteConfiguration "r". Each line of the text is a virtual host with its routes, for example
// "h: r1 r2=bad r3=~x". The three routes of this host h are named r1, r2 and r3:
//   - r1 matches the path "/", because it has no "=".
//   - r2 matches the path "/bad". The simulated Envoys of the tests reject a route with "bad" in its path.
//   - r3 matches the path "/r3", and has the stat prefix x.
//
// A host "h=2" has the name h and the domain "h=2".
func Table(text string) *xds.Resource {
	var hosts []xds.Host
	for line := range strings.SplitSeq(text, "\n") {
		host, routes, _ := strings.Cut(strings.TrimSpace(line), ":")
		var encoded [][]byte
		for route := range strings.FieldsSeq(routes) {
			name, says, _ := strings.Cut(route, "=")
			r := &routev3.Route{Name: name, Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Path{Path: "/" + name}}, Action: Answers500()}
			if answer, ok := strings.CutPrefix(says, "~"); ok {
				r.StatPrefix = answer
			} else {
				r.Match.PathSpecifier = &routev3.RouteMatch_Path{Path: "/" + says}
			}
			encoded = append(encoded, Encode(r))
		}
		name, _, _ := strings.Cut(host, "=")
		body := append(Encode(&routev3.VirtualHost{Name: name, Domains: []string{host}}), Encode(&routev3.VirtualHost{Routes: decodeRoutes(encoded)})...)
		hosts = append(hosts, xds.HostOf(body))
	}
	r := xds.RouteConfiguration("r", hosts)
	return &r
}

func decodeRoutes(encoded [][]byte) (routes []*routev3.Route) {
	for _, body := range encoded {
		r := &routev3.Route{}
		if err := proto.Unmarshal(body, r); err != nil {
			panic(err)
		}
		routes = append(routes, r)
	}
	return routes
}

// Compiled returns a copy of a RouteConfiguration in which each virtual host has a prefix tree of paths instead
// of a list of routes. A virtual host without routes stays as it is. The keys of the tree are the given keys and "".
// A key for which listOf returns no route is left out.
func Compiled(table *xds.Resource, keys ...string) *xds.Resource {
	config := &routev3.RouteConfiguration{}
	if err := proto.Unmarshal(table.Body, config); err != nil {
		panic(err)
	}
	keys = append([]string{""}, keys...)
	for _, h := range config.VirtualHosts {
		if len(h.Routes) == 0 {
			continue
		}
		tree := &cncfmatcherv3.Matcher_MatcherTree_MatchMap{Map: map[string]*cncfmatcherv3.Matcher_OnMatch{}}
		for _, key := range keys {
			list := &routev3.RouteList{Routes: listOf(h.Routes, key, keys)}
			if len(list.Routes) > 0 {
				tree.Map[key] = &cncfmatcherv3.Matcher_OnMatch{OnMatch: &cncfmatcherv3.Matcher_OnMatch_Action{Action: typed("routes", list)}}
			}
		}
		h.Routes, h.Matcher = nil, &cncfmatcherv3.Matcher{MatcherType: &cncfmatcherv3.Matcher_MatcherTree_{MatcherTree: &cncfmatcherv3.Matcher_MatcherTree{
			Input:    typed("path", &matcherv3.HttpRequestHeaderMatchInput{HeaderName: ":path"}),
			TreeType: &cncfmatcherv3.Matcher_MatcherTree_PrefixMatchMap{PrefixMatchMap: tree},
		}}}
	}
	body := Encode(config)
	sum := sha256.Sum256(body)
	return &xds.Resource{Type: table.Type, Name: table.Name, Version: hex.EncodeToString(sum[:16]), Body: body}
}

func typed(name string, message proto.Message) *cncfcorev3.TypedExtensionConfig {
	packed, err := anypb.New(message)
	if err != nil {
		panic(err)
	}
	return &cncfcorev3.TypedExtensionConfig{Name: name, TypedConfig: packed}
}

// listOf returns the routes for one key of a prefix tree, in order. The parameter keys has all keys of the tree.
// Envoy looks up a path by the longest key with which the path begins. listOf returns the routes that can match a
// path that Envoy looks up by the parameter key. The list ends with the first route that matches every path that
// begins with this key.
func listOf(routes []*routev3.Route, key string, keys []string) (list []*routev3.Route) {
	for _, r := range routes {
		path := literal(r.Match)
		longer := slices.ContainsFunc(keys, func(k string) bool { return len(k) > len(key) && strings.HasPrefix(path, k) })
		if !strings.HasPrefix(key, path) && (!strings.HasPrefix(path, key) || longer) {
			continue
		}
		list = append(list, r)
		all := r.Match.GetPrefix()
		if psp := r.Match.GetPathSeparatedPrefix(); psp != "" {
			all = psp + "/"
		}
		if all != "" && strings.HasPrefix(key, all) && len(r.Match.Headers) == 0 {
			break
		}
	}
	return list
}

// literal returns the text with which every matching path begins. For a regular expression, literal returns the text
// before the first special character.
func literal(m *routev3.RouteMatch) string {
	text := m.GetPath() + m.GetPrefix() + m.GetPathSeparatedPrefix()
	if regex := m.GetSafeRegex().GetRegex(); regex != "" {
		text = regex[:strings.IndexAny(regex+"(", `([{\.*+?|`)]
	}
	return text
}
