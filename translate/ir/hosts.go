package ir

import (
	"slices"
	"strings"
)

// Hosts is a set of hostnames: every host, some, or none. A wildcard such as "*.example.com" is
// one name. The zero Hosts is empty, so that forgetting to set it serves nothing.
type Hosts struct {
	every bool
	names []string
}

// EveryHost returns the set of all hosts.
func EveryHost() Hosts { return Hosts{every: true} }

// HostsOf returns the set of the names, in lower case, sorted and unique. Without names the set
// is empty.
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

// Names returns the names in the set, sorted; nil for every host and for none. The
// caller must not change it.
func (h Hosts) Names() []string { return h.names }

// String returns the names as messages show them.
func (h Hosts) String() string {
	switch {
	case h.every:
		return "*"
	case len(h.names) == 0:
		return "none"
	}
	return strings.Join(h.names, ", ")
}
