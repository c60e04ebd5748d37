package ir

// PathKind is the way a path is compared. The order of the constants is the
// order of precedence.
type PathKind uint8

// The kinds of path match.
const (
	PathExact  PathKind = iota // the whole path
	PathRegex                  // a regular expression over the whole path
	PathPrefix                 // by whole path segments
	// PathPostfix follows a parent's prefix after anything (GEP-1058); route turns
	// it into a PathRegex, so that no Rule has it.
	PathPostfix
)

// Path is a path match. The value of a PathPrefix has no trailing slash, but
// for "/" itself.
type Path struct {
	Kind  PathKind
	Value string
	// RPC is what the path is made of in a rule of a GRPCRoute.
	RPC RPC
}

// ValueMatch compares one header or query parameter.
type ValueMatch struct {
	// Name is in lower case for headers, as written for query parameters.
	Name  string
	Value string
	// Regex is true if Value is a regular expression over the whole value.
	Regex bool
}

// Match is the condition of one Rule: all of its parts must hold.
type Match struct {
	Path Path
	// Within is a prefix that the path must lie in beside matching Path, by whole
	// segments; "" is none. It keeps a delegated regular expression in its place.
	Within string
	// Hosts are those that a route below another serves of its virtual host's, in
	// lower case, "*." for a wildcard; nil is all of them.
	Hosts   []string
	Method  string // "" matches every method
	Headers []ValueMatch
	Query   []ValueMatch
}
