package server

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/rs/zerolog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/server/delta/deltatest"
	"github.com/gatefold/gatefold/translate"
)

// stray is a stream that took no clusters, so that nothing else is sent to it, and that
// asked for tables in small requests.
func stray(t *testing.T, s *Server, names int) *line {
	t.Helper()
	l := s.lift(t, &corev3.Node{Id: "stray", Cluster: "shop/a"})
	requests := append(l.answer, &delta.Request{TypeUrl: lds})
	const small = 63 // fewer than what is kept as a whole
	for at := 0; at < names; at += small {
		requests = append(requests, &delta.Request{TypeUrl: rds, ResourceNamesSubscribe: namesFrom(at, min(small, names-at))})
	}
	for _, request := range requests {
		if err := s.at(l.stream).handle(request); err != nil {
			t.Fatal(err)
		}
	}
	l.answer = nil
	return l
}

// serving is a server with a Gateway, without a network.
func serving(t *testing.T) *Server {
	t.Helper()
	s := New(Options{BarrierWait: time.Hour}, zerolog.Nop())
	s.Publish(translate.Result{Delta: deltatest.Updates("Cluster web@1", "Listener http@1", "RouteConfiguration r@1")})
	return s
}

// Names that a client forgets last first, while nothing may be sent to it, are each found
// at once; were each looked for among the others, this test would take hours.
func TestForgettingNamesIsLinear(t *testing.T) {
	const names = maxStrangers - 1
	for range 10 {
		s := serving(t)
		l := stray(t, s, names)
		gone := namesFrom(0, names)
		slices.Reverse(gone)
		if err := s.at(l.stream).handle(&delta.Request{TypeUrl: rds, ResourceNamesUnsubscribe: gone}); err != nil {
			t.Fatal(err)
		}
		asks := slices.ContainsFunc(gone, func(name string) bool { return l.Asks(rds, name) })
		if pending := l.Progress()[rds].Pending; asks || l.Unknown()+pending+s.strangers > 0 {
			t.Errorf("of the names are left: some are asked for: %t, %d unknown, %d due, %d counted", asks, l.Unknown(), pending, s.strangers)
		}
	}
}

// While a request of very many names is booked, others have their turn: the folder is
// published, and all clients of other streams are served.
func TestALargeRequestIsBookedInTurns(t *testing.T) {
	s := serving(t)
	l := stray(t, s, 0)
	ended := make(chan error, 1)
	go func() {
		ended <- s.at(l.stream).handle(&delta.Request{TypeUrl: rds, ResourceNamesSubscribe: namesFrom(0, maxStrangers)})
	}()
	var between []int
	for version := 2; len(ended) == 0; version++ {
		s.Publish(translate.Result{Delta: deltatest.Updates(fmt.Sprintf("Cluster web@%d", version))})
		s.locked(func() { between = append(between, l.Unknown()) })
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(between, func(names int) bool { return names > 0 && names < maxStrangers }) {
		t.Errorf("%d times published, and never between the first and the last of %d names", len(between), maxStrangers)
	}
}

// wantLimit checks that a stream ended because of a limit.
func wantLimit(t *testing.T, err error, words string) {
	t.Helper()
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), words) {
		t.Errorf("got %v, want ResourceExhausted: %s", err, words)
	}
}

// A stream asks for so many names that its Gateway does not have and no more, be they many
// or long; those of all streams together are bounded, too, but for the first of each.
func TestNamesThatAGatewayDoesNotHaveAreBounded(t *testing.T) {
	s := serving(t)
	ask := func(l *line, names []string) error {
		return s.at(l.stream).handle(&delta.Request{TypeUrl: rds, ResourceNamesSubscribe: names})
	}
	wantLimit(t, ask(stray(t, s, 0), namesFrom(0, maxStrangers+1)), "names that the Gateway does not have")
	wantLimit(t, ask(stray(t, s, 0), []string{strings.Repeat("x", (maxStrangers+1)*256)}), "names that the Gateway does not have")
	told := map[string]string{}
	for _, name := range namesFrom(0, maxStrangers+1) {
		told[name] = "1"
	}
	wantLimit(t, s.at(s.lift(t, &corev3.Node{Cluster: "shop/a"}).stream).handle(&delta.Request{TypeUrl: eds, ResourceNamesSubscribe: []string{delta.Wildcard}, InitialResourceVersions: told}), "names")
	var all []*line
	for s.strangers < maxAllStrangers {
		l := stray(t, s, 0)
		all = append(all, l)
		if err := ask(l, namesFrom(0, maxStrangers)); err != nil {
			break
		}
	}
	late := stray(t, s, 0)
	if err := ask(late, namesFrom(0, fewStrangers)); err != nil {
		t.Errorf("the first names of another stream: %v", err)
	}
	wantLimit(t, ask(late, namesFrom(fewStrangers, 1)), "with all other clients")
	for _, l := range all {
		s.at(l.stream).leave()
	}
	if err := ask(late, namesFrom(2*fewStrangers, fewStrangers)); err != nil {
		t.Errorf("after the others left: %v", err)
	}
}

// A stream that makes requests without end is ended; answers to responses are free.
func TestRequestsOfAStreamAreBounded(t *testing.T) {
	now := time.Unix(1000, 0)
	var u usage
	for range 10 * requestBurst {
		if err := u.spend(&delta.Request{}, true, 0, now); err != nil {
			t.Fatal(err)
		}
	}
	for range requestBurst + 2*5 {
		if err := u.spend(&delta.Request{}, false, 5, now); err != nil {
			t.Fatal(err)
		}
	}
	wantLimit(t, u.spend(&delta.Request{}, false, 5, now), "requests a second")
	if err := u.spend(&delta.Request{}, false, 5, now.Add(time.Second)); err != nil {
		t.Errorf("a second later: %v", err)
	}
	s := serving(t)
	l := stray(t, s, 0)
	var err error
	for i := 0; i < 100*requestBurst && err == nil; i++ {
		err = s.at(l.stream).handle(&delta.Request{TypeUrl: []string{cds, "type.googleapis.com/x"}[i%2], ResponseNonce: "stale"})
	}
	wantLimit(t, err, "requests a second")
}

// One client has so many streams and no more; others have theirs, and it has again when
// its own have ended.
func TestStreamsOfAClientAreBounded(t *testing.T) {
	s := serving(t)
	open := func(ip byte) (*stream, error) {
		ctx := peer.NewContext(context.Background(), &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, ip)}})
		return s.open(ctx, &delta.Request{TypeUrl: cds, Node: &corev3.Node{Cluster: "shop/a"}}, false)
	}
	var last *stream
	for range maxStreams {
		st, err := open(1)
		if err != nil {
			t.Fatal(err)
		}
		last = st
	}
	_, err := open(1)
	wantLimit(t, err, "streams already")
	if _, err := open(2); err != nil {
		t.Errorf("another client: %v", err)
	}
	s.at(last).leave()
	if _, err := open(1); err != nil {
		t.Errorf("after one ended: %v", err)
	}
}

// namesFrom returns n names of tables that no Gateway has.
func namesFrom(first, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("none/%07d", first+i)
	}
	return names
}
