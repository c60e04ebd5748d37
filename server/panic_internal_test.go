package server

import (
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/rs/zerolog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/server/delta/deltatest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/xds"
)

// A mistake of ours on one stream ends that stream and nothing else.
func TestAPanicEndsOneStream(t *testing.T) {
	s := New(Options{}, zerolog.Nop())
	s.Publish(translate.Result{Delta: deltatest.Updates("Cluster a@1", "Listener l@1")})
	l := s.lift(t, &corev3.Node{Id: "test", Cluster: "shop/a"})
	l.answer = []*delta.Request{{TypeUrl: lds}}
	l.turn(t)
	s.locked(func() {
		c, broken := s.scopes["shop/a"], &delta.Entry{Resource: &xds.Resource{Type: cds, Name: "a"}}
		c.Snapshot = c.With(delta.Update{Gateway: "shop/a", Type: cds, Name: "a", Entry: broken})
		broken.Resource = nil
	})
	bad := newScript(t.Context(), []byte("\x01\x00\x00\x00\x01")) // asks for clusters
	if err := s.DeltaAggregatedResources(bad); status.Code(err) != codes.Internal {
		t.Errorf("the stream ended with %v", err)
	}
	before := l.sent
	s.Publish(translate.Result{Delta: deltatest.Updates("Listener l@2")})
	l.turn(t)
	if l.sent != before+1 || !l.answered(lds) {
		t.Errorf("%d messages for an edit of the other stream", l.sent-before)
	}
}

// answered reports whether nothing of a type, which the client asked for, is due or unanswered.
func (l *line) answered(typ string) bool {
	progress, asked := l.Progress()[typ]
	return asked && progress.Pending == 0
}
