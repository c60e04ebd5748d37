package ir

// PathKind is how a path is compared. A kind with a smaller value has precedence: exact paths come before
// regular expressions, and these before prefixes.
type PathKind uint8

// The kinds of path match.
const (
	PathExact  PathKind = iota // the whole path
	PathRegex                  // a regular expression over the whole path
	PathPrefix                 // by whole path segments
	// PathPostfix is for child routes only (GEP-1058). It matches a path that begins with the prefix of the parent's
	// match and ends with the child's value. Package route converts each PathPostfix into a PathRegex. So the Match
	// of a Rule never has a PathPostfix.
	PathPostfix
)

// Path is a path match. The value of a PathPrefix has no trailing slash, except for "/" itself.
type Path struct {
	Kind  PathKind
	Value string
	// RPC is the service and method that the path was made from, in a rule of a GRPCRoute.
	RPC RPC
}

// ValueMatch compares one header or query parameter.
type ValueMatch struct {
	// Name is in lower case for a header, and unchanged for a query parameter.
	Name  string
	Value string
	// Regex is true if Value is a regular expression for the whole value.
	Regex bool
}

// Match is the condition of one Rule. A request matches if it meets the conditions in all fields of the Match.
type Match struct {
	Path Path
	// Within is a prefix that the path must also have, by whole segments. It limits a delegated regular expression
	// to its parent's path. "" means no such prefix.
	Within string
	// Hosts are the hosts that a delegated route serves in its virtual host, in lower case, with "*." for a
	// wildcard. nil means all hosts of the virtual host.
	Hosts   []string
	Method  string // "" matches every method
	Headers []ValueMatch
	Query   []ValueMatch
}
