// Package connect has everything between clients and the server's streams: listeners that are bounded by file
// descriptors, TLS handshakes and identities, the intake of requests, and the list of refused clients. It does
// not know which resources clients request and get: callers pass it names and addresses. Each type has its own
// lock.
package connect
