package server

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/translate/xds"
)

// timely returns the requests that came too early, once there is something to
// compare them with. A client of the state-of-the-world protocol tells what it
// holds as one version of the whole.
func (s session) timely() (requests []*delta.Request) {
	st := s.stream
	s.locked(func() {
		if st.Known() {
			requests, st.early, st.usage.early = st.early, nil, 0
		}
	})
	return requests
}

// keep keeps a request until the stream's Gateway has something to serve. The error says
// that there are too many.
func (st *stream) keep(request *delta.Request) error {
	for _, name := range request.GetResourceNamesSubscribe() {
		st.usage.early += delta.Weight(name)
	}
	if st.early = append(st.early, request); len(st.early) > maxEarly || st.usage.early > maxStrangers {
		return status.Error(codes.ResourceExhausted, "too many requests for a Gateway that has nothing to serve")
	}
	return nil
}

// subscribe changes what the stream asks for, step by step, and counts the tables among it. The error
// says that the client is over a limit.
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

// book books a step of a request. The error says that the client is over a limit.
func (s session) book(step delta.Step) (err error) {
	s.locked(func() {
		s.countTables(step)
		s.quarantine.take(s.stream)
		err = s.countStrangers(&s.stream.usage, s.stream.Unknown())
	})
	return err
}

// countTables does a step, and counts the tables that the stream asks for since, or no longer.
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
