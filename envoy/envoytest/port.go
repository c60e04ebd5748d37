package envoytest

import (
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
)

// Ports are given out from below the range that systems take the ports of outgoing
// connections from, so that connections made by a test do not take them. Each process
// claims blocks of them, so that processes that test at once are not given the same.
const (
	lowPort   = 10_000
	highPort  = 32_768
	portBlock = 64
)

// claimed are the ports of this process.
var claimed portPool //nolint:gochecknoglobals // all tests of a process share its ports

// portPool holds the ports that a process claimed and no test has.
type portPool struct {
	mu     sync.Mutex
	free   []int
	claims []net.Listener // on the first port of each block, until the process ends
}

// FreePort returns a TCP port of 127.0.0.1 on which nothing listens. Until the test ends, no
// other test gets it, not even one of another process.
func FreePort(t testing.TB) int {
	t.Helper()
	port, err := claimed.take()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { claimed.giveBack(port) })
	return port
}

// take returns the port that has been free for longest and that no other program listens on.
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

func (p *portPool) giveBack(port int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, port)
}

// claim adds the ports of a block that no other process has.
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

func listenOn(port int) (net.Listener, error) {
	return net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
}
