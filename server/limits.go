package server

import (
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatefold/gatefold/server/delta"
)

// The limits of one client. If a client exceeds a limit, its stream ends with ResourceExhausted, and the log names
// the client. An Envoy needs far less, however large its Gateway is. So there are no flags for these limits.
const (
	// maxStrangers bounds the unknown names of a stream. A name is unknown if the client subscribes to it or
	// reports it as held, and the Gateway does not have it. A long name counts more than once (delta.Weight). An
	// Envoy has many unknown names if its Gateway lost resources while the Envoy was disconnected.
	maxStrangers = 100_000
	// maxAllStrangers bounds the sum of the unknown names of all streams. The first fewStrangers of each stream
	// are always allowed, so that one client cannot block the others.
	maxAllStrangers, fewStrangers = 400_000, 1000
	// requestRate is how many requests a stream may send per second, on average. A stream may be ahead of this rate
	// by requestBurst requests, and by two more for each resource of its Gateway. The resource names in a request
	// count in addition to the request: requestNames of them count as one request. If a request answers a response,
	// only its names count. An Envoy that connects sends one request for each type, route table and secret of its
	// Gateway, and later one for each new route table or secret.
	requestRate, requestBurst, requestNames = 200, 10_000, 100
	// maxStreams bounds the streams of one client: of one identity or, without a certificate, of one host. An
	// Envoy needs one stream. But a fleet of a thousand Envoys can share one identity, or the address of one NAT.
	// Streams of broken connections also count until they are found to be dead.
	maxStreams = 5000
)

// maxEarly bounds how many requests of a stream wait until its Gateway has something to serve. An Envoy sends
// one or two.
const maxEarly = 1000

// clients has the counts for the limits: the streams of each client, and the unknown resource names of all streams
// together. A name is unknown if the Gateway has no resource with this name (see maxStrangers). clients is guarded
// by lock.
type clients struct {
	streams   map[string]int // the number of streams, by client
	strangers int            // the sum of usage.strangers over all streams
}

// usage is how much one stream uses of the limits of its client.
type usage struct {
	strangers int       // the number of the stream's unknown names: see maxStrangers
	spent     float64   // the requests that still count; it falls by requestRate per second
	at        time.Time // when spent was computed
	early     int       // the sum of the delta.Weight of all names in stream.early (see the method keep)
}

// spend counts a request of a stream for the limit of requests per second. The parameter now is the current time.
// If answer is true, the request answers a response: then the request itself is free, and only the resource names
// in the request count. The parameter resources is the number of resources of the stream's Gateway. More resources
// allow more requests. The error means that the stream sends too many requests.
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

// countStrangers stores the number of unknown resource names of a stream in the stream's usage (used.strangers). If
// the number has grown, it is checked: countStrangers returns an error if the number exceeds maxStrangers, or if the
// sum over all streams exceeds maxAllStrangers. A stream with at most fewStrangers unknown names never gets an error.
func (c *clients) countStrangers(used *usage, number int) error {
	c.strangers += number - used.strangers
	grew := number > used.strangers
	used.strangers = number
	switch {
	case !grew || number <= fewStrangers:
		return nil
	case number > maxStrangers:
		return status.Errorf(codes.ResourceExhausted, "more than %d names that the Gateway does not have", maxStrangers)
	case c.strangers > maxAllStrangers:
		return status.Errorf(codes.ResourceExhausted, "with all other clients more than %d names that the Gateways do not have", maxAllStrangers)
	}
	return nil
}

// admitStream counts a new stream of a client. If the client already has maxStreams streams, admitStream returns
// an error and does not count the new one. The caller has locked the server's lock.
func (c *clients) admitStream(client string) error {
	if c.streams[client] >= maxStreams {
		return status.Errorf(codes.ResourceExhausted, "the client has %d streams already", maxStreams)
	}
	c.streams[client]++
	return nil
}

// release is called when a stream of a client ends. It lowers the client's number of streams by one. It subtracts
// the number of the stream's unknown resource names (ended.strangers) from c.strangers, the sum over all streams.
// The caller has locked the server's lock.
func (c *clients) release(client string, ended usage) {
	c.strangers -= ended.strangers
	if c.streams[client]--; c.streams[client] <= 0 {
		delete(c.streams, client)
	}
}

// number returns 1 for true, and 0 for false.
func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
