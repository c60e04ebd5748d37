package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/rs/zerolog"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server/connect"
	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/server/delta/deltatest"
	"github.com/gatefold/gatefold/server/mtls"
	"github.com/gatefold/gatefold/translate"
)

// strange is a node of this number, of a Gateway of its own that is not there.
func strange(number int) *corev3.Node {
	return &corev3.Node{Id: fmt.Sprint("node", number), Cluster: strangeGateway(number)}
}

func strangeGateway(number int) string { return fmt.Sprint("none/gw", number) }

// However many nodes come and go, at once and in turn, what is remembered of them
// is bounded.
func TestManyNodesThatComeAndGoAreForgotten(t *testing.T) {
	const waves, atOnce = 24, 50 // more than maxWarned
	s := New(Options{}, zerolog.Nop())
	s.Publish(translate.Result{Delta: deltatest.Updates("Cluster web@1")})
	for wave := range waves {
		var lines []*line
		for i := range atOnce {
			l := s.lift(t, strange(wave*atOnce+i))
			l.turn(t)
			lines = append(lines, l)
		}
		if len(s.scopes) != 1+atOnce {
			t.Fatalf("%d Gateways while %d nodes are there", len(s.scopes), atOnce)
		}
		for _, l := range lines {
			s.at(l.stream).leave()
		}
		if len(s.scopes) != 1 {
			t.Fatalf("%d Gateways after all nodes left", len(s.scopes))
		}
	}
	if len(s.warned) != maxWarned || len(s.verdicts.given) != 1 || len(s.refused.List(time.Now())) != 0 || len(s.quarantine.parts) != 0 {
		t.Errorf("left are %d names, %d verdicts, %d refusals, %d parts in quarantine", len(s.warned),
			len(s.verdicts.given), len(s.refused.List(time.Now())), len(s.quarantine.parts))
	}
}

// proved is a server that asks for certificates, without a network. by is the context of a client with a certificate
// for one.example.
func proved(t *testing.T, gateway string) (s *Server, by context.Context) {
	t.Helper()
	servers, clients, folder := envoytest.NewAuthority(t), envoytest.NewAuthority(t), t.TempDir()
	files := mtls.Files{Cert: filepath.Join(folder, "tls.crt"), Key: filepath.Join(folder, "tls.key"), ClientCA: filepath.Join(folder, "ca.crt")}
	certificate, key := servers.Issue("127.0.0.1")
	envoytest.Replace(t, files.Cert, certificate)
	envoytest.Replace(t, files.Key, key)
	envoytest.Replace(t, files.ClientCA, clients.PEM)
	s = New(Options{TLS: files, Grants: mtls.Grants{"one.example": {gateway}}}, zerolog.Nop())
	if err := s.transport.OpenTLS(); err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(clients.Pair("one.example").Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	shown := credentials.TLSInfo{State: tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}}
	by = peer.NewContext(t.Context(), &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, AuthInfo: shown})
	s.Publish(translate.Result{Delta: deltatest.Updates("Cluster web@1")})
	return s, by
}

// Nodes that are refused leave no more than a bounded list.
func TestManyNodesThatAreRefusedAreBounded(t *testing.T) {
	s, by := proved(t, "shop/a")
	for i := range connect.MaxRefused + 50 {
		_, err := s.open(by, &delta.Request{TypeUrl: cds, Node: strange(i)}, false)
		if err == nil || !strings.Contains(err.Error(), strangeGateway(i)) {
			t.Fatal("not refused by name:", err)
		}
	}
	if len(s.refused.List(time.Now())) != connect.MaxRefused || len(s.scopes) != 1 || len(s.warned) != 0 || len(s.verdicts.given) != 1 {
		t.Errorf("left are %d refusals, %d Gateways, %d names, %d verdicts", len(s.refused.List(time.Now())), len(s.scopes), len(s.warned), len(s.verdicts.given))
	}
}

// Nodes of a client that proves who it is, and that may have all Gateways, leave nothing either.
func TestNodesThatComeAndGoLeaveNothing(t *testing.T) {
	s, by := proved(t, mtls.All)
	for i := range 100 {
		st, err := s.open(by, &delta.Request{TypeUrl: cds, Node: strange(i)}, false)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.scopes) != 2 || st.identity != "one.example" {
			t.Fatalf("%d Gateways while a node of %q is there", len(s.scopes), st.identity)
		}
		s.at(st).leave()
		if len(s.scopes) != 1 {
			t.Fatalf("%d Gateways after it left", len(s.scopes))
		}
	}
	if len(s.verdicts.given) != 1 || len(s.union.streams) != 0 || len(s.warned) > maxWarned {
		t.Errorf("left are %d verdicts, %d streams", len(s.verdicts.given), len(s.union.streams))
	}
}
