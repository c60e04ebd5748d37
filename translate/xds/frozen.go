package xds

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/gatefold/gatefold/store/scope"
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

// Frozen merges the new version of a RouteConfiguration (the parameter after) with the old version (the parameter
// before, encoded). The domains in the parameter hosts are frozen: their virtual hosts are from the old version. If
// the old version has no virtual host for a frozen domain, the result has none either. All other virtual hosts are
// from the new version. The second result is true if the merged virtual hosts differ from those of the old version.
//
// Every request must get the answer of one of the two versions. So Frozen may freeze further domains. For example,
// one version has a virtual host for a.example.com. The other version has none, and answers the requests for
// a.example.com with the virtual host of the wildcard *.example.com. There are two cases:
//   - Only the new version has a.example.com, and it is frozen. The result then lacks a.example.com, and
//     *.example.com gets its requests. So *.example.com must be from the old version: Frozen freezes it, too.
//   - Only the old version has a.example.com, and *.example.com is frozen. Without a.example.com, its requests would
//     get the old *.example.com, as in neither version. So Frozen freezes a.example.com, too.
func Frozen(after *Resource, before []byte, hosts map[string]bool) (table Resource, changed bool) {
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

// freeze returns the domains that Frozen takes from the old version: those in the parameter hosts, and those that
// must be frozen together with them. The parameters old and now are the virtual hosts of the old and of the new
// version.
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

// cover returns the most specific wildcard in the parameter domains that covers name, other than name itself. It
// returns "" if there is none. The parameter name is a domain, and may itself be a wildcard. If name has no virtual
// host of its own, Envoy sends its requests to the virtual host of the wildcard that cover returns.
func cover(name string, domains hostBodies) string {
	for wildcard := range scope.Wildcards(name) {
		if _, is := domains[wildcard]; is {
			return wildcard
		}
	}
	return ""
}
