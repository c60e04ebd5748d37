package ir

import (
	"slices"
	"strings"
)

// Hosts is a set of hostnames: every host, some hosts, or none. A wildcard such as "*.example.com" is one name.
// The zero Hosts is empty, so that a Hosts that was never set allows no host.
type Hosts struct {
	every bool
	names []string
}

// EveryHost returns the set of all hosts.
func EveryHost() Hosts { return Hosts{every: true} }

// HostsOf returns the set of the names. It converts them to lower case, sorts them and removes duplicates.
// Without names the set is empty.
func HostsOf(names ...string) Hosts {
	if len(names) == 0 {
		return Hosts{}
	}
	lower := make([]string, len(names))
	for i, name := range names {
		lower[i] = strings.ToLower(name)
	}
	slices.Sort(lower)
	return Hosts{names: slices.Compact(lower)}
}

// Every reports whether the set has all hosts.
func (h Hosts) Every() bool { return h.every }

// None reports whether the set is empty.
func (h Hosts) None() bool { return !h.every && len(h.names) == 0 }

// Names returns the names in the set, sorted. It returns nil for the set of every host and for the empty set.
// The caller must not change the result.
func (h Hosts) Names() []string { return h.names }

// String returns the names for messages: separated by commas, "*" for every host, or "none".
func (h Hosts) String() string {
	switch {
	case h.every:
		return "*"
	case len(h.names) == 0:
		return "none"
	}
	return strings.Join(h.names, ", ")
}
