package xds

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/gatefold/gatefold/translate/ir"
)

// Release is a minor version of Envoy. The zero Release is for a client that reports no version. Such a client gets
// the same resources as the newest Envoy.
type Release struct{ Major, Minor int }

// ReleaseOf returns the release of a version, for example of "1.36.4". It returns zero if the version does not
// begin with two numbers.
func ReleaseOf(version string) (r Release) {
	if n, _ := fmt.Sscanf(version, "%d.%d", &r.Major, &r.Minor); n < 2 {
		return Release{}
	}
	return r
}

// Before reports whether r is older than another release (the parameter other). It returns false if one of the two is
// zero.
func (r Release) Before(other Release) bool {
	if r == (Release{}) {
		return false
	}
	return r.Major < other.Major || r.Major == other.Major && r.Minor < other.Minor
}

func (r Release) String() string { return fmt.Sprintf("%d.%d", r.Major, r.Minor) }

// feature is something that gatefold sends, but that some supported releases of Envoy do not support. An Envoy
// without the feature's filter gets listeners without this filter (see ListenerFor). Routes that use the feature
// answer 500 in an Envoy without it (see Lacks). If the feature is optional, such an Envoy gets the routes without
// the feature instead (see TableFor). An Envoy may also reject routes for reasons that gatefold cannot know
// beforehand. gatefold finds such routes by a search (see Probe).
type feature struct {
	field ir.Field
	// what has the feature's name for messages.
	what string
	// filter is the name of the HTTP filter that the feature needs. Filters whose names begin with this name and a
	// slash belong to the feature, too.
	filter string
	// chain is the first release of Envoy that supports the filter. The listeners of older releases do not have
	// the filter in their HTTP filter chain. Zero means that all releases support it.
	chain Release
	// routes is the first release in which routes can use the feature. In older releases, a route or virtual host
	// that uses the feature answers 500, unless the field optional is true.
	routes Release
	// optional is true if older releases get the route without the feature's configuration, instead of a route
	// that answers 500. Such a route must be safe without the feature.
	optional bool
	// uses reports whether an encoded configuration of the filter uses the feature. If uses is nil, every
	// configuration does.
	uses func(config []byte) bool
}

// features returns the features that at least one supported release of Envoy lacks.
func features() []feature {
	filterChains, rateLimits := Release{1, 39}, Release{1, 40}
	oauth2 := Release{1, 38} // older ones reject the filter without a configuration
	formatters := Release{1, 40}
	return []feature{
		{field: ir.FieldExtAuth, what: "extAuth", filter: extAuthName, chain: filterChains, routes: filterChains},
		{field: ir.FieldExtProc, what: "extProc", filter: extProcName, chain: filterChains, routes: filterChains},
		{field: ir.FieldGlobalRateLimit, what: "rateLimit.global", filter: globalRateLimitName, chain: filterChains, routes: rateLimits},
		{field: ir.FieldOAuth2, what: "oauth2", filter: oauth2Name, chain: oauth2, routes: oauth2},
		{field: ir.FieldTransformation, what: "lower() or upper() in a transformation", filter: mutationName, routes: formatters, uses: changesCase},
		{what: "a redirect without the default port, or a preflight without CORS headers", filter: locationName, routes: formatters, optional: true},
	}
}

// Newest returns the first release that has all features. This release and newer ones get the same resources.
func Newest() (newest Release) {
	for _, f := range features() {
		if newest == (Release{}) || newest.Before(f.routes) {
			newest = f.routes
		}
	}
	return newest
}

// names reports whether the HTTP filter with this name belongs to the feature: the name is f.filter, or begins
// with f.filter and a slash.
func (f *feature) names(filter string) bool {
	rest, ok := strings.CutPrefix(filter, f.filter)
	return ok && (rest == "" || rest[0] == '/')
}

// Lack is a route or virtual host (Part) of a RouteConfiguration that needs a feature which an Envoy does not
// have.
type Lack struct {
	Part
	Fault
	// Field is the field of TrafficPolicies that needs the feature.
	Field ir.Field
	// What has the feature's name for messages.
	What string
	// Since is the first release that has the feature.
	Since Release
}

// Numbers of the fields that are read by hand. The fields belong to messages of envoy.config.route.v3,
// envoy.config.listener.v3, and the filters http_connection_manager.v3 and header_mutation.v3.
const (
	routeFilterConfigs protowire.Number = 13
	hostFilterConfigs  protowire.Number = 15

	listenerChains       protowire.Number = 3
	chainFilters         protowire.Number = 3
	networkFilterConfig  protowire.Number = 4
	managerFilters       protowire.Number = 5
	managerUpgrades      protowire.Number = 23
	upgradeFilters       protowire.Number = 2
	httpFilterName       protowire.Number = 1
	perRouteMutations    protowire.Number = 1
	mutationsFormatters  protowire.Number = 6
	connectionManagerURL                  = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
	filterConfigURL                       = "type.googleapis.com/envoy.config.route.v3.FilterConfig"
)

// ListenerFor returns the listener for Envoys of the given release. HTTP filters that the release does not have are
// left out. If none is left out, same is true, and the result is the given listener.
func ListenerFor(listener *Resource, release Release) (out Resource, same bool) {
	var lacking []feature
	for _, f := range features() {
		if release.Before(f.chain) {
			lacking = append(lacking, f)
		}
	}
	if len(lacking) == 0 {
		return *listener, true
	}
	same = true
	kept := func(filter []byte) bool {
		name, _ := bytesAt(filter, httpFilterName)
		lacks := slices.ContainsFunc(lacking, func(f feature) bool { return f.names(string(name)) })
		same = same && !lacks
		return !lacks
	}
	body := editAt(listener.Body, []protowire.Number{listenerChains, chainFilters, networkFilterConfig}, func(config []byte) []byte {
		if url, _ := bytesAt(config, anyTypeURL); string(url) != connectionManagerURL {
			return config
		}
		return editAt(config, []protowire.Number{anyValue}, func(manager []byte) []byte {
			manager = filterField(manager, managerFilters, kept)
			return editAt(manager, []protowire.Number{managerUpgrades}, func(upgrade []byte) []byte {
				return filterField(upgrade, upgradeFilters, kept)
			})
		})
	})
	if same {
		return *listener, true
	}
	return newResource(listener.Type, listener.Name, body), false
}

// filterField returns a copy of an encoded message without some elements of a repeated field. The parameter
// fieldNumber is the number of this field. An element is left out if the function keep returns false for it.
func filterField(body []byte, fieldNumber protowire.Number, keep func([]byte) bool) []byte {
	out := make([]byte, 0, len(body))
	eachField(body, func(number protowire.Number, field, value []byte) {
		if number != fieldNumber || keep(value) {
			out = append(out, field...)
		}
	})
	return out
}

// Lacks returns the routes and virtual hosts of an encoded RouteConfiguration that need a feature which the given
// release does not have. Optional features do not count. These routes and virtual hosts must answer 500: Envoy would
// ignore the configuration of a missing filter, and let requests pass. If a virtual host is in the result, its routes
// need not be.
func Lacks(table []byte, release Release) (all []Lack) {
	return lacksOf(table, lackedBy(release, false))
}

// lacksOf returns the routes and virtual hosts of an encoded RouteConfiguration that use one of the features in the
// list lacking. If a virtual host itself uses a feature, its routes are not listed. If a virtual host has two
// different routes with one name, and both use a feature, the virtual host is listed as well.
func lacksOf(table []byte, lacking []feature) (all []Lack) {
	if len(lacking) == 0 {
		return nil
	}
	eachHost(table, func(h hostParts) {
		host := Part{Host: string(h.name)}
		if f := needed(h.frame, hostFilterConfigs, lacking); f != nil {
			all = append(all, f.lack(Piece{host, h.frame})) // the host answers 500 with all of its routes
			return
		}
		known := map[Part][sha256.Size]byte{}
		h.eachRoute(func(body []byte) {
			f := needed(body, routeFilterConfigs, lacking)
			if f == nil {
				return
			}
			lack := f.lack(Piece{Part{Host: host.Host, Route: nameOf(body)}, body})
			switch sum, twice := known[lack.Part]; {
			case !twice:
				known[lack.Part] = lack.Sum
				all = append(all, lack)
			case sum != lack.Sum: // two forms of one part: the host answers 500
				all = append(all, f.lack(Piece{host, h.frame}))
			}
		})
	})
	return all
}

// lackedBy returns the features that routes cannot use in Envoys of the given release. If the parameter optional is
// true, it returns only optional features, and if it is false, only those that are not optional.
func lackedBy(release Release, optional bool) (lacking []feature) {
	for _, f := range features() {
		if f.optional == optional && release.Before(f.routes) {
			lacking = append(lacking, f)
		}
	}
	return lacking
}

// TableFor returns the RouteConfiguration for Envoys of the given release. Optional features that the release does
// not have are removed from the routes. If nothing is removed, same is true, and the result is the given
// RouteConfiguration. TableFor does not remove other features that the release does not have (see Lacks).
func TableFor(table *Resource, release Release) (out Resource, same bool) {
	lacking, same := lackedBy(release, true), true
	if len(lacking) == 0 {
		return *table, true
	}
	var hosts []Host
	eachHost(table.Body, func(h hostParts) {
		hosts = append(hosts, h.edited(func(route []byte) []byte {
			if needed(route, routeFilterConfigs, lacking) == nil {
				return route
			}
			same = false
			return filterField(route, routeFilterConfigs, func(entry []byte) bool {
				name, _ := bytesAt(entry, entryKey)
				return !slices.ContainsFunc(lacking, func(f feature) bool { return f.names(string(name)) })
			})
		}))
	})
	if same {
		return *table, true
	}
	return RouteConfiguration(table.Name, hosts), false
}

// lack returns a Lack: the route or virtual host p needs the feature f, which an Envoy does not have.
func (f *feature) lack(p Piece) Lack {
	return Lack{Part: p.Part, Fault: Fault{Sum: p.Sum()}, Field: f.field, What: f.what, Since: f.routes}
}

// changesCase reports whether a configuration of header_mutation uses the CEL functions lowerAscii or upperAscii. A
// transformation has these functions as lower and upper. Older releases of Envoy cannot enable them in the CEL
// formatter (see features).
func changesCase(config []byte) bool {
	mutations, _ := bytesAt(config, anyValue, perRouteMutations)
	if _, computes := bytesAt(mutations, mutationsFormatters); !computes {
		return false
	}
	return bytes.Contains(mutations, []byte(lowerCase)) || bytes.Contains(mutations, []byte(upperCase))
}

// needed returns a feature that an encoded virtual host or route (the parameter part) uses, or nil if it uses none.
// needed looks only for the features in the parameter candidates. The parameter configs is the number of the protobuf
// field typed_per_filter_config in part. An entry of that field that only disables a filter uses no feature.
func needed(part []byte, configs protowire.Number, candidates []feature) (first *feature) {
	eachField(part, func(number protowire.Number, _, entry []byte) {
		if number != configs || first != nil {
			return
		}
		name, _ := bytesAt(entry, entryKey)
		config, _ := bytesAt(entry, entryValue)
		if url, _ := bytesAt(config, anyTypeURL); string(url) == filterConfigURL {
			return // it turns the filter off
		}
		for i := range candidates {
			if f := &candidates[i]; f.names(string(name)) && (f.uses == nil || f.uses(config)) {
				first = f
			}
		}
	})
	return first
}
