package xds

import (
	"slices"

	cncfcorev3 "github.com/cncf/xds/go/xds/core/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/gatefold/gatefold/translate/ir"
)

// Numbers of the fields of a compiled virtual host (see CompiledHost) that are encoded by hand. In Envoy's message,
// the leaves (see Leaf) are the entries of a map. The encoder of protobuf cannot build a map from entries that are
// already encoded.
const (
	virtualHostMatcher protowire.Number = 21 // envoy.config.route.v3.VirtualHost
	matcherTree        protowire.Number = 2  // xds.type.matcher.v3.Matcher
	treeInput          protowire.Number = 1  // Matcher.MatcherTree
	treePrefixes       protowire.Number = 3
	prefixEntries      protowire.Number = 1 // Matcher.MatcherTree.MatchMap
	entryKey           protowire.Number = 1 // of every map
	entryValue         protowire.Number = 2
	onMatchAction      protowire.Number = 2 // Matcher.OnMatch
	extensionName      protowire.Number = 1 // xds.core.v3.TypedExtensionConfig
	extensionConfig    protowire.Number = 2
	anyTypeURL         protowire.Number = 1 // google.protobuf.Any
	anyValue           protowire.Number = 2
	routeListRoutes    protowire.Number = 1 // envoy.config.route.v3.RouteList

	routeListURL = "type.googleapis.com/envoy.config.route.v3.RouteList"
)

// Leaf is one entry of a compiled virtual host (see CompiledHost): a key, and the routes for paths that begin with
// the key. If a path begins with the keys of several leaves, Envoy uses only the leaf with the longest key.
type Leaf struct {
	body []byte
	sum  Sum
}

// NewLeaf encodes a leaf. The parameter routes has results of the function Route, in the order in which Envoy tries
// them. If no route matches, Envoy answers 404: it does not try the leaves with shorter keys.
func NewLeaf(key string, routes [][]byte) *Leaf {
	list := appendRepeated(nil, routeListRoutes, routes)
	config := append(text(anyTypeURL, routeListURL), wrap(anyValue, list)...)
	action := append(text(extensionName, "routes"), wrap(extensionConfig, config)...)
	entry := append(text(entryKey, key), wrap(entryValue, wrap(onMatchAction, action))...)
	body := wrap(prefixEntries, entry)
	return &Leaf{body: body, sum: sumOf(body)}
}

// CompiledHost encodes a virtual host whose routes are in Envoy's field VirtualHost.matcher. The function VirtualHost
// puts them into a list instead. For each request, Envoy finds the leaf with the longest key that the path begins
// with, and tries only the routes of this leaf. The keys of all leaves must be different. The parameter extras is as
// in VirtualHost.
func CompiledHost(domain string, extras *ir.Extras, leaves []*Leaf) Host {
	size := 0
	for _, leaf := range leaves {
		size += len(leaf.body)
	}
	input := wrap(treeInput, marshal(&cncfcorev3.TypedExtensionConfig{
		Name: "path", TypedConfig: pack(&matcherv3.HttpRequestHeaderMatchInput{HeaderName: ":path"}),
	}))
	prefixes := appendHeader(nil, treePrefixes, size)
	tree := appendHeader(nil, matcherTree, len(input)+len(prefixes)+size)
	matcher := appendHeader(nil, virtualHostMatcher, len(tree)+len(input)+len(prefixes)+size)
	head := slices.Concat(hostFrame(domain, extras), matcher, tree, input, prefixes)

	host := Host{parts: append(make([][]byte, 0, 1+len(leaves)), head)}
	sums := newSums("compiled VirtualHost", head)
	for _, leaf := range leaves {
		host.parts = append(host.parts, leaf.body)
		sums.add(leaf.sum)
	}
	host.sum = sums.sum()
	return host
}
