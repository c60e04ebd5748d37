// Package connect is how clients reach the server: listeners that take no more than their share of the
// descriptors, handshakes and the identity that they prove, requests as bytes and in turns, and what is remembered of
// clients that were refused. What a client asks for, and what it is sent, it does not know: it is given names and
// addresses. Each part has a lock of its own.
package connect
