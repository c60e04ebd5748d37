package server

import (
	"net"
	"testing"

	"github.com/rs/zerolog"
)

func TestAnUnknownGatewayIsWarnedOfOnce(t *testing.T) {
	s := New(Options{}, zerolog.Nop())
	s.published = true
	for i, want := range []bool{true, false} {
		st := &stream{cluster: "shop/none", address: &net.UnixAddr{}}
		if got, err := s.join(st); got != want || err != nil {
			t.Errorf("stream %d: warned %v, want %v; %v", i, got, want, err)
		}
	}
}
