package server

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/translate/xds"
)

// timely returns the requests that stream.keep stored because they came too early, and removes them from the
// stream. Until the stream's Gateway has its first resource, it returns nil. Only requests of the
// state-of-the-world protocol are stored. The version in such a request describes all resources of a type, and can
// be compared only when the resources of the Gateway are known.
func (s session) timely() (requests []*delta.Request) {
	st := s.stream
	s.locked(func() {
		if st.Known() {
			requests, st.early, st.usage.early = st.early, nil, 0
		}
	})
	return requests
}

// keep stores a request until the stream's Gateway has its first resource (see timely). It returns an error if too
// many requests or names are stored.
func (st *stream) keep(request *delta.Request) error {
	for _, name := range request.GetResourceNamesSubscribe() {
		st.usage.early += delta.Weight(name)
	}
	if st.early = append(st.early, request); len(st.early) > maxEarly || st.usage.early > maxStrangers {
		return status.Error(codes.ResourceExhausted, "too many requests for a Gateway that has nothing to serve")
	}
	return nil
}

// subscribe applies the subscriptions of a request to the stream. It does so in steps, and unlocks s.mu between two
// steps, so that other streams can proceed. It also updates the stored number of route tables that the Gateway has
// and the stream does not request (see verdicts.lack). It returns an error if the client exceeds a limit.
func (s session) subscribe(request *delta.Request) error {
	st := s.stream
	had := st.AsksForAll(xds.RouteType)
	for step := range st.Subscribe(request) {
		if err := s.book(step); err != nil {
			return err
		}
	}
	s.locked(func() {
		if st.AsksForAll(xds.RouteType) != had {
			s.verdicts.recount(st)
		}
	})
	return nil
}

// book runs one step of a request (delta.Step) under the lock. Then it records what the Envoy rejects: parts of
// RouteConfigurations, or HTTP filters. It also counts the resource names in the request that the Gateway does not
// have. It returns an error if the client exceeds a limit.
func (s session) book(step delta.Step) (err error) {
	s.locked(func() {
		s.countTables(step)
		s.quarantine.take(s.stream)
		err = s.countStrangers(&s.stream.usage, s.stream.Unknown())
	})
	return err
}

// countTables executes one step of a request (delta.Step), and updates the number of route tables that the stream
// does not request. The caller has locked s.mu.
func (s session) countTables(step delta.Step) {
	st := s.stream
	before := make(map[string]bool, len(step.Tables))
	for _, name := range step.Tables {
		before[name] = st.asks(name)
	}
	step.Book()
	for name, asked := range before {
		for gateway := range st.scope.Owners(xds.RouteType, name) {
			s.verdicts.lack(st, s.scopes[gateway], number(asked)-number(st.asks(name)))
		}
	}
}
