package ir

// PathKind is how a path is compared. The order of the constants is the order of precedence.
type PathKind uint8

// The kinds of path match.
const (
	PathExact  PathKind = iota // the whole path
	PathRegex                  // a regular expression over the whole path
	PathPrefix                 // by whole path segments
	// PathPostfix matches a suffix after anything below a parent's prefix (GEP-1058). route
	// converts it into a PathRegex, so that no Rule has it.
	PathPostfix
)

// Path is a path match. The value of a PathPrefix has no trailing slash, except for "/" itself.
type Path struct {
	Kind  PathKind
	Value string
	// RPC is the service and method that the path is made of in a rule of a GRPCRoute.
	RPC RPC
}

// ValueMatch compares one header or query parameter.
type ValueMatch struct {
	// Name is in lower case for headers, as written for query parameters.
	Name  string
	Value string
	// Regex is true if Value is a regular expression for the whole value.
	Regex bool
}

// Match is the condition of one Rule: all of its parts must be true.
type Match struct {
	Path Path
	// Within is a prefix that the path must also have, by whole segments; "" is none. It keeps
	// a delegated regular expression below its parent's path.
	Within string
	// Hosts are the hosts of its virtual host that a delegated route serves, in lower case,
	// with "*." for a wildcard; nil is all of them.
	Hosts   []string
	Method  string // "" matches every method
	Headers []ValueMatch
	Query   []ValueMatch
}
