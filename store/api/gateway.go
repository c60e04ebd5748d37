package api

// The annotations of a Gateway that hold for all its listeners.
const (
	// AnnotationProxyProtocol says whether each connection begins with a PROXY header:
	// "true" or "false", which is the default.
	AnnotationProxyProtocol = "gatefold.io/proxy-protocol"
	// AnnotationAccessLog is the form of the access log: json, which is the default, text
	// or off.
	AnnotationAccessLog = "gatefold.io/access-log"
)
