package server

import (
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/rs/zerolog"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gatefold/gatefold/envoy"
	"github.com/gatefold/gatefold/translate/xds"
)

func TestAReleaseIsComparedWithVersions(t *testing.T) {
	for version, older := range map[string]bool{
		"1.36.9": true, "0.99.0": true, "1.9.0": true, "1.37.0": false, "1.37": false, "1.41.1": false, "2.0.0": false, "": false, "unknown": false,
	} {
		if xds.ReleaseOf(version).Before(oldestEnvoy()) != older {
			t.Errorf("%q: %t, want %t", version, !older, older)
		}
	}
}

// Of the texts of a node, so many bytes are kept and no more.
func TestALongNodeIsCut(t *testing.T) {
	s, long := New(Options{}, zerolog.Nop()), strings.Repeat("é", 1<<20)
	l := s.lift(t, &corev3.Node{
		Id: "x" + long, Cluster: "shop/a", UserAgentVersionType: &corev3.Node_UserAgentVersion{UserAgentVersion: long},
		Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{envoy.AdminAddressKey: structpb.NewStringValue(long)}},
	})
	if got := len(l.node); got != maxNode-1 || len(l.version) > maxNode || len(l.claim) > maxNode {
		t.Errorf("kept are %d, %d and %d bytes", got, len(l.version), len(l.claim))
	}
}
