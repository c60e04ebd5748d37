package envoytest

import (
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
)

// FreePort assigns ports from lowPort to highPort. They are below the range from which the system takes the
// ports of outgoing connections. Each process reserves whole blocks of portBlock ports, so that processes that
// test at the same time never use the same ports.
const (
	lowPort   = 10_000
	highPort  = 32_768
	portBlock = 64
)

// claimed has the ports that this process has reserved and that no test uses now.
var claimed portPool //nolint:gochecknoglobals // all tests of a process share its ports

// portPool has the ports that this process has reserved and that no test uses now.
type portPool struct {
	mu     sync.Mutex
	free   []int
	claims []net.Listener // on the first port of each block, until the process ends
}

// FreePort returns a TCP port of 127.0.0.1 on which no program listens. No other test gets the same port until
// this test ends, not even a test of another process.
func FreePort(t testing.TB) int {
	t.Helper()
	port, err := claimed.take()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { claimed.giveBack(port) })
	return port
}

// take returns the port that has been unused for the longest time. It skips ports on which another program
// listens. If the pool has no other port, it reserves a block. The error is that of claim.
func (p *portPool) take() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for i, port := range p.free {
			if listener, err := listenOn(port); err == nil {
				_ = listener.Close()
				p.free = append(p.free[:i:i], p.free[i+1:]...)
				return port, nil
			}
		}
		if err := p.claim(); err != nil {
			return 0, err
		}
	}
}

// giveBack returns a port to the pool.
func (p *portPool) giveBack(port int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, port)
}

// claim reserves a block of ports by listening on its first port, and adds its other ports to the pool. It
// returns an error if this and other processes have reserved all blocks.
func (p *portPool) claim() error {
	const blocks = (highPort - lowPort) / portBlock
	for i := range blocks {
		first := lowPort + (os.Getpid()+i)%blocks*portBlock
		listener, err := listenOn(first)
		if err != nil {
			continue
		}
		p.claims = append(p.claims, listener)
		for port := first + 1; port < first+portBlock; port++ {
			p.free = append(p.free, port)
		}
		return nil
	}
	return fmt.Errorf("other processes have all ports from %d to %d", lowPort, highPort)
}

// listenOn listens on a TCP port of 127.0.0.1. It returns an error if another program uses the port.
func listenOn(port int) (net.Listener, error) {
	return net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
}
