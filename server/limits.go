package server

import (
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatefold/gatefold/server/delta"
)

// What one client may have. An Envoy of any size stays far below; the stream of a client
// that is above ends with ResourceExhausted, and the log names the client. There are no flags for
// these limits: what an honest Envoy needs grows with its Gateway, and so do the allowances.
const (
	// maxStrangers bounds the names that a stream asks for, or says that it holds, and that
	// its Gateway did not have at that time. An Envoy has many when it was away while its
	// Gateway lost them.
	maxStrangers = 100_000
	// maxAllStrangers bounds those of all streams together. The first fewStrangers of a
	// stream are free, so that no client takes them from another.
	maxAllStrangers, fewStrangers = 400_000, 1000
	// requestRate bounds the requests that a stream makes in a second, after the first
	// requestBurst and twice what its Gateway has. An answer to a response is free. Names
	// cost as much as a request for every requestNames. An Envoy that connects asks once for each
	// type, table and secret of its Gateway, and later once for each that is new.
	requestRate, requestBurst, requestNames = 200, 10_000, 100
	// maxStreams bounds the streams of one client: of one identity or, without a
	// certificate, of one host. An Envoy has one. Many share an identity, or the address of
	// their NAT: a fleet of a thousand, while its old connections are not known to be dead.
	maxStreams = 5000
)

// maxEarly bounds how many requests of a stream wait until its scope is known. An Envoy
// sends one or two.
const maxEarly = 1000

// clients are what clients use of the limits that they share. It is guarded by lock.
type clients struct {
	streams   map[string]int // by client
	strangers int            // the names that their Gateways do not have
}

// usage is what a stream uses of its limits.
type usage struct {
	strangers int       // as counted in clients.strangers
	spent     float64   // requests that are not forgotten yet
	at        time.Time // of spent
	early     int       // names of the requests that wait: see stream.keep
}

// spend counts a request that comes now, of a stream whose Gateway has so many resources.
func (u *usage) spend(request *delta.Request, answer bool, resources int, now time.Time) error {
	u.spent = max(0, u.spent-requestRate*now.Sub(u.at).Seconds())
	u.at = now
	names := len(request.GetResourceNamesSubscribe()) + len(request.GetResourceNamesUnsubscribe()) + len(request.GetInitialResourceVersions())
	u.spent += float64(names/requestNames + 1 - number(answer))
	if u.spent > float64(requestBurst+2*resources) {
		return status.Errorf(codes.ResourceExhausted, "more than %d requests a second", requestRate)
	}
	return nil
}

// countStrangers counts that a stream has so many names now that its Gateway does not have. The error says
// that there are too many.
func (c *clients) countStrangers(of *usage, now int) error {
	c.strangers += now - of.strangers
	grew := now > of.strangers
	of.strangers = now
	switch {
	case !grew || now <= fewStrangers:
		return nil
	case now > maxStrangers:
		return status.Errorf(codes.ResourceExhausted, "more than %d names that the Gateway does not have", maxStrangers)
	case c.strangers > maxAllStrangers:
		return status.Errorf(codes.ResourceExhausted, "with all other clients more than %d names that the Gateways do not have", maxAllStrangers)
	}
	return nil
}

// admitStream counts a stream of a client. It is called under the lock; the error says
// that the client has too many.
func (c *clients) admitStream(client string) error {
	if c.streams[client] >= maxStreams {
		return status.Errorf(codes.ResourceExhausted, "the client has %d streams already", maxStreams)
	}
	c.streams[client]++
	return nil
}

// release counts a stream that leaves no longer. It is called under the lock.
func (c *clients) release(client string, of usage) {
	c.strangers -= of.strangers
	if c.streams[client]--; c.streams[client] <= 0 {
		delete(c.streams, client)
	}
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
