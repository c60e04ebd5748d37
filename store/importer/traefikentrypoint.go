package importer

import "slices"

// entryPoints are the ports of the entry points that the user names (Options.EntryPoints).
type entryPoints map[string]int

// port returns the port of an entry point. It returns 0 if the port is unknown.
func (e entryPoints) port(name string) int64 {
	if port, ok := e[name]; ok {
		return int64(port)
	}
	return map[string]int64{"web": 80, "http": 80, "websecure": 443, "https": 443}[name]
}

// tlsAt reports whether a router serves with TLS at an entry point: its field tls is set, or the port of the
// entry point is 443.
func (e entryPoints) tlsAt(r *router, point string) bool { return r.tls || e.port(point) == 443 }

// anyTLS reports whether a router has TLS on at least one of its entry points, or by its own setting.
func (e entryPoints) anyTLS(r *router) bool {
	return r.tls || slices.ContainsFunc(r.points, func(name string) bool { return e.tlsAt(r, name) })
}

// meet reports whether two routers have entry points with the same port. import writes one listener for each
// port.
func (e entryPoints) meet(a, b *router) bool {
	return slices.ContainsFunc(a.points, func(name string) bool {
		return slices.ContainsFunc(b.points, func(other string) bool { return e.port(name) == e.port(other) })
	})
}
