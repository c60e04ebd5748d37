package server_test

import (
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/translate/ir"
)

// cable is a TCP connection's way to the server, which can be cut.
type cable struct {
	net.Listener
	mu    sync.Mutex
	to    string
	conns []net.Conn
	holes []*atomic.Bool // of each connection: see swallow
}

func newCable(t *testing.T, to string) *cable {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{Listener: listener, to: to}
	t.Cleanup(func() { _ = listener.Close(); c.cut() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			c.mu.Lock()
			to := c.to
			c.mu.Unlock()
			far, err := net.Dial("tcp", to)
			if err != nil {
				_ = near.Close()
				continue
			}
			hole := new(atomic.Bool)
			c.mu.Lock()
			c.conns, c.holes = append(c.conns, near, far), append(c.holes, hole)
			c.mu.Unlock()
			pass := func(a, b net.Conn) {
				_, _ = io.Copy(swallower{a, hole}, b)
				if !hole.Load() {
					_ = a.Close()
				}
			}
			go pass(near, far)
			go pass(far, near)
		}
	}()
	return c
}

// swallower writes nothing once its connection is a hole.
type swallower struct {
	io.Writer
	hole *atomic.Bool
}

func (s swallower) Write(p []byte) (int, error) {
	if s.hole.Load() {
		return len(p), nil
	}
	return s.Writer.Write(p)
}

// swallow makes a black hole of all connections: they take what comes, and neither
// that nor an end reaches the other side. Connections made later are sound.
func (c *cable) swallow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, hole := range c.holes {
		hole.Store(true)
	}
}

// move ends all connections; those made later lead elsewhere.
func (c *cable) move(to string) {
	c.mu.Lock()
	c.to = to
	c.mu.Unlock()
	c.cut()
}

// cut ends all connections.
func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = nil
}

// An Envoy whose connection is cut serves on, comes back by itself, is sent
// nothing that it holds, and the next edit reaches it; no request fails.
func TestACutConnectionCostsNothing(t *testing.T) {
	shop := newShop(t, server.Options{})
	wire := newCable(t, shop.xds.String())
	envoytest.Start(t, envoytest.Options{XDSAddress: wire.Addr().String(), NodeCluster: "shop/a"})
	shop.serve(ir.EDS)
	load := envoytest.StartLoad(t, envoytest.LoadOptions{
		Targets: []envoytest.Target{{Name: "shop", Request: envoytest.Request{Address: shop.address}}},
	})
	for i := range 3 {
		id := shop.alone(0)
		pushes := pushesIn(shop.get(t, "/metrics"))
		wire.cut()
		shop.alone(id)
		if now := pushesIn(shop.get(t, "/metrics")); now != pushes {
			t.Errorf("sent again:\n%s\nbefore:\n%s", now, pushes)
		}
		shop.swap(i, ir.EDS)
	}
	if result := load.Stop(); result.Failed > 0 || result.Requests == 0 {
		t.Error(result)
	}
}

func pushesIn(figures string) string {
	return strings.Join(regexp.MustCompile(`gatefold_xds_pushes_total.*`).FindAllString(figures, -1), "\n")
}
