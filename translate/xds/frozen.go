package xds

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// hostBodies are the encoded virtual hosts of a RouteConfiguration, by domain. Each virtual host has one
// domain.
type hostBodies map[string][]byte

// hostBodiesOf returns the virtual hosts of an encoded RouteConfiguration.
func hostBodiesOf(table []byte) hostBodies {
	out := hostBodies{}
	eachField(table, func(number protowire.Number, _, value []byte) {
		if number == routeConfigurationVirtualHosts {
			out[string(readHost(value).name)] = value
		}
	})
	return out
}

// Frozen merges two versions of a RouteConfiguration: after is the new one, and before is the old one, encoded.
// The result has the virtual hosts of the new version, except for the frozen domains, which are those in hosts.
// A frozen domain has the virtual host of the old version, or none if the old version has none. differs reports
// whether the result differs from the old version.
//
// Every request gets the answer of one of the two versions. For this, Frozen may freeze further domains: if the
// result lacks a host that one version has, a wildcard such as *.example.com gets its requests. Then the host
// and this wildcard are both frozen, or neither is.
func Frozen(after *Resource, before []byte, hosts map[string]bool) (table Resource, differs bool) {
	old, now := hostBodiesOf(before), hostBodiesOf(after.Body)
	frozen := freeze(hosts, old, now)
	all := maps.Clone(now)
	for name := range frozen {
		delete(all, name)
		if body, is := old[name]; is {
			all[name] = body
		}
	}
	var bodies []Host
	for _, name := range slices.Sorted(maps.Keys(all)) {
		bodies = append(bodies, HostOf(all[name]))
	}
	return RouteConfiguration(after.Name, bodies), !maps.EqualFunc(all, old, slices.Equal)
}

// freeze returns the domains in hosts, and all other domains that Frozen must freeze, too. old and now have the
// virtual hosts of the old and the new version.
func freeze(hosts map[string]bool, old, now hostBodies) map[string]bool {
	union, frozen := maps.Clone(old), maps.Clone(hosts)
	maps.Copy(union, now)
	for grown := true; grown; {
		grown = false
		for name := range union {
			_, before := old[name]
			_, after := now[name]
			above := cover(name, union)
			if before == after || above == "" {
				continue
			}
			// In one of the tables, the wildcard above gets the requests of the host.
			switch missing := frozen[name] == after; {
			case missing && frozen[name] && !frozen[above]:
				frozen[above], grown = true, true
			case missing && !frozen[name] && frozen[above]:
				frozen[name], grown = true, true
			}
		}
	}
	return frozen
}

// cover returns the most specific wildcard in domains that matches the host name, other than name itself. It
// gets the requests of the host if the host is missing. cover returns "" if there is no such wildcard.
func cover(name string, domains hostBodies) string {
	if name == "*" {
		return ""
	}
	rest := strings.TrimPrefix(name, "*.")
	for {
		_, below, found := strings.Cut(rest, ".")
		if !found {
			break
		}
		if _, is := domains["*."+below]; is {
			return "*." + below
		}
		rest = below
	}
	if _, is := domains["*"]; is {
		return "*"
	}
	return ""
}
